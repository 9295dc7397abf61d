"""Flow control over all writers of a participant.

Cyclone bounds what each writer may have unacknowledged (30 to 500 kB; it adapts). A publisher has a
writer for each node, so all of them together may have far more under way than the receiving
sockets hold; the kernel drops the rest, and every drop costs a retransmission. :class:`Flow` bounds
the sum. Bytes are counted in two generations; when the younger one is full, the writers of the
elder one must be acknowledged before it takes its place. Most have been by then, so a steady stream
seldom waits. A few writers that simply go on are within Cyclone's own bound, and nobody waits for
them.

A receiver that has stopped altogether must not hold up the stream to the others, nor may a thread
wait for many full writers in turn. Waiting in vain is therefore paid from an allowance that
grows by a tenth of the time that passes: when it is used up, nobody waits, and a full writer says
so at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.domain.endpoints import Writer

GENERATION: Final = 1 << 20
"""Bytes of a generation; at most twice as many are unacknowledged."""
FEW: Final = 4
"""This many writers are within Cyclone's own bound."""
SHARE: Final = 0.1
"""Part of the time that may be spent on waiting in vain."""
MOST_S: Final = 0.1
"""Most that the allowance grows to."""


class Flow:
    """What a participant has under way, and whether it may wait for it."""

    __slots__ = ("_allowance", "_clock", "_elder", "_seen", "_size", "_younger")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._younger: set[Writer] = set()
        self._elder: set[Writer] = set()
        self._size = 0
        self._allowance = MOST_S
        self._seen = 0.0

    def may_wait(self, now: float) -> bool:
        """Whether some allowance for waiting is left."""
        grown = self._allowance + SHARE * (now - self._seen)
        self._allowance = min(grown, MOST_S)
        self._seen = now
        return self._allowance > 0

    def waited_in_vain(self, seconds: float) -> None:
        """Pay for a wait that brought nothing."""
        self._allowance -= seconds

    def wrote(self, writer: Writer, size: int) -> None:
        """Count a sample; wait for acknowledgements when too much is under way."""
        self._younger.add(writer)
        self._size += size
        if self._size >= GENERATION:
            elder, younger = self._elder, self._younger
            self._elder, self._younger, self._size = younger, set(), 0
            self._wait_for(
                elder - younger if len(younger) <= FEW else elder, writer.channel.blocking_s
            )

    def _wait_for(self, writers: set[Writer], limit_s: float) -> None:
        start = self._clock()
        if not self.may_wait(start):
            return
        for writer in writers:
            left = start + limit_s - self._clock()
            if not writer.is_acked(max(0.0, left)):
                self.waited_in_vain(limit_s)
                return
