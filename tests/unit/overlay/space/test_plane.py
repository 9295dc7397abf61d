from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.experiments.sedax.worlds import coordinates

from evenflow.errors import OverlayError
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes
from evenflow.overlay.space.plane import Cells, Plane


@given(nodes=coordinates(3, 30), asked=coordinates(1, 20))
def test_the_tree_finds_the_closest_nodes(nodes: list[Coordinate], asked: list[Coordinate]) -> None:
    found = Plane(np.array(nodes)).closest(np.array(asked), 3)
    by_node = dict(enumerate(nodes))
    assert [tuple(row) for row in found] == [closest_nodes(c, by_node, 3) for c in asked]


@given(nodes=coordinates(4, 40), asked=coordinates(1, 10))
def test_greedy_forwarding_over_neighbours_ends_at_the_closest_node(
    nodes: list[Coordinate], asked: list[Coordinate]
) -> None:
    points = np.array(nodes)
    plane = Plane(points)
    neighbours = plane.neighbours()
    for target in np.array(asked):
        at = 0
        while True:
            options = np.array([at, *neighbours[at]])
            best = int(options[np.argmin(((points[options] - target) ** 2).sum(axis=1))])
            if best == at:
                break
            at = best
        assert at == plane.closest(target[None], 1)[0, 0]


def test_nodes_in_one_line_are_all_linked() -> None:
    line = Plane(np.array([[0.1 * n, 0.5] for n in range(1, 6)]))
    assert [list(near) for near in line.neighbours()][2] == [0, 1, 3, 4]


def test_a_region_grows_by_hops() -> None:
    plane = Plane(np.random.default_rng(3).random((60, 2)))
    own, near, far = (plane.regions(hops) for hops in (0, 1, 2))
    neighbours = plane.neighbours()
    for node in range(60):
        assert list(own[node]) == [node]
        assert set(near[node]) == {node, *neighbours[node]}
        assert set(far[node]) == {n for m in near[node] for n in near[m]}


@given(nodes=coordinates(1, 40), seed=st.integers(0, 1000))
def test_cells_cover_the_square_and_samples_stay_in_their_cell(
    nodes: list[Coordinate], seed: int
) -> None:
    plane = Plane(np.array(nodes))
    cells = Cells(plane)
    assert cells.areas().sum() == pytest.approx(1)
    sample = cells.sample(20, np.random.default_rng(seed))
    assert list(plane.closest(sample, 1)[:, 0]) == list(np.repeat(np.arange(len(nodes)), 20))


def test_areas_are_those_a_fine_grid_counts() -> None:
    plane = Plane(np.random.default_rng(5).random((20, 2)))
    axis = (np.arange(400) + 0.5) / 400
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    counted = np.bincount(plane.closest(grid, 1)[:, 0], minlength=20) / len(grid)
    assert Cells(plane).areas() == pytest.approx(counted, abs=2e-3)


def test_samples_are_even_inside_a_cell() -> None:
    """One node: its cell is the square, so quarters hold a quarter each."""
    cells = Cells(Plane(np.array([[0.3, 0.8]])))
    sample = cells.sample(40_000, np.random.default_rng(1))
    counts, _, _ = np.histogram2d(sample[:, 0], sample[:, 1], bins=2, range=[[0, 1], [0, 1]])
    assert np.all(np.abs(counts - 10_000) < 400)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (np.zeros((0, 2)), "rows of two"),
        (np.zeros((3, 3)), "rows of two"),
        (np.array([[0.5, 1.0]]), "inside the unit square"),
        (np.array([[0.5, np.nan]]), "inside the unit square"),
        (np.array([[0.5, 0.5], [0.5, 0.5]]), "share a coordinate"),
    ],
)
def test_a_plane_refuses_nodes_it_cannot_place(nodes: np.ndarray, reason: str) -> None:
    with pytest.raises(OverlayError, match=reason):
        Plane(nodes)


def test_three_closest_of_two_nodes_do_not_exist() -> None:
    with pytest.raises(OverlayError, match="use more nodes"):
        Plane(np.array([[0.1, 0.2], [0.3, 0.4]])).closest(np.array([[0.5, 0.5]]), 3)
