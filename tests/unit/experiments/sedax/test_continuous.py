from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.overlay.balancing.decision import PlacedTopic, improve, smallest_of
from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow_experiments.sedax.continuous import concerns, move_smallest, move_worthiest
from evenflow_experiments.sedax.kernel import LoadTable, empty_loads, place_all

from .worlds import SOME, World, make_world

SEEDS = st.integers(0, 2**32 - 1)
SHARPNESS = 20.0


def placed(world: World, level: int) -> tuple[LoadTable, np.ndarray]:
    loads, where = empty_loads(world.spots, level), world.homes.copy()
    place_all(loads, where, world.sizes)
    return loads, where


def soft_maximum(world: World, where: np.ndarray, level: int) -> float:
    """The soft maximum as the module's docstring writes it."""
    loads = empty_loads(world.spots, level)
    place_all(loads, where, world.sizes)
    mean = world.sizes.sum() / world.spots.nodes
    terms: list[float] = []
    for node in world.nodes():
        rows = loads.rows[world.spots.row_start[node] : world.spots.row_start[node + 1]]
        if level < 3 or not len(rows):
            terms.append(loads.worst[node])
        else:
            terms.extend(loads.stored[node] + rows)
    return float(np.logaddexp.reduce(SHARPNESS * np.array(terms) / mean) * mean / SHARPNESS)


@pytest.mark.parametrize("level", Level)
@SOME
@given(seed=SEEDS, node=st.integers(0, 8))
def test_the_smallest_topic_moves_as_algorithm_2_says(level: Level, seed: int, node: int) -> None:
    world = make_world(seed)
    table, where = placed(world, level)
    weights = [
        PlacedTopic(topic, world.spot(spot)[:level], world.sizes[topic])
        for topic, spot in enumerate(where)
    ]
    found = smallest_of(weights, node)
    moved = move_smallest(table, where, world.sizes, node)
    if found is None:
        assert moved == -1
        return
    smallest = found.topic
    others: NodeLoads[int] = NodeLoads()
    for topic, home in enumerate(world.homes):
        if topic != smallest:
            others.add(world.spot(home), world.sizes[topic])
    old = world.spot(world.homes[smallest])
    everywhere = (spot for v in world.nodes() for spot in world.spots_of(v))
    better = improve(others, level, old, everywhere)
    best = better.spot if better else old
    assert world.spot(where[smallest]) == best
    assert moved == (smallest if best != old else -1)
    assert table.worst == pytest.approx(counted(world, where, level))


def counted(world: World, where: np.ndarray, level: int) -> np.ndarray:
    again = empty_loads(world.spots, level)
    place_all(again, where, world.sizes)
    return again.worst


@pytest.mark.parametrize("level", Level)
@SOME
@given(seed=SEEDS, node=st.integers(0, 8), worth=st.sampled_from([0.0, 0.1, 0.5]))
def test_the_worthiest_move_is_the_best_of_all_moves(
    level: Level, seed: int, node: int, worth: float
) -> None:
    """Against every topic of the node on every spot, each valued from scratch."""
    world = make_world(seed, topics=15)
    table, where = placed(world, level)
    before = soft_maximum(world, where, level)
    best = worth
    for topic, spot in enumerate(where):
        if not concerns(table, spot, node):
            continue
        for target in range(world.spots.candidates):
            tried = where.copy()
            tried[topic] = target
            fall = (before - soft_maximum(world, tried, level)) / world.sizes[topic]
            best = max(best, fall)
    old = where.copy()
    moved = move_worthiest(table, where, world.sizes, node, (world.sizes, SHARPNESS, worth))
    if moved < 0:
        assert list(where) == list(old)
        assert best <= worth + 1e-9
    else:
        assert [t for t in range(len(where)) if where[t] != old[t]] == [moved]
        fall = (before - soft_maximum(world, where, level)) / world.sizes[moved]
        assert fall == pytest.approx(best, abs=1e-9)
    assert table.worst == pytest.approx(counted(world, where, level))


def test_a_move_that_costs_more_than_it_is_worth_is_not_made() -> None:
    world = make_world(2)
    table, where = placed(world, 3)
    node = int(np.argmax(table.worst))
    cheap = (world.sizes, SHARPNESS, 0.05)
    dear = (world.sizes * 1000, SHARPNESS, 0.05)
    assert move_worthiest(table, where.copy(), world.sizes, node, dear) == -1
    assert move_worthiest(table, where, world.sizes, node, cheap) >= 0
