"""Outlook: what the load of each slice will be, learned from its past (for ``forecast``).

*Level and trend* are followed by exponential smoothing of the load without its season (Holt).
The time between two measurements may vary: the memories are given in seconds, and a measurement
after a longer pause weighs more.

*The season* is learned period by period: when one has passed, the mean load of each of its
parts, less the mean of the whole period and its drift since the one before, is mixed with what
was known. All parts change at the same moment, so the step from the present part to the next,
the one that matters, always comes from whole periods. So nothing is said about a season before
two periods have been seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor
from statistics import fmean
from typing import TYPE_CHECKING

from evenflow.model.load import Outlook, season_at, season_part

if TYPE_CHECKING:
    from collections.abc import Collection

RENEWAL = 0.5
"""What part of the season is renewed by each period."""


@dataclass(slots=True)
class _Level:
    """Level and trend of one slice."""

    since: float
    level: float
    trend: float = 0.0
    seen: int = 1


class _Season:
    """The season of one slice, and what has been seen of the present period."""

    __slots__ = ("_counts", "_mean", "_number", "_sums", "deviations")

    def __init__(self, parts: int) -> None:
        self.deviations: tuple[float, ...] = ()
        self._mean: float | None = None
        self._number = -1
        self._sums = [0.0] * parts
        self._counts = [0] * parts

    def add(self, load: float, now: float, period_s: float) -> None:
        """Count a measurement; one of a new period closes the one before."""
        number = floor(now / period_s)
        if number != self._number:
            self._close()
            self._number = number
        part = season_part(now, period_s, len(self._sums))
        self._sums[part] += load
        self._counts[part] += 1

    def _close(self) -> None:
        parts = len(self._sums)
        if all(self._counts):
            means = [total / count for total, count in zip(self._sums, self._counts, strict=True)]
            mean = fmean(means)
            if self._mean is not None:
                self._renew(means, mean, (mean - self._mean) / parts)
            self._mean = mean
        self._sums = [0.0] * parts
        self._counts = [0] * parts

    def _renew(self, means: list[float], mean: float, drift: float) -> None:
        middle = (len(means) - 1) / 2
        fresh = [value - mean - drift * (part - middle) for part, value in enumerate(means)]
        known = self.deviations or fresh
        self.deviations = tuple(
            old + RENEWAL * (new - old) for old, new in zip(known, fresh, strict=True)
        )


class OutlookLearner:
    """Learns the outlook of every slice.

    Args:
        level_s: Memory of the level.
        trend_s: Memory of the trend; longer, because a trend is the difference of noisy levels.
        period_s: Length of the season, 0 for none.
        parts: Into how many parts the season is cut.
        enough: Measurements that must have been seen before anything is said about a slice.
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
        self._level_s = level_s
        self._trend_s = trend_s
        self._period_s = period_s
        self._parts = parts
        self._enough = enough
        self._elapsed, self._gains = 0.0, (0.0, 0.0)
        """Of the newest measurement: most slices are measured at the same times."""
        self._levels: dict[int, _Level] = {}
        self._seasons: dict[int, _Season] = {}

    def observe(self, slice_id: int, load: float, now: float) -> None:
        """The slice has this load at this time. A time that does not advance is ignored."""
        season = self._season(slice_id)
        bare = load - season_at(now, self._period_s, season) if season else load
        course = self._levels.get(slice_id)
        if course is None:
            self._levels[slice_id] = _Level(now, bare)
        elif now > course.since:
            self._follow(course, bare, now)
        else:
            return
        if self._period_s > 0:
            if slice_id not in self._seasons:
                self._seasons[slice_id] = _Season(self._parts)
            self._seasons[slice_id].add(load, now, self._period_s)

    def outlook(self, slice_id: int) -> Outlook | None:
        """The outlook of a slice; ``None`` while too little has been seen."""
        course = self._levels.get(slice_id)
        if course is None or course.seen < self._enough:
            return None
        season = self._season(slice_id)
        return Outlook(course.since, course.level, course.trend, season, self._period_s)

    def keep(self, slices: Collection[int]) -> None:
        """Forget every slice that is not among these."""
        self._levels = {key: self._levels[key] for key in slices if key in self._levels}
        self._seasons = {key: self._seasons[key] for key in slices if key in self._seasons}

    def _season(self, slice_id: int) -> tuple[float, ...]:
        season = self._seasons.get(slice_id)
        return season.deviations if season is not None else ()

    def _follow(self, course: _Level, load: float, now: float) -> None:
        elapsed = now - course.since
        if elapsed != self._elapsed:
            self._elapsed = elapsed
            self._gains = 1 - exp(-elapsed / self._level_s), 1 - exp(-elapsed / self._trend_s)
        for_level, for_trend = self._gains
        predicted = course.level + course.trend * elapsed
        level = predicted + for_level * (load - predicted)
        slope = (level - course.level) / elapsed
        course.trend += for_trend * (slope - course.trend)
        course.level, course.since = level, now
        course.seen += 1
