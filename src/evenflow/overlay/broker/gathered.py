"""Events that gathered at a broker while it was busy: which come first, and how many at a time.

What is about links and time (heartbeats, who lives, the ticks of the clock) does not wait behind
envelopes: however much there is to do, who is alive is known in time. Envelopes have a share of
each turn all the same, however long the others take: what a tick asks for is answered by them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Arrived, Asked
from evenflow.overlay.protocol.messages import AskStatus, Envelope, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.overlay.protocol.events import Event

KEEPALIVE = BODY.encode(AskStatus())
MOST_EVENTS = 20_000
"""Events that wait; with more, connections are not read for a while."""
MOST_TOGETHER_S = 0.1
"""Time for envelopes that share a commit. What follows from them is sent before the next are looked
at: a broker with much to do is slow, and does not seem to be dead."""


class GatheredEvents:
    """What happened and is not handled yet."""

    def __init__(self) -> None:
        self._urgent: deque[Event] = deque()
        self._others: deque[Event] = deque()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    @property
    def crowded(self) -> bool:
        """Whether nothing more should be read for now."""
        return len(self) > MOST_EVENTS

    @property
    def eased(self) -> bool:
        """Whether there is room again."""
        return len(self) <= MOST_EVENTS // 2

    def add(self, event: Event) -> None:
        """Keep an event until it is its turn."""
        (self._urgent if _urgent(event) else self._others).append(event)

    def take(self, clock: Callable[[], float]) -> Iterator[tuple[Event, float]]:
        """Yield the events that share a commit, each with the time at which it is handled."""
        for _ in range(len(self._urgent)):
            yield self._urgent.popleft(), clock()
        now = clock()
        end = now + MOST_TOGETHER_S
        while self._others and now < end:
            yield self._others.popleft(), now
            now = clock()


def _urgent(event: Event) -> bool:
    """Say whether an event is about links or time."""
    match event:
        case Arrived(_, message):
            return not isinstance(message, Envelope | Share)
        case Asked(_, envelope):
            # A client that only wants to hear from us must not take us for dead.
            return not envelope.correlation and envelope.body == KEEPALIVE
    return True
