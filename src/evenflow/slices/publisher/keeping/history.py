"""What a publisher keeps of a served topic though every consumer has committed it: its history.

A topic may keep more than consumers need, for those that come later (``topics.NAME.keep``). Of a
writer that lives, its publisher decides, as it decides what is forgotten at all: what it keeps is
not committed to the nodes, so they keep it too, hand it over with the slice, and get it again by
replay when they took the slice over. Nothing of the protocol knows a difference.

History is let go by whole epochs, the oldest first, and only what every consumer has committed, one
that came late included:

- when it is older than the time, by this process's own clock; or there is more than the size;
- when less than a quarter of the publisher's room is free: publishing never waits for history;
- the older half of it when a node says that it has no room (``RoomWanted``).

Pure: the publisher's core owns it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.config.spans import Keep
    from evenflow.slices.publisher.retention import Retention

FREE_SHARE: Final = 4
"""One part in so many of the room is kept free of history."""
STEPS: Final = 1_000
"""Into so many steps the time is cut: epochs of one step are let go together."""
LOOK_S: Final = 0.1
"""How often it is looked whether something is to be let go."""
HALVE_S: Final = 0.5
"""How often nodes may ask for room."""


class History:
    """What one writer keeps beyond what is committed.

    Args:
        keep: How much.
    """

    def __init__(self, keep: Keep) -> None:
        self.settled = 0
        """The newest epoch that every consumer has committed."""
        self._keep = keep
        self._ends: deque[tuple[int, float]] = deque()
        """The last epoch of each step of the time, and when that ended."""
        self._opened = 0.0
        """When the newest step began."""
        self._aged = 0
        """The newest epoch that is older than the time."""
        self._next_look = self._next_half = 0.0

    def begin_anew(self, settled: int) -> None:
        """Another writer takes the place, behind an epoch."""
        self.settled = self._aged = settled
        self._ends.clear()

    def note_end(self, epoch: int, now: float) -> None:
        """An epoch has ended by now."""
        span = self._keep.seconds
        if span is None or (self._ends and self._ends[-1][0] >= epoch):
            return
        if self._ends and now - self._opened < span / STEPS:
            self._ends[-1] = (epoch, now)
        else:
            self._opened = now
            self._ends.append((epoch, now))

    def is_look_due(self, now: float) -> bool:
        """Whether it is time to ask :meth:`too_old`."""
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_S
        return True

    def too_old(self, retention: Retention, capacity: int, now: float) -> int:
        """Up to which epoch history is let go.

        Args:
            retention: What is kept.
            capacity: Bytes that may be kept in all.
            now: The time.
        """
        span = self._keep.seconds
        while span is not None and self._ends and self._ends[0][1] + span <= now:
            self._aged = self._ends.popleft()[0]
        most = capacity - capacity // FREE_SHARE
        if self._keep.octets is not None:
            most = min(most, self._keep.octets)
        return max(min(self._aged, self.settled), self.oldest(retention, retention.size - most))

    def older_half(self, retention: Retention, now: float) -> int:
        """Up to which epoch history is let go because a node wants room."""
        if now < self._next_half:
            return 0
        self._next_half = now + HALVE_S
        return self.oldest(retention, (retention.settled_size + 1) // 2)

    def oldest(self, retention: Retention, octets: int) -> int:
        """The epoch up to which there are so many bytes of history, or all of it."""
        found = 0
        for sample in retention.oldest_first():
            if sample.epoch > self.settled or (octets <= 0 and sample.epoch > found):
                break
            found = sample.epoch
            octets -= len(sample.encoded)
        return found
