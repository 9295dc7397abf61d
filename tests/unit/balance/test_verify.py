"""The verifier finds every kind of fault: a verifier that cannot fail proves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenflow.balance.count import Count
from evenflow.balance.verify import faults, sound_assignment
from evenflow.errors import PlanError
from evenflow.model.plan import Move, Plan
from evenflow.testing.sample_clusters import cluster

if TYPE_CHECKING:
    from evenflow.model.snapshot import LoadSnapshot


class Wary(Count):
    """count that would not have slices go back."""

    return_s = 300.0


def came_from_b(snapshot: LoadSnapshot) -> LoadSnapshot:
    """Slice 2 came from node b a while ago."""
    slices = list(snapshot.slices)
    slices[2] = replace(slices[2], moved_at=900.0, came_from="b")
    return replace(snapshot, slices=tuple(slices))


SNAPSHOT = came_from_b(
    cluster({"a": [1.0] * 4, "b": [1.0], "c": []}, leaving=frozenset("c"), moved_at={0: 999.0})
)


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        (Move((), "a", "b"), "names no slice"),
        (Move((1,), "a", "nobody"), "unknown node"),
        (Move((1,), "", "b"), "unknown node"),
        (Move((1,), "a", "a"), "to itself"),
        (Move((1,), "a", "c"), "leaving node 'c' takes"),
        (Move((4,), "a", "b"), "does not belong to 'a'"),
        (Move((77,), "a", "b"), "does not belong to 'a'"),
        (Move((1, 1), "a", "b"), "moves twice"),
        (Move((0,), "a", "b"), "moved less than"),
        (Move((2,), "a", "b"), "goes back to 'b'"),
    ],
)
def test_impossible_moves(move: Move, fault: str) -> None:
    found = faults(Wary(settle_s=30), SNAPSHOT, Plan((move,)))
    assert any(fault in each for each in found), found


def test_a_plan_that_gains_nothing() -> None:
    plan = Plan((Move((4,), "b", "a"),), {"a": 5.0, "b": 0.0, "c": 0.0})
    assert "nothing is gained" in faults(Count(), SNAPSHOT, plan)[0]


def test_expected_loads_that_are_wrong() -> None:
    moves = (Move((1,), "a", "b"),)
    assert "not those after" in faults(Count(), SNAPSHOT, Plan(moves, {"a": 9, "b": 9, "c": 9}))[0]
    assert "not those of the nodes" in faults(Count(), SNAPSHOT, Plan(moves, {"a": 3}))[0]
    assert faults(Count(), SNAPSHOT, Plan(moves, {"a": 3, "b": 2, "c": 0})) == ()


def test_an_assignment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    unowned = replace(
        SNAPSHOT, slices=tuple(replace(s, owner=None) if s.id < 2 else s for s in SNAPSHOT.slices)
    )
    assert sound_assignment(unowned) == {"a": (1,), "b": (0,)}
    for wrong, fault in (
        ({"c": (0, 1)}, "'c' is leaving or unknown"),
        ({"b": (0,)}, "not every slice"),
        ({"a": (0,), "b": (0, 1)}, "not every slice"),
        ({"b": (0, 1, 2)}, "not every slice"),
    ):
        monkeypatch.setattr("evenflow.balance.verify.assign_unowned", lambda _, wrong=wrong: wrong)
        with pytest.raises(PlanError, match=fault):
            sound_assignment(unowned)
