"""The slice planner: from an algorithm's moves to actions."""

from __future__ import annotations

import pytest

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.balance import ALGORITHMS, Algorithm, algorithm_named
from evenflow.balance.count import Count
from evenflow.errors import DecodeError, PlanError
from evenflow.model.plan import Move, Plan
from evenflow.model.snapshot import LoadSnapshot
from evenflow.slices.balancer.planner import MOVE_SLICES, SlicePlanner, decoded, encoded
from evenflow.testing.knowledge import asked
from evenflow.testing.sample_clusters import cluster

JOINED = BalancerEvent.NODE_JOINED.of("items")
LEAVING = BalancerEvent.NODE_LEAVING.of("items")


def planner(algorithm: Algorithm | str = "count") -> SlicePlanner:
    made = algorithm_named(algorithm) if isinstance(algorithm, str) else algorithm
    return SlicePlanner(made, "items")


def test_moves_become_actions_that_can_be_undone() -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": [1.0] * 4, "c": [], "d": []})
    plan = planner().analyze_load(asked(snapshot))
    assert plan is not None
    assert plan.reason == "count: even number of slices"
    assert [action.stage for action in plan.actions] == [0, 0]
    for action in plan.actions:
        assert (action.kind, action.executor_id) == (MOVE_SLICES, "slices/items")
        forth, back = decoded(action.args), decoded(action.undo or b"")
        assert (forth.slices, forth.giver, forth.taker) == (back.slices, back.taker, back.giver)


def test_what_a_change_of_the_membership_moved_is_kept() -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": []})
    plan = planner().on_new_processing_node(asked(snapshot, JOINED, "b", "b joined"))
    assert plan is not None
    assert plan.reason == "b joined: even number of slices"
    assert [action.undo for action in plan.actions] == [None]


def test_moves_that_share_a_node_follow_one_another() -> None:
    snapshot = cluster({"a": [1.0] * 6, "b": [], "c": []})
    plan = planner("weighted").analyze_load(asked(snapshot))
    assert plan is not None
    assert [action.stage for action in plan.actions] == [0, 1]


def test_nothing_to_move_is_no_plan() -> None:
    even = cluster({"a": [1.0], "b": [1.0]})
    for name in ALGORITHMS:
        if name != "saver":
            assert planner(name).analyze_load(asked(even)) is None
            assert planner(name).on_new_processing_node(asked(even, JOINED, "b")) is None


def test_a_node_that_has_left_again_needs_no_plan() -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": []})
    assert planner().on_new_processing_node(asked(snapshot, JOINED, "gone")) is None


class Faulty(Count):
    """An algorithm of others that gives slices to nobody."""

    name = "faulty"

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        return Plan((Move((snapshot.slices[0].id,), "a", "nobody"),))


class Failing(Count):
    """An algorithm of others that knows no snapshot."""

    name = "failing"

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        raise KeyError(len(snapshot.slices))


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [(Faulty(), "unknown node in a move from 'a' to 'nobody'"), (Failing(), "KeyError: 4")],
)
def test_a_plan_with_faults_is_refused_and_count_stands_in_for_a_leave(
    algorithm: Algorithm, said: str
) -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": []}, leaving={"a"})
    with pytest.raises(PlanError):
        planner(algorithm).analyze_load(asked(snapshot))
    plan = planner(algorithm).analyze_load(asked(snapshot, LEAVING, "a", "a leaves"))
    assert plan is not None
    assert [decoded(action.args).taker for action in plan.actions] == ["b"]
    assert plan.reason.startswith("a leaves; count stands in, because")
    assert said in plan.reason


def test_arguments_survive_the_way_and_others_are_refused() -> None:
    move = Move((3, 1, 2), "nöde-1", "node-2")
    assert decoded(encoded(move)) == move
    for damaged in (b"", b"{}", b"[1]", b'{"slices": 3, "giver": "a", "taker": "b"}', b"\xff"):
        with pytest.raises(DecodeError):
            decoded(damaged)
