"""Hysteresis: a level rises at once, and falls when it has not been asked for during a while.

A rise protects the system, so nobody waits for it. A fall is a trial: the load that comes with one
level less may be too much again. So it goes down one level at a time, each after a patience. If it
is asked for again soon, it was left too early (a relapse): the patience doubles, up to a bound, and
is as short as at first when a fall went well. So a constant load that needs a level
tries the one below ever more seldom, and a load that ends costs the long patience only once.
"""

from __future__ import annotations

import math
from typing import Final

MOST_DOUBLINGS: Final = 5


class Hold:
    """The level in effect.

    Args:
        calm_s: How long a level is held that nobody asks for, unless there were relapses.
    """

    def __init__(self, calm_s: float) -> None:
        self.level = 0
        self.patience_s = calm_s
        self._calm_s = calm_s
        self._asked_at = -math.inf
        """When the level in effect was asked for last, or reached."""
        self._fell_at = -math.inf
        self._falling = False
        """Whether the last change was a fall."""
        self._highest_below = 0
        """The highest level that was asked for since then."""

    def begin(self, level: int, now: float) -> None:
        """A level is in effect already."""
        self._reach(level, now)

    def follow(self, wanted: int, now: float) -> int:
        """Take the level that is asked for now; return the one in effect."""
        if wanted > self.level:
            self._rise(wanted, now)
        elif wanted == self.level:
            self._asked_at, self._highest_below = now, 0
        else:
            self._highest_below = max(self._highest_below, wanted)
            if now - self._asked_at >= self.patience_s:
                self._fall(now)
        return self.level

    def limit(self, most: int) -> None:
        """Levels above ``most`` are gone."""
        self.level = min(self.level, most)

    def _rise(self, wanted: int, now: float) -> None:
        if self._falling and now - self._fell_at < self.patience_s:
            self.patience_s = min(self.patience_s * 2, self._calm_s * 2**MOST_DOUBLINGS)
        else:
            self.patience_s = self._calm_s
        self._reach(wanted, now)
        self._falling = False

    def _fall(self, now: float) -> None:
        if self._falling:  # the fall before this one went well
            self.patience_s = self._calm_s
        self._reach(max(self.level - 1, self._highest_below), now)
        self._falling = True
        self._fell_at = now

    def _reach(self, level: int, now: float) -> None:
        self.level, self._asked_at, self._highest_below = level, now, 0
