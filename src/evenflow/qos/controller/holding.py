"""Hysteresis: a level rises at once, and falls when it has not been asked for during a while.

**Up.** A rise protects the system, so nobody waits for it. Levels are learned, so the level that is
asked for may not be enough: while writers are full and stay so, it rises by one each ``calm_s``,
and stays up until they are clearly less full. What counts is a mean over time: noise is no reason.

**Down.** A fall is a trial: the load that comes with one level less may be too much again, soon or,
where there is much to fill, late. So it goes down one level at a time: the first fall after a
*patience*, the next ones after ``calm_s`` each in which the use has not grown. If a level is asked
for again, and either soon or without that the use ever became less, the falls were too early (a
relapse): the patience doubles, up to a bound. So a constant load that needs a level tries the one
below ever more seldom. A load that went down and comes back is another matter: the patience is
short again. A load that ends costs the long patience only once.
"""

from __future__ import annotations

import math
from typing import Final

MOST_DOUBLINGS: Final = 5
SOON: Final = 2.0
"""A relapse within so many patiences is one, whatever the use was."""
MEAN_OF: Final = 0.5
"""Over how much of ``calm_s`` the use is averaged: noise is gone, and a rise comes soon."""


class Hold:
    """The level in effect.

    Args:
        calm_s: How long a level is held that nobody asks for, unless there were relapses.
        margin: By how much a use has to differ to be another one.
    """

    def __init__(self, calm_s: float, margin: float = 0.0) -> None:
        self.level = 0
        self.patience_s = calm_s
        self._calm_s = calm_s
        self._margin = margin
        self._asked_at = -math.inf
        """When the level in effect was asked for last, or reached."""
        self._full_since: float | None = None
        """Since when writers have been full at this level; None when they are not."""
        self._mean_use = 0.0
        """Of the last seconds, the newest count most."""
        self._seen_at = -math.inf
        self._was_pressed = False
        """Whether full writers asked for the level in effect."""
        self._fell_at = -math.inf
        self._falling = False
        """Whether the last change was a fall."""
        self._highest_below = 0
        """The highest level that was asked for since then."""
        self._use_then = 1.0
        """The use at the beginning of the trial."""
        self._use_before = self._least_use = 1.0
        """The use at the first of several falls, and the least since."""

    def begin(self, level: int, now: float) -> None:
        """A level is in effect already."""
        self._reach(level, now)

    def follow(self, wanted: int, now: float, use: float = 0.0, most: int | None = None) -> int:
        """Take the level that is asked for now; return the one in effect.

        Args:
            wanted: The level; 0 without overload.
            now: The time.
            use: The mean use of all writers.
            most: The highest level there is.
        """
        wanted = max(wanted, self._pressed(now, use, most))
        self._least_use = min(self._least_use, use)
        if wanted > self.level:
            self._rise(wanted, now)
        elif wanted == self.level:
            self._asked_at, self._highest_below = now, 0
        else:
            self._highest_below = max(self._highest_below, wanted)
            if self._may_fall(now, use):
                self._fall(now, use)
        return self.level

    def limit(self, most: int) -> None:
        """Levels above ``most`` are gone."""
        self.level = min(self.level, most)

    def _pressed(self, now: float, use: float, most: int | None) -> int:
        """The level that full writers ask for; 0 when they are not full, or not for long."""
        share = -math.expm1((self._seen_at - now) / (MEAN_OF * self._calm_s))
        self._mean_use += (use - self._mean_use) * share
        self._seen_at = now
        if most is None or self._mean_use < 1.0 - self._margin:
            self._full_since = None
            still = most is not None and self._mean_use >= 1.0 - 2.0 * self._margin
            self._was_pressed = self._was_pressed and still
            return self.level if self._was_pressed else 0
        if self._full_since is None:
            self._full_since = now
        rises = now - self._full_since >= self._calm_s and self.level < most
        self._was_pressed = self._was_pressed or rises
        return min(self.level + rises, most)

    def _may_fall(self, now: float, use: float) -> bool:
        held_s = now - self._asked_at
        if not self._falling or held_s < self._calm_s:
            return not self._falling and held_s >= self.patience_s
        grows = use > self._use_then + self._margin
        if grows:
            self._asked_at, self._use_then = now, use
        return not grows

    def _rise(self, wanted: int, now: float) -> None:
        if self._falling:
            soon = now - self._fell_at < SOON * self.patience_s
            relapse = soon or self._least_use >= self._use_before - self._margin
            longer_s = min(self.patience_s * 2, self._calm_s * 2.0**MOST_DOUBLINGS)
            self.patience_s = longer_s if relapse else self._calm_s
        self._reach(wanted, now)
        self._falling = False

    def _fall(self, now: float, use: float) -> None:
        if not self._falling:
            self._use_before = self._least_use = use
        self._reach(max(self.level - 1, self._highest_below), now)
        self._falling = True
        self._fell_at, self._use_then = now, use

    def _reach(self, level: int, now: float) -> None:
        self.level, self._asked_at, self._highest_below = level, now, 0
        self._full_since = None
