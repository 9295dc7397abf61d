"""A hybrid logical clock: time of day that only goes forward, and follows what others say.

It shows the largest of this machine's time of day and of all times that came with messages. So what
happens after a message carries a later time than what happened before it, whoever's clock is
ahead; and a clock that is set back stands still until time has caught up. A time that is
absurdly far ahead of this machine's is not followed, and counted: one bad clock does not drag all
others along. Nor does it stay: when our own was far ahead of most others' and is set right, we go
back with it. What was stored keeps its order all the same: nobody stamps by the clock alone.
"""

from __future__ import annotations

AHEAD_NS = 600 * 10**9
"""How far another's clock may be ahead of ours and still be followed: ten minutes."""


class HybridClock:
    """The clock of one broker.

    Args:
        wall: Time of day in nanoseconds.
    """

    def __init__(self, wall: int) -> None:
        self.time = wall
        """What the clock shows, in nanoseconds."""
        self._wall = wall
        self._now = 0.0
        self._heard: dict[str, tuple[int, float]] = {}

    def advance(self, now: float, wall: int) -> None:
        """Time has passed: take this machine's clocks, monotonic seconds and time of day."""
        self._now, self._wall = now, wall
        if self.time > wall + AHEAD_NS and self.ahead:
            self.time = wall
        self.time = max(self.time, wall)

    @property
    def ahead(self) -> bool:
        """Whether we are so far ahead of most others that they would not believe our times.

        Nothing is written down then that names one: it would outlast the clock's error.
        """
        late = sum(not self.in_step(name) for name in self._heard)
        return 2 * late > len(self._heard)

    def plausible(self, time: int, factor: int = 1) -> bool:
        """Say whether a time is not absurdly far ahead."""
        return time <= max(self._wall, self.time) + factor * AHEAD_NS

    def follow(self, name: str, time: int) -> bool:
        """Take the time that another broker says; return whether it was followed."""
        self._heard[name] = (time, self._now)
        if time > self._wall + AHEAD_NS:
            return False
        self.time = max(self.time, time)
        return True

    def in_step(self, name: str) -> bool:
        """Say whether another broker would follow our clock, as far as we have heard of its."""
        if name not in self._heard:
            return True
        time, heard = self._heard[name]
        return self.time <= time + int((self._now - heard) * 1e9) + AHEAD_NS
