"""New topics placed by plan: quotas, steering, and brokers of a simulated cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import OverlayError
from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.planned_places import steer
from evenflow.overlay.balancing.quotas import quotas
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.cluster import OverlayCluster

from .adding import (
    SELDOM,
    TOPIC,
    add,
    check_topics_made_at_once,
    loads_in_topics,
    nothing_moves,
    simulated,
)


def planning(seed: int, brokers: int, every: float = SELDOM) -> OverlayCluster:
    settings = Settings(balance_s=every, topic_bytes=TOPIC, selection="planned")
    return OverlayCluster(seed, brokers=brokers, settings=settings)


@given(seed=st.integers(0, 999), brokers=st.integers(1, 9), level=st.integers(1, 3))
def test_the_quotas_placed_as_divisible_topics_reach_the_bound(
    seed: int, brokers: int, level: int
) -> None:
    places = np.random.default_rng(seed).uniform(0.02, 0.98, (brokers, 2)).tolist()
    members = {f"b{number}": Coordinate(*place) for number, place in enumerate(places)}
    size = min(level, brokers)
    plan = quotas(list(Candidates(members, 1).spots(size, members)))
    loads: NodeLoads[str] = NodeLoads()
    for spot, share in plan.shares.items():
        loads.add(spot, share)
    assert sum(plan.shares.values()) == pytest.approx(1)
    assert max(loads.load(name, Level.THREE) for name in members) == pytest.approx(plan.bound)
    assert plan.bound >= min(size, 2) / brokers * (1 - 1e-6)


def test_a_topic_takes_the_fullest_spot_that_fits_and_else_the_best() -> None:
    loads: NodeLoads[str] = NodeLoads()
    for name, load in (("a", 1.0), ("b", 5.0), ("c", 9.0)):
        loads.add((name,), load)
    spots = [("a",), ("b",), ("c",)]
    assert steer(loads, [(one, "z") for (one,) in spots], 6.0) == ("b", "z")
    assert steer(loads, [(one, "z") for (one,) in spots], 0.5) == ("a", "z")


@pytest.mark.parametrize("seed", [1, 4])
def test_loads_are_those_of_the_simulation_and_evener_than_the_paper_s(seed: int) -> None:
    cluster = planning(seed, 8)
    names = [f"topic-{number}" for number in range(48)]
    publishers = add(cluster, names)
    live = max(loads_in_topics(cluster))
    assert live <= max(simulated(cluster, names, "planned")) + 1
    assert live <= max(simulated(cluster, names, "global"))
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


def test_topics_that_are_made_at_once_keep_to_the_plan() -> None:
    check_topics_made_at_once(planning(5, 6))


def test_another_broker_is_another_plan_and_the_loads_stay_even() -> None:
    cluster = planning(2, 6, every=4.0)
    names = [f"topic-{number}" for number in range(18)]
    publishers = add(cluster, names[:9])
    cluster.kill("b2")
    cluster.run(10)
    publishers += add(cluster, names[9:])
    cluster.start("b2")
    cluster.run(60)
    cluster.run_until(lambda: nothing_moves(cluster), 30, "rest")
    assert max(loads_in_topics(cluster)) < max(simulated(cluster, names, "home"))
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


def test_without_a_plan_topics_go_where_the_best_place_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_plan(spots: list[tuple[str, ...]]) -> None:
        raise OverlayError(f"the plan was not found for {len(spots)} spots")

    monkeypatch.setattr("evenflow.overlay.balancing.planned_places.quotas", no_plan)
    cluster = planning(1, 5)
    names = [f"topic-{number}" for number in range(20)]
    publishers = add(cluster, names)
    assert max(loads_in_topics(cluster)) <= max(simulated(cluster, names, "global")) + 1
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)
