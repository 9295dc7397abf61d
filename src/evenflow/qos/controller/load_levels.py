"""Load levels: online k-means for loads that change (QoS adaptation, section 3; King 2012).

Ordinary online k-means moves the nearest centre by 1/n of the way, so after a day nothing moves
any more. Here a centre moves by a constant share of the way (forgetting), so it follows a drift.
That alone is not enough: when the scale changes tenfold, all observations are nearest to one
centre and the others stay where nobody comes any more. So an observation may also become a centre
itself, and two neighbours become one. Of the two ways the cheaper is taken; merging a and b costs
``mass(a) * mass(b) / (mass(a) + mass(b)) * distance(a, b)**2`` (Ward). Masses decay, so a centre
that nobody comes near soon costs nothing, and is given to whoever needs one.

* *Distances are relative* (Bray and Curtis: the sum of the differences over the sum of all), so
  ten times the load gives ten times the centres and the same levels.
* *What is nearer than the resolution is the same load with noise*: it never becomes a centre. So a
  constant load is one level, however long it lasts.
* *Levels are ordered*: centres stand in the order of their load, level K is the heaviest.
* *An observation costs the same, whatever came before*: at most K comparisons and K - 1 pairs
  of neighbours, and nothing but K centres is kept.
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

LEAST_MASS: Final = 1e-3
"""Of a centre that nobody comes near. Above 0, so that of two such pairs the nearer merges."""


@dataclass(slots=True)
class Centre:
    """The middle of one load level."""

    used: float
    kept: float
    mass: float = LEAST_MASS
    """Observations that were nearest, the older ones counting less."""
    visits: int = 0
    """Observations that were nearest: the first ones move it by their mean."""

    @property
    def load(self) -> float:
        """What centres are ordered by."""
        return self.used + self.kept


class LoadLevels:
    """The centres of K load levels.

    Args:
        first: The centres to begin with, K of them; they count for nothing once somebody comes.
        forgetting: Share of the way that a centre moves; share of all masses that is forgotten.
        resolution: Relative distance below which two loads are the same.
    """

    def __init__(self, first: Sequence[Point], forgetting: float, resolution: float) -> None:
        self.centres = sorted((Centre(*_checked(each)) for each in first), key=_load)
        self._forgetting = forgetting
        self._resolution = resolution

    def level(self, point: Point) -> int:
        """The level of a load, 1 to K; nothing is learned."""
        return self._nearest(*_checked(point))[0] + 1

    def learn(self, point: Point) -> int:
        """Learn from an observation; return its level."""
        used, kept = _checked(point)
        left = 1.0 - self._forgetting
        for centre in self.centres:
            centre.mass = max(centre.mass * left, LEAST_MASS)
        index, distance = self._nearest(used, kept)
        if distance > self._resolution and len(self.centres) > 1:
            mass = self.centres[index].mass
            pair, cost = self._cheapest_pair()
            if cost < mass / (mass + 1.0) * distance**2:
                self._merge(pair)
                return self._place(Centre(used, kept, 1.0, 1))
        centre = self.centres.pop(index)
        centre.mass += 1.0
        centre.visits += 1
        share = max(self._forgetting, 1.0 / centre.visits)
        centre.used += share * (used - centre.used)
        centre.kept += share * (kept - centre.kept)
        return self._place(centre)

    def _nearest(self, used: float, kept: float) -> tuple[int, float]:
        load = used + kept
        best, least = 0, math.inf
        for index, centre in enumerate(self.centres):
            both = load + centre.used + centre.kept
            distance = (abs(used - centre.used) + abs(kept - centre.kept)) / both if both else 0.0
            if distance < least:
                best, least = index, distance
        return best, least

    def _cheapest_pair(self) -> tuple[int, float]:
        """The neighbours that cost least to merge: the index of the lighter load, the cost."""
        best, least = 0, math.inf
        for index in range(len(self.centres) - 1):
            a, b = self.centres[index], self.centres[index + 1]
            both = a.used + a.kept + b.used + b.kept
            apart = (abs(a.used - b.used) + abs(a.kept - b.kept)) / both if both else 0.0
            cost = a.mass * b.mass / (a.mass + b.mass) * apart**2
            if cost < least:
                best, least = index, cost
        return best, least

    def _merge(self, index: int) -> None:
        a, b = self.centres[index : index + 2]
        mass = a.mass + b.mass
        merged = Centre(
            (a.used * a.mass + b.used * b.mass) / mass,
            (a.kept * a.mass + b.kept * b.mass) / mass,
            mass,
            a.visits + b.visits,
        )
        self.centres[index : index + 2] = [merged]

    def _place(self, centre: Centre) -> int:
        """Put a centre where it belongs in the order; return its level."""
        index, load = 0, centre.used + centre.kept
        while index < len(self.centres) and self.centres[index].load < load:
            index += 1
        self.centres.insert(index, centre)
        return index + 1


def _load(centre: Centre) -> float:
    return centre.load


def _checked(point: Point) -> Point:
    used, kept = point
    if not (0.0 <= used < math.inf and 0.0 <= kept < math.inf):
        raise UsageError(f"a load is two finite numbers, 0 or more: {point}")
    return point
