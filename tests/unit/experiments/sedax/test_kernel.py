"""The compiled kernel decides as the plain modules do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.preference import coordinate_load
from evenflow_experiments.sedax.kernel import (
    NODE_ORDER,
    LoadTable,
    Questions,
    add_by_cells,
    add_individually,
    empty_loads,
    merit,
    place,
    place_all,
)
from evenflow_experiments.sedax.selection import SELECTIONS, add_balanced
from evenflow_experiments.sedax.spots import near_regions, own_regions, whole_regions

from .worlds import SOME, World, make_world

SEEDS = st.integers(0, 2**32 - 1)


class Surroundings:
    """A world as the plain selections want to see it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes = world.nodes
        self.region = world.region
        self.spots = world.spots_of


def assert_same_loads(found: LoadTable, expected: NodeLoads[int], world: World) -> None:
    level = Level(found.level)
    for node in world.nodes():
        assert found.worst[node] == pytest.approx(expected.load(node, level), abs=1e-9)
        assert found.primary[node] == pytest.approx(expected.load(node, Level.ONE), abs=1e-9)
        assert found.stored[node] == pytest.approx(expected.stored(node), abs=1e-9)
        assert found.additional[node] == pytest.approx(expected.additional(node), abs=1e-9)
    for number in range(world.spots.candidates):
        plain = coordinate_load(expected, world.spot(number), level)
        high, low, negative_spare = merit(found, number)
        assert high == pytest.approx(plain.maximum, abs=1e-9)
        assert low == pytest.approx(plain.minimum, abs=1e-9)
        assert -negative_spare == pytest.approx(plain.spare, abs=1e-9)


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("selection", SELECTIONS)
@SOME
@given(seed=SEEDS)
def test_selections_choose_as_the_plain_ones(selection: str, level: Level, seed: int) -> None:
    world = make_world(seed)
    table = empty_loads(world.spots, level)
    if selection == "individual":
        where, violations = add_individually(table, world.homes, world.sizes, world.queried)
    else:
        regions = {
            "local": own_regions(world.spots.nodes),
            "regional": near_regions(world.plane, 1),
            "global": whole_regions(world.spots.nodes),
        }[selection]
        queried = world.spots.first[world.queried]
        questions = Questions(queried, regions)
        where, violations = add_by_cells(table, world.homes, world.sizes, questions)
    assert violations == 0

    loads: NodeLoads[int] = NodeLoads()
    ask = SELECTIONS.get(selection)
    for topic, home in enumerate(world.homes):
        queried_spots = [world.spot(spot) for spot in world.queried[topic]]
        candidates = ask(Surroundings(world), world.spot(home)[0], queried_spots)
        spot = add_balanced(loads, level, world.spot(home), world.sizes[topic], candidates)
        assert world.spot(where[topic]) == spot
    assert_same_loads(table, loads, world)


@pytest.mark.parametrize("level", Level)
@SOME
@given(seed=SEEDS)
def test_taking_away_undoes_placing(level: Level, seed: int) -> None:
    world = make_world(seed)
    table = empty_loads(world.spots, level)
    loads: NodeLoads[int] = NodeLoads()
    for topic, home in enumerate(world.homes):
        place(table, home, world.sizes[topic])
        if topic % 3:
            loads.add(world.spot(home), world.sizes[topic])
        else:
            place(table, home, -world.sizes[topic])
    assert_same_loads(table, loads, world)


@SOME
@given(seed=SEEDS)
def test_placing_all_equals_placing_one_by_one(seed: int) -> None:
    world = make_world(seed)
    one_by_one, at_once = empty_loads(world.spots, 3), empty_loads(world.spots, 3)
    for topic, home in enumerate(world.homes):
        place(one_by_one, home, world.sizes[topic])
    for _ in range(2):  # the second time from a used table
        place_all(at_once, world.homes, world.sizes)
    for ours, theirs in zip(at_once[2:], one_by_one[2:], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_random_order_breaks_ties_elsewhere_than_node_order() -> None:
    world = make_world(1)
    nobody = np.empty((len(world.homes), 0), dtype=np.int64)
    chosen = []
    for shuffle in (NODE_ORDER, 7, 7, 8):
        questions = Questions(nobody, whole_regions(world.spots.nodes), shuffle)
        table = empty_loads(world.spots, 3)
        chosen.append(list(add_by_cells(table, world.homes, world.sizes, questions)[0]))
    in_order, random, again, other = chosen
    assert random == again
    assert in_order != random != other
