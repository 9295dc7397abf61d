"""Outlook: what the load of each slice will be, learned from its past (for ``forecast``).

Level, trend and season of every slice are followed by exponential smoothing (Holt and Winters,
additive). The time between two measurements may vary: the memories are given in seconds, and a
measurement after a longer pause weighs more. With a ``period_s`` the deviations from the level
are learned for each part of the period; without one there is no season.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from evenflow.model.load import Outlook, season_part

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(slots=True)
class _Course:
    since: float
    level: float
    season: list[float]
    trend: float = 0.0
    seen: int = 1


class OutlookLearner:
    """Learns the outlook of every slice.

    Args:
        level_s: Memory of the level.
        trend_s: Memory of the trend; longer, because a trend is the difference of noisy levels.
        period_s: Length of the season, 0 for none.
        parts: Into how many parts the season is cut.
        enough: So many measurements must have been seen before anything is said about a slice.
    """

    def __init__(
        self,
        *,
        level_s: float = 10.0,
        trend_s: float = 30.0,
        period_s: float = 0.0,
        parts: int = 24,
        enough: int = 5,
    ) -> None:
        # A level that follows faster than the season turns would take the season for its own.
        self._level_s = max(level_s, period_s)
        self._trend_s = max(trend_s, 3 * period_s)
        self._period_s = period_s
        self._parts = parts if period_s > 0 else 0
        self._enough = enough
        self._courses: dict[int, _Course] = {}

    def observe(self, slice_id: int, load: float, now: float) -> None:
        """The slice has this load at this time. A time that does not advance is ignored."""
        course = self._courses.get(slice_id)
        if course is None:
            self._courses[slice_id] = _Course(now, load, [0.0] * self._parts)
            return
        elapsed = now - course.since
        if elapsed <= 0:
            return
        part = season_part(now, self._period_s, self._parts) if self._parts else -1
        season = course.season[part] if self._parts else 0.0
        predicted = course.level + course.trend * elapsed
        level = predicted + (1 - exp(-elapsed / self._level_s)) * (load - season - predicted)
        slope = (level - course.level) / elapsed
        course.trend += (1 - exp(-elapsed / self._trend_s)) * (slope - course.trend)
        course.level, course.since = level, now
        course.seen += 1
        if self._parts:
            course.season[part] += 0.3 * (load - level - season)

    def outlook(self, slice_id: int) -> Outlook | None:
        """The outlook of a slice; ``None`` while too little has been seen."""
        course = self._courses.get(slice_id)
        if course is None or course.seen < self._enough:
            return None
        # The deviations are told against their mean: the level is where the mean belongs.
        mean = sum(course.season) / len(course.season) if course.season else 0.0
        season = tuple(part - mean for part in course.season)
        return Outlook(course.since, course.level + mean, course.trend, season, self._period_s)

    def keep(self, slices: Collection[int]) -> None:
        """Forget every slice that is not among these."""
        self._courses = {key: self._courses[key] for key in slices if key in self._courses}
