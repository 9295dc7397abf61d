"""Snapshots and plans refuse what contradicts itself."""

from __future__ import annotations

import pytest

from evenflow.errors import PlanError, SnapshotError
from evenflow.model.plan import Move, Plan, grouped
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice
from evenflow.testing.sample_clusters import cluster

A = ClusterNode("a")


@pytest.mark.parametrize(
    ("nodes", "slices", "why"),
    [
        ((A, A), (), "two nodes of one name"),
        ((ClusterNode(""),), (), "without a name"),
        ((ClusterNode("a", 0.0),), (), "capacity"),
        ((ClusterNode("a", float("nan")),), (), "capacity"),
        ((A,), (PlacedSlice(1, "a"), PlacedSlice(1, None)), "twice"),
        ((A,), (PlacedSlice(1, "b"),), "unknown node 'b'"),
        ((A,), (PlacedSlice(1, "a", -1.0),), "load of slice 1"),
        ((A,), (PlacedSlice(1, "a", float("inf")),), "load of slice 1"),
    ],
)
def test_contradictions(
    nodes: tuple[ClusterNode, ...], slices: tuple[PlacedSlice, ...], why: str
) -> None:
    with pytest.raises(SnapshotError, match=why):
        LoadSnapshot(0.0, nodes, slices)


def test_views_of_a_snapshot() -> None:
    snapshot = cluster({"b": [1.0, 2.0], "a": [4.0]}, leaving=frozenset("a"), unowned=(8.0,))
    assert [node.name for node in snapshot.nodes] == ["a", "b"]
    assert [node.name for node in snapshot.active] == ["b"]
    assert snapshot.loads() == {"a": 4.0, "b": 3.0}
    assert [each.id for each in snapshot.unowned] == [3]
    assert {name: len(held) for name, held in snapshot.holdings().items()} == {"a": 1, "b": 2}


def test_a_plan_is_applied_only_where_it_fits() -> None:
    snapshot = cluster({"a": [1.0, 2.0], "b": []})
    after = Plan((Move((1,), "a", "b"),)).applied_to(snapshot, at=2000.0)
    assert after.loads() == {"a": 1.0, "b": 2.0}
    assert [each.moved_at for each in after.slices][1] == 2000.0
    for moves in (
        (Move((1,), "b", "a"),),
        (Move((1, 1), "a", "b"),),
        (Move((1,), "a", "nobody"),),
        (Move((9,), "a", "b"),),
    ):
        with pytest.raises(PlanError):
            Plan(moves).applied_to(snapshot)


def test_moves_of_one_pair_are_one_move() -> None:
    single = [(3, "a", "b"), (9, "a", "c"), (1, "a", "b")]
    assert grouped(single) == (Move((1, 3), "a", "b"), Move((9,), "a", "c"))
