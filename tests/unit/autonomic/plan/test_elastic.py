"""Elasticity: within limits, one node at a time, with time between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.autonomic.execute.actions import START_NODE, STOP_NODE
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.plan.elastic import Elastic, Fleet, Limits
from evenflow.errors import ConfigError
from evenflow.testing.knowledge import knowing


def event(name: str, now: float) -> Knowledge:
    return knowing()(EventNotification(name, "*", (), Phase.RAISED, now), now)


def elastic(nodes: list[str], idle: list[str], limits: Limits) -> Elastic:
    fleet = lambda _now: Fleet(tuple(nodes), 0, frozenset(idle))  # noqa: E731
    return Elastic(fleet, limits, "hot", "cold", "host")


def test_a_node_is_started_up_to_the_most() -> None:
    nodes = ["a", "b"]
    planner = elastic(nodes, [], Limits(1, 3, cooldown_s=0.0))
    plan = planner.analyze_load(event("hot", 0.0))
    assert plan is not None
    assert plan.actions[0].kind == START_NODE
    assert plan.reason == "2 nodes are too few"
    nodes.append("c")
    assert planner.analyze_load(event("hot", 1.0)) is None


def test_a_node_that_is_about_to_join_counts() -> None:
    planner = Elastic(lambda _: Fleet(("a",), 2), Limits(1, 3, 0.0), "hot", "cold", "host")
    assert planner.analyze_load(event("hot", 0.0)) is None


def test_the_node_with_the_least_to_do_is_stopped_and_not_below_the_least_number() -> None:
    nodes, idle = ["c", "b", "a"], ["c"]
    planner = elastic(nodes, idle, Limits(1, 3, cooldown_s=0.0))
    plan = planner.analyze_load(event("cold", 0.0))
    assert plan is not None
    assert (plan.actions[0].kind, plan.actions[0].args) == (STOP_NODE, b"c")
    assert plan.reason == "3 nodes are too many, c is idle"
    nodes.remove("c")
    plan = planner.analyze_load(event("cold", 1.0))
    assert plan is not None
    assert plan.reason == "2 nodes are too many, b has the least to do"
    nodes.remove("b")
    assert planner.analyze_load(event("cold", 2.0)) is None


def test_there_is_time_between_two_changes() -> None:
    planner = elastic(["a"], [], Limits(cooldown_s=60.0))
    assert planner.analyze_load(event("hot", 0.0)) is not None
    assert planner.analyze_load(event("hot", 59.0)) is None
    assert planner.analyze_load(event("hot", 60.0)) is not None


def test_other_events_do_nothing() -> None:
    assert elastic(["a"], ["a"], Limits()).analyze_load(event("other", 0.0)) is None


def test_limits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="least"):
        Limits(5, 3)
    with pytest.raises(ConfigError, match="cooldown_s"):
        Limits(cooldown_s=-1.0)


@given(st.lists(st.tuples(st.sampled_from(["hot", "cold"]), st.floats(0.0, 30.0)), max_size=50))
def test_the_fleet_stays_within_its_limits(steps: list[tuple[str, float]]) -> None:
    nodes = ["n0", "n1"]
    planner = elastic(nodes, nodes, Limits(1, 4, cooldown_s=20.0))
    now, changed = 0.0, -100.0
    for name, pause in steps:
        now += pause
        plan = planner.analyze_load(event(name, now))
        if plan is None:
            continue
        assert now - changed >= 20.0
        changed = now
        if plan.actions[0].kind == START_NODE:
            nodes.append(f"n{now}")
        else:
            nodes.remove(plan.actions[0].args.decode())
        assert 1 <= len(nodes) <= 4
