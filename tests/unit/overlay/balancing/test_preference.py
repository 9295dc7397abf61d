from __future__ import annotations

import pytest

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.preference import CoordinateLoad, best_spot, coordinate_load


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (CoordinateLoad(1, 1, 0), CoordinateLoad(2, 0, 9)),
        (CoordinateLoad(2, 0, 0), CoordinateLoad(2, 1, 9)),
        (CoordinateLoad(2, 1, 3), CoordinateLoad(2, 1, 2)),
    ],
)
def test_better_is_lower_maximum_then_lower_minimum_then_more_spare(
    mine: CoordinateLoad, other: CoordinateLoad
) -> None:
    assert mine.better_than(other)
    assert not other.better_than(mine)
    assert not mine.better_than(mine)


def test_the_first_of_equal_spots_is_chosen_and_home_before_all() -> None:
    loads: NodeLoads[int] = NodeLoads()
    assert best_spot(loads, Level.THREE, (1, 2, 3), [(4, 5, 6), (7, 8, 9)]) == (1, 2, 3)
    loads.add((1, 2, 3), 1)
    assert best_spot(loads, Level.THREE, (1, 2, 3), [(4, 5, 6), (7, 8, 9)]) == (4, 5, 6)


def test_a_third_node_counts_by_the_failures_of_its_own_spot() -> None:
    loads: NodeLoads[str] = NodeLoads()
    loads.add(("c", "d", "z"), 5)  # z must have room for 5 already
    loads.add(("a", "b", "z"), 2)
    found = coordinate_load(loads, ("a", "b", "z"), Level.THREE)
    assert found == CoordinateLoad(maximum=2, minimum=2, spare=3)
    assert coordinate_load(loads, ("a", "b", "z"), Level.TWO) == CoordinateLoad(2, 2)
    assert coordinate_load(loads, ("b", "a", "z"), Level.ONE) == CoordinateLoad(0, 0)
