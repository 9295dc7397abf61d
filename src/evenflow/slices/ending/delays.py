"""Why the cuts of silent writers wait, since when, and when each is tried again.

A writer is here from when a node first names it as silent until it has ended, or was not named for
a while: nodes do not name it while its cut is being prepared, nor for a moment after that. What
disturbed a preparation (slices moved, a node came or went) is over soon, so it is tried again soon.
Where somebody refused, or an answer is missing, the pauses grow. All of it is told to operators
(``PendingCuts``); nobody else goes by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.model.messages import PendingCuts

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

AGAIN: Final = 1.0
"""After a preparation that was disturbed."""
REFUSED_AGAIN: Final = 5.0
LONGEST_AGAIN: Final = 60.0
UNNAMED: Final = 5.0
"""A writer that no node has named as silent for this long is heard again."""
MOST_TOLD: Final = 100
"""Writers that are told of, those that wait longest."""


@dataclass(slots=True)
class Delay:
    """The cut of one writer that waits."""

    since: float
    """When the writer was first named as silent."""
    named: float
    """When it was last named, or its cut prepared."""
    why: str = ""
    """Empty: nothing has stood in its way yet."""
    due: float = 0.0
    """When it may be tried again."""
    pause: float = REFUSED_AGAIN
    """How long it waits when it is refused the next time."""


class Delays:
    """The cuts of one topic that wait."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._delays: dict[int, Delay] = {}
        self._told = False

    def keep(self, writers: AbstractSet[int], now: float) -> None:
        """These writers are silent and have not ended; others are forgotten after a while."""
        for writer in writers:
            self._of(writer, now).named = now
        for writer in [w for w, one in self._delays.items() if now - one.named > UNNAMED]:
            del self._delays[writer]

    def _of(self, writer: int, now: float) -> Delay:
        return self._delays.setdefault(writer, Delay(now, now))

    def forget(self, writer: int) -> None:
        """A writer has ended."""
        self._delays.pop(writer, None)

    def is_due(self, writer: int, now: float) -> bool:
        """Whether the cut of a writer may be prepared now."""
        found = self._delays.get(writer)
        return found is None or now >= found.due

    def end_pause(self, writer: int) -> None:
        """Something has changed for a writer: its cut may be prepared at once."""
        if writer in self._delays:
            self._delays[writer].due = 0.0
            self._delays[writer].pause = REFUSED_AGAIN

    def held_up(self, why: str, now: float) -> None:
        """No cut can be prepared for now."""
        for writer, one in self._delays.items():
            if self.is_due(writer, now):
                one.why = why

    def disturbed(self, writer: int, why: str, now: float) -> None:
        """A preparation was abandoned; it is tried again soon."""
        found = self._of(writer, now)
        found.why, found.due, found.pause = why, now + AGAIN, REFUSED_AGAIN

    def refused(self, writer: int, why: str, now: float) -> bool:
        """A cut cannot be made; whether that is news."""
        found = self._of(writer, now)
        news = found.why != why
        found.why, found.due = why, now + found.pause
        found.pause = min(2 * found.pause, LONGEST_AGAIN)
        return news

    def reason(self, writer: int) -> str:
        """Why the cut of a writer waits; empty when it does not."""
        return self._delays[writer].why if writer in self._delays else ""

    def told(self, version: int, now: float) -> PendingCuts | None:
        """What to tell of them beside a ledger; None when there is nothing, and that was told."""
        waiting = sorted((one.since, writer, one) for writer, one in self._delays.items())
        if not waiting and not self._told:
            return None
        self._told = bool(waiting)
        rows = [(writer, now - since, one.why) for since, writer, one in waiting[:MOST_TOLD]]
        writers, waited, reasons = zip(*rows, strict=True) if rows else ((), (), ())
        return PendingCuts(self._topic, version, writers, waited, reasons)
