"""Small random overlays for the properties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.plane import Cells, Plane
from evenflow_experiments.sedax.spots import SpotTable, spot_table

SOME = settings(max_examples=max(5, settings.default.max_examples // 4))
"""For properties whose one case plays a whole world."""

SIZES = st.sampled_from([0.25, 1.0, 4.0, 0.1, 2.7])


@st.composite
def coordinates(draw: st.DrawFn, least: int, most: int) -> list[Coordinate]:
    """Draw coordinates in general position: no two pairs are equally far apart."""
    count = draw(st.integers(least, most))
    seed = draw(st.integers(0, 2**32 - 1))
    return [Coordinate(*map(float, row)) for row in np.random.default_rng(seed).random((count, 2))]


@dataclass(frozen=True)
class World:
    """A small simulated overlay, and the same as a live broker would see it."""

    plane: Plane
    spots: SpotTable
    homes: np.ndarray
    queried: np.ndarray
    sizes: np.ndarray
    regions: list[np.ndarray]

    def spot(self, number: int) -> tuple[int, ...]:
        """Name the nodes of a spot."""
        table = self.spots
        return (
            int(table.first[number]),
            int(table.second[number]),
            int(table.third[number]),
        )

    def nodes(self) -> list[int]:
        return list(range(self.spots.nodes))

    def region(self, node: int) -> list[int]:
        return [int(near) for near in self.regions[node]]

    def cell(self, node: int) -> range:
        return range(self.spots.cell_start[node], self.spots.cell_start[node + 1])

    def spots_of(self, node: int) -> list[tuple[int, ...]]:
        return [self.spot(number) for number in self.cell(node)]


def make_world(seed: int, *, nodes: int = 9, topics: int = 40, queries: int = 3) -> World:
    """Draw a world: everything in it follows from the seed."""
    rng = np.random.default_rng(seed)
    plane = Plane(rng.random((nodes, 2)))
    candidates = Cells(plane).sample(30, rng)
    asked = [rng.random((topics, 2)), rng.random((topics * queries, 2))]
    spots, (homes, queried) = spot_table(plane, candidates, asked)
    sizes = rng.choice([0.25, 4.0], size=topics)
    queried = queried.reshape(topics, queries)
    return World(plane, spots, homes, queried, sizes, plane.regions(1))
