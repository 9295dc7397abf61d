"""Load levels: online k-means for loads that change (QoS adaptation, section 3; King 2012).

Ordinary online k-means moves the nearest centre by 1/n of the way, so after a day nothing moves
any more. Here a centre moves by a constant share of the way (forgetting), so it follows a drift.
That alone is not enough: when the scale changes tenfold, all observations are nearest to one
centre, and the others stay where nobody comes any more. So an observation may also become a centre
itself, for which two neighbours are merged into one. The cheaper of the two is done. What it costs
to merge a and b is ``fresh(a) * fresh(b) / (fresh(a) + fresh(b)) * distance(a, b)**2`` (Ward);
a centre is fresh (1) when an observation was nearest to it, and fades with every other one. So a
centre where nobody comes any more soon costs nothing, and is given to whoever needs one.

* *Distances are relative* (Bray and Curtis: the sum of the differences over the sum of all), so
  ten times the load gives ten times the centres and the same levels.
* *What is nearer than the resolution is the same load with noise*: it never becomes a centre, and
  stays with the centre of the last observation even if another one is nearer. So a constant load
  is one level, however long it lasts and wherever it lies.
* *Levels are ordered*: centres stand in the order of their load, level K is the heaviest.
* *An observation costs the same, whatever came before*: K distances and K - 1 pairs of
  neighbours, and nothing but K centres is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[float, float]
"""A load: samples managed, samples kept; in any unit, the same for all."""

FADING: Final = 0.35
"""What a centre loses of its freshness with each observation that is nearer to another one."""
STALE: Final = 1e-3
"""The least freshness. Above 0, so that of two stale pairs the nearer one merges."""
ASTRAY: Final = 0.6
"""Share of the way that a centre moves to an observation beyond the resolution: the load is
another one by now."""


@dataclass(slots=True, eq=False)
class Centre:
    """The middle of one load level."""

    used: float
    kept: float
    fresh: float = STALE

    @property
    def load(self) -> float:
        """What centres are ordered by."""
        return self.used + self.kept


class LoadLevels:
    """The centres of K load levels.

    Args:
        first: The centres to begin with, K of them; they are given away as soon as loads come.
        forgetting: Share of the way that a centre moves to an observation.
        resolution: Relative distance up to which two loads are the same.
    """

    def __init__(self, first: Sequence[Point], forgetting: float, resolution: float) -> None:
        self.centres = sorted((Centre(*checked(each)) for each in first), key=_load)
        self.known = True
        """Whether a centre was within the resolution of the last observation."""
        self._last = self.centres[0]
        """Where the last observation went."""
        self._level = 0
        self._level_load = -1.0
        """The load of the last centre when its level was found; below 0: find it anew."""
        self._forgetting = forgetting
        self._resolution = resolution

    def level(self, point: Point) -> int:
        """The level of a load, 1 to K; nothing is learned."""
        return self._nearest(*checked(point))[0] + 1

    def learn(self, point: Point) -> int:
        """Learn from an observation; return its level."""
        used, kept = checked(point)
        for centre in self.centres:
            centre.fresh = max(centre.fresh * (1.0 - FADING), STALE)
        centre = self._taker(used, kept)
        share = self._forgetting if self.known else ASTRAY
        centre.used += share * (used - centre.used)
        centre.kept += share * (kept - centre.kept)
        centre.fresh = 1.0
        return self._steady(centre, self._place(centre))

    def resize(self, count: int) -> None:
        """Have another number of levels: merge the cheapest neighbours, or fill the widest gaps."""
        if len(self.centres) != count:
            self._level_load = -1.0
        while len(self.centres) > count:
            self._merge(self._cheapest_pair()[0])
        while len(self.centres) < count:
            self._place(self._between())

    def _taker(self, used: float, kept: float) -> Centre:
        """Take out the centre that an observation goes to, or a new one."""
        here = Centre(used, kept)
        self.known = True
        if _apart(here, self._last) <= self._resolution:
            self.centres.remove(self._last)
            return self._last
        index, distance = self._nearest(used, kept)
        self.known = distance <= self._resolution
        if not self.known and self._makes_room(self.centres[index].fresh, distance):
            return here
        return self.centres.pop(index)

    def _steady(self, centre: Centre, level: int) -> int:
        """Return the level of an observation; it stays while the load does.

        Else a centre that trembles beside another one would change places with it all the time.
        """
        load, before = centre.load, self._level_load
        same = before >= 0.0 and abs(load - before) <= self._resolution * (load + before)
        if not (same and centre is self._last):
            self._level, self._level_load = level, load
        self._last = centre
        return self._level

    def _nearest(self, used: float, kept: float) -> tuple[int, float]:
        best, least = 0, math.inf
        for index, centre in enumerate(self.centres):
            both = used + kept + centre.used + centre.kept
            distance = (abs(used - centre.used) + abs(kept - centre.kept)) / both if both else 0.0
            if distance < least:
                best, least = index, distance
        return best, least

    def _makes_room(self, fresh: float, distance: float) -> bool:
        """Merge two neighbours, if that is cheaper than to join the nearest centre."""
        if len(self.centres) == 1:
            return False
        index, cost = self._cheapest_pair()
        if cost >= fresh / (fresh + 1.0) * distance**2:
            return False
        self._merge(index)
        return True

    def _cheapest_pair(self) -> tuple[int, float]:
        """The neighbours that cost least to merge: the index of the lighter load, the cost."""
        best, least = 0, math.inf
        for index in range(len(self.centres) - 1):
            a, b = self.centres[index], self.centres[index + 1]
            cost = a.fresh * b.fresh / (a.fresh + b.fresh) * _apart(a, b) ** 2
            if cost < least:
                best, least = index, cost
        return best, least

    def _merge(self, index: int) -> None:
        a, b = self.centres[index], self.centres.pop(index + 1)
        share = b.fresh / (a.fresh + b.fresh)
        a.used += share * (b.used - a.used)
        a.kept += share * (b.kept - a.kept)
        a.fresh = max(a.fresh, b.fresh)
        if self._last is b:
            self._last = a

    def _between(self) -> Centre:
        """A stale centre in the middle of the widest gap; the first gap is that below the first."""
        below = [Centre(0.0, 0.0), *self.centres]
        a, b = max(zip(below, self.centres, strict=False), key=lambda pair: _gap(*pair))
        return Centre((a.used + b.used) / 2, (a.kept + b.kept) / 2)

    def _place(self, centre: Centre) -> int:
        """Put a centre where it belongs in the order; return its level."""
        index, load = 0, centre.load
        while index < len(self.centres) and self.centres[index].load < load:
            index += 1
        self.centres.insert(index, centre)
        return index + 1


def checked(point: Point) -> Point:
    """A load that can be learned from; `UsageError` for any other."""
    used, kept = point
    if not (0.0 <= used < math.inf and 0.0 <= kept < math.inf):
        raise UsageError(f"a load is two finite numbers, 0 or more: {point}")
    return point


def _load(centre: Centre) -> float:
    return centre.load


def _apart(a: Centre, b: Centre) -> float:
    both = a.used + a.kept + b.used + b.kept
    return (abs(a.used - b.used) + abs(a.kept - b.kept)) / both if both else 0.0


def _gap(a: Centre, b: Centre) -> float:
    return b.load - a.load
