"""Coordinates that a live broker chooses from (section V-E).

Some random coordinates of every cell, as in the paper, of which one for each *spot* is kept: all
coordinates with the same closest brokers are alike for every load. They are drawn anew only when a
broker comes or goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.overlay.balancing.loads import LEVELS
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.plane import Cells, Plane

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

CANDIDATES = 200
"""Random coordinates drawn in every cell."""


class Candidates:
    """One coordinate of every spot that was found.

    Args:
        places: The brokers; of two at one place the first counts.
        seed: What the random coordinates follow from.
    """

    def __init__(self, places: Mapping[str, Coordinate], seed: int) -> None:
        by_place: dict[Coordinate, str] = {}
        for name in sorted(places):
            by_place.setdefault(places[name], name)
        names = list(by_place.values())
        plane = Plane(np.array(list(by_place), dtype=np.float64))
        drawn = Cells(plane).sample(CANDIDATES, np.random.default_rng(seed))
        closest = plane.closest(drawn, min(LEVELS, len(names)))
        self._coordinates: dict[tuple[str, ...], Coordinate] = {}
        for spot, (x, y) in zip(closest.tolist(), drawn.tolist(), strict=True):
            self._coordinates.setdefault(tuple(names[n] for n in spot), Coordinate(x, y))

    def spots(self, level: int, known: Container[str]) -> Iterator[tuple[str, ...]]:
        """Yield the spots of a level's topics that lie on known brokers, cell by cell, once each.

        What a topic of a level does not use of a spot is left off.
        """
        seen = set()
        for spot in self._coordinates:
            part = spot[:level]
            if part not in seen and all(name in known for name in spot):
                seen.add(part)
                yield part

    def coordinate(self, part: tuple[str, ...], known: Container[str]) -> Coordinate:
        """Return a coordinate of a spot that was yielded."""
        return next(
            place
            for spot, place in self._coordinates.items()
            if spot[: len(part)] == part and all(name in known for name in spot)
        )
