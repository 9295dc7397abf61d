"""The slice planner: from an algorithm's moves to actions."""

from __future__ import annotations

import pytest

from evenflow.autonomic.events import EventNotification, Phase
from evenflow.autonomic.planner import Place, PlanningService, Rule, Verb
from evenflow.balance import ALGORITHMS
from evenflow.errors import DecodeError
from evenflow.model.plan import Move
from evenflow.slices.balancer.planner import (
    MOVE_SLICES,
    NODE_JOINED,
    decoded,
    encoded,
    slice_planners,
)
from evenflow.testing.sample_clusters import cluster

OVERLOAD = EventNotification("overload", "a", (), Phase.RAISED, 0.0)


def test_moves_become_actions_that_can_be_undone() -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": [1.0] * 4, "c": [], "d": []})
    plan = slice_planners(lambda: snapshot, "balancer", "r7")["count"]().plan(OVERLOAD, 0.0)
    assert plan is not None
    assert (plan.plan_id, plan.event_id) == ("r7-1", "overload")
    assert plan.reason == "count: even number of slices"
    assert [action.stage for action in plan.actions] == [0, 0]
    for action in plan.actions:
        assert (action.kind, action.executor_id) == (MOVE_SLICES, "balancer")
        forth, back = decoded(action.args), decoded(action.undo or b"")
        assert (forth.slices, forth.giver, forth.taker) == (back.slices, back.taker, back.giver)


def test_moves_that_share_a_node_follow_one_another() -> None:
    snapshot = cluster({"a": [1.0] * 6, "b": [], "c": []})
    plan = slice_planners(lambda: snapshot, "balancer", "r")["weighted"]().plan(OVERLOAD, 0.0)
    assert plan is not None
    assert [action.stage for action in plan.actions] == [0, 1]


def test_nothing_to_move_is_no_plan() -> None:
    even = cluster({"a": [1.0], "b": [1.0]})
    planners = slice_planners(lambda: even, "balancer", "r")
    joined = EventNotification(NODE_JOINED, "b", (), Phase.RAISED, 0.0)
    for name in ALGORITHMS:
        if name != "saver":
            assert planners[name]().plan(OVERLOAD, 0.0) is None
            assert planners[name]().plan(joined, 0.0) is None


def test_algorithms_are_swapped_without_two_plans_of_one_id() -> None:
    snapshot = cluster({"a": [1.0, 1.0, 9.0, 1.0], "b": []})
    planning = PlanningService(
        (Rule("overload", "slices"), Rule("overload", "slices", Verb.SWAP, by="count")),
        {"slices": Place("weighted", {"tolerance": 0.1})},
        slice_planners(lambda: snapshot, "balancer", "r"),
    )
    ids = [
        decision.plan.plan_id
        for _ in range(2)
        for decision in planning.handle(OVERLOAD, 0.0)
        if decision.plan is not None
    ]
    assert ids == ["r-1", "r-2"]
    assert planning.places["slices"].planner == "count"


def test_arguments_survive_the_way_and_others_are_refused() -> None:
    move = Move((3, 1, 2), "nöde-1", "node-2")
    assert decoded(encoded(move)) == move
    for damaged in (b"", b"{}", b"[1]", b'{"slices": 3, "giver": "a", "taker": "b"}', b"\xff"):
        with pytest.raises(DecodeError):
            decoded(damaged)
