"""Parameters that tune themselves (the paper's future work): PR, K, the largest separation.

* *PR* lies halfway between what is normal for these writers and full. A history that is always full
  makes a use of one half normal; a fixed ratio would take it for half an overload.
* *K* grows while loads come that no level knows, and shrinks while levels change too often: the
  paper's trade-off between accuracy and switches, followed at run time.
* *The largest separation* grows while an overload does not end, and goes back when it has ended.

Each has bounds, and each learns by constant shares or in windows of fixed length.
"""

from __future__ import annotations

from typing import Final

LEAST_RATIO: Final = 0.5
MOST_RATIO: Final = 0.95
"""An overload is told at the latest here, whatever is normal."""
NORMAL_SHARE: Final = 0.02
"""Share of the way that the normal use moves with an observation."""

WINDOW: Final = 64
"""Observations after which the number of levels is thought over."""
MOST_SWITCHES: Final = WINDOW // 8
MOST_UNKNOWN: Final = WINDOW // 32
LOWERED_WINDOWS: Final = 16
"""How long levels that made too many switches are not tried again."""
LEAST_LEVELS: Final = 2
TUNED_LEVELS: Final = 8

GROWTH: Final = 1.5
MOST_GROWTH: Final = 16.0


class TunedRatio:
    """PR, from what is normal while nothing is thinned."""

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio
        self._normal = 2 * ratio - 1  # so that the first one is the ratio that was given

    def note_normal(self, performance: float) -> None:
        """Learn from a use without overload or thinning."""
        self._normal += NORMAL_SHARE * (performance - self._normal)
        self.ratio = min(max((1 + self._normal) / 2, LEAST_RATIO), MOST_RATIO)


class TunedLevels:
    """K, from how often levels change and how many loads no level knew."""

    def __init__(self, levels: int) -> None:
        self.levels = levels
        self._most = max(levels, TUNED_LEVELS)
        """Where it grows to at most."""
        self._windows = 0
        """Since that was lowered."""
        self._last = 0
        self._seen = self._switches = self._unknown = 0

    def note(self, level: int, *, known: bool) -> None:
        """Learn from an observation: its level, and whether a level knew such a load."""
        self._switches += level != self._last
        self._unknown += not known
        self._last = level
        self._seen += 1
        if self._seen == WINDOW:
            self._think_over()
            self._seen = self._switches = self._unknown = 0

    def _think_over(self) -> None:
        self._windows += 1
        if self._windows > LOWERED_WINDOWS:
            self._most = max(self.levels, TUNED_LEVELS)
        if self._switches > MOST_SWITCHES:
            self.levels = max(self.levels - 1, LEAST_LEVELS)
            self._most, self._windows = self.levels, 0
        elif self._unknown > MOST_UNKNOWN:
            self.levels = min(self.levels + 1, self._most)


class TunedSeparation:
    """The largest separation, from whether overloads end."""

    def __init__(self, most_s: float, calm_s: float) -> None:
        self.most_s = most_s
        self._given_s = most_s
        self._calm_s = calm_s
        self._overloaded = False
        self._since = 0.0

    def note(self, *, overloaded: bool, now: float) -> None:
        """Learn from an observation."""
        if overloaded != self._overloaded:
            self._overloaded, self._since = overloaded, now
        elif now - self._since >= self._calm_s:
            self._since = now
            grown = self.most_s * GROWTH if overloaded else self.most_s / GROWTH
            self.most_s = min(max(grown, self._given_s), self._given_s * MOST_GROWTH)
