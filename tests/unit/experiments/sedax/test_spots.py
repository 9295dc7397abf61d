from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenflow.overlay.space.plane import Cells, Plane
from evenflow_experiments.sedax.spots import CANDIDATES, near_regions, spot_table

from .worlds import SOME, make_world


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_every_coordinate_is_found_in_the_table(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    plane = Plane(rng.random((nodes, 2)))
    candidates, homes = Cells(plane).sample(25, rng), rng.random((30, 2))
    table, (found, again) = spot_table(plane, candidates, [homes, candidates])
    for spots, coordinates in ((found, homes), (again, candidates)):
        named = np.stack((table.first[spots], table.second[spots], table.third[spots]), axis=1)
        assert np.array_equal(named, plane.closest(coordinates, 3))
    assert again.max() < table.candidates
    assert len({*zip(table.first, table.second, table.third, strict=True)}) == len(table.first)


@SOME
@given(st.integers(0, 2**32 - 1))
def test_cells_and_rows_lie_side_by_side(seed: int) -> None:
    table = make_world(seed).spots
    for node in range(table.nodes):
        cell = slice(table.cell_start[node], table.cell_start[node + 1])
        assert np.all(table.first[cell] == node)
    for fails, failed in ((table.first_fails, table.first), (table.second_fails, table.second)):
        assert np.all(fails >= table.row_start[table.third])
        assert np.all(fails < table.row_start[table.third + 1])
        pairs = set(zip(fails, table.third, failed, strict=True))
        assert len(pairs) == len({row for row, _, _ in pairs})


def test_a_cell_offers_its_spots_in_the_order_of_drawing() -> None:
    rng = np.random.default_rng(2)
    plane = Plane(rng.random((8, 2)))
    candidates = Cells(plane).sample(CANDIDATES, rng)
    table, _ = spot_table(plane, candidates, [])
    drawn = [tuple(row) for row in plane.closest(candidates, 3)]
    in_order = sorted(dict.fromkeys(drawn), key=lambda spot: spot[0])
    assert in_order == list(zip(table.first, table.second, table.third, strict=True))


def test_near_regions_hold_each_node_and_its_neighbours() -> None:
    plane = make_world(4).plane
    regions = near_regions(plane, 1)
    for node, near in enumerate(plane.neighbours()):
        members = regions.members[regions.start[node] : regions.stop[node]]
        assert set(members) == {node, *near}
