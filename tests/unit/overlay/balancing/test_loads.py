from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.experiments.sedax.worlds import SIZES, SOME, coordinates

from evenflow.errors import OverlayError
from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.preference import CoordinateLoad, coordinate_load
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes

from .brute import Brute, Topic


@SOME
@given(
    nodes=coordinates(3, 7),
    places=coordinates(1, 25),
    asked=coordinates(1, 4),
    data=st.data(),
)
def test_incremental_loads_equal_brute_force(
    nodes: list[Coordinate], places: list[Coordinate], asked: list[Coordinate], data: st.DataObject
) -> None:
    """Equations 1-10, after additions, moves and removals in random order."""
    by_node = dict(enumerate(nodes))
    loads: NodeLoads[int] = NodeLoads()
    topics: list[Topic] = []
    for place in places:
        act = data.draw(st.sampled_from(["add", "add", "move", "remove"]))
        spot = closest_nodes(place, by_node, 3)
        if act == "add" or not topics:
            topics.append(Topic(place, data.draw(SIZES)))
            loads.add(spot, topics[-1].load)
            continue
        old = topics.pop(data.draw(st.integers(0, len(topics) - 1)))
        if act == "remove":
            loads.remove(closest_nodes(old.coordinate, by_node, 3), old.load)
        else:
            topics.append(Topic(place, old.load))
            loads.move(closest_nodes(old.coordinate, by_node, 3), spot, old.load)
    brute = Brute(by_node, tuple(topics))
    for level in Level:
        for node in by_node:
            assert loads.load(node, level) == pytest.approx(brute.node_load(node, level), abs=1e-9)
        for c in asked:
            found = coordinate_load(loads, closest_nodes(c, by_node, 3), level)
            touched = brute.touched(c, level)
            assert found.maximum == pytest.approx(max(touched), abs=1e-9)
            assert found.minimum == pytest.approx(min(touched), abs=1e-9)
            assert found.spare == pytest.approx(brute.spare(c, level), abs=1e-9)


def test_the_third_node_pays_for_its_worst_failure_alone() -> None:
    loads: NodeLoads[str] = NodeLoads()
    loads.add(("a", "b", "z"), 3)
    loads.add(("c", "d", "z"), 5)
    loads.add(("a", "d", "z"), 1)
    assert loads.additional_if_failed("z", "a") == 4
    assert loads.additional_if_failed("z", "d") == 6
    assert loads.load("z", Level.THREE) == 6
    assert loads.load("a", Level.THREE) == 4
    assert loads.load("a", Level.ONE) == 4
    assert loads.load("d", Level.ONE) == 0


def test_removing_every_topic_leaves_exact_zeros() -> None:
    loads: NodeLoads[int] = NodeLoads()
    for load in (0.1, 0.2, 0.3):
        loads.add((1, 2, 3), load)
    for load in (0.3, 0.1, 0.2):
        loads.remove((1, 2, 3), load)
    assert [loads.load(node, Level.THREE) for node in (1, 2, 3)] == [0, 0, 0]


def test_two_nodes_keep_two_copies() -> None:
    loads: NodeLoads[int] = NodeLoads()
    loads.add((1, 2), 4)
    assert loads.load(2, Level.THREE) == 4
    assert coordinate_load(loads, (1, 2), Level.THREE) == CoordinateLoad(4, 4)


@pytest.mark.parametrize("spot", [(), (1, 1, 2), (1, 2, 3, 4)])
def test_a_spot_is_one_to_three_different_nodes(spot: tuple[int, ...]) -> None:
    with pytest.raises(OverlayError, match="one to three different nodes"):
        NodeLoads[int]().add(spot, 1)


def test_what_was_never_added_cannot_be_removed() -> None:
    with pytest.raises(OverlayError, match="remove what was added"):
        NodeLoads[int]().remove((1, 2, 3), 1)
