"""The one guard of moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.errors import MoveRefused
from evenflow.model.messages import MoveRequest, NodeReport
from evenflow.model.plan import Move
from evenflow.slices.balancer.membership.members import Members
from evenflow.slices.balancer.move_checks import MoveGuard
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.sessions import Sessions
from evenflow.slices.balancer.takeovers import Takeover, Takeovers, differences

PLAIN = NodeReport("items", "a~1", 1, 0, False, (), (), (), 0, 0, 0, 0, 0, 0, 0, 0.0, "", 7)
A, B, C = "a~1", "b~1", "c~1"


class World:
    """Three nodes, six slices: 0 to 2 at a, 3 and 4 at b, 5 at c, which leaves."""

    def __init__(self) -> None:
        self.members, self.owners = Members(), Owners(6)
        self.sessions, self.takeovers = Sessions("items", 5.0, 0.25), Takeovers("items", 0.25)
        for node, slices in ((A, [0, 1, 2]), (B, [3, 4]), (C, [5])):
            self.members.hear(replace(PLAIN, node=node, leaving=node == C), 0.0)
            self.owners.give(slices, node, 1, 0.0)
        self.guard = MoveGuard(self.members, self.owners, self.sessions, self.takeovers)


def test_a_sound_move_passes() -> None:
    World().guard.admit(Move((0, 1), A, B))


@pytest.mark.parametrize(
    ("move", "why"),
    [
        (Move((0,), A, A), "same node"),
        (Move((), A, B), "nothing to move"),
        (Move((0,), A, "x~1"), "no node x~1"),
        (Move((0,), "x~1", B), "no node x~1"),
        (Move((0,), A, C), "leaving"),
        (Move((3,), A, B), "does not own slice 3"),
        (Move((6,), A, B), "does not own slice 6"),
        (Move((-1,), C, B), "does not own slice -1"),
    ],
)
def test_what_must_not_begin_is_refused(move: Move, why: str) -> None:
    with pytest.raises(MoveRefused, match=why):
        World().guard.admit(move)


def test_what_is_under_way_is_refused_for_a_moment() -> None:
    world = World()
    world.sessions.begin(7, Move((3,), B, A), "a test", 0.0)
    for move in (Move((0,), A, B), Move((5,), C, B)):
        with pytest.raises(MoveRefused, match="in another session; try again"):
            world.guard.admit(move)
    world = World()
    world.takeovers.add(Takeover(8, A, (1,), "", "assign", "a test", 0.0, 0.0))
    world.guard.admit(Move((0,), A, B))
    with pytest.raises(MoveRefused, match="slice 1 is changing hands"):
        world.guard.admit(Move((0, 1), A, B))


def test_a_request_names_nodes_by_name_and_leaves_the_choice() -> None:
    world = World()
    world.takeovers.add(Takeover(8, A, (0,), "", "assign", "a test", 0.0, 0.0))
    request = MoveRequest("items", 1, "a", "b", 2, ())
    assert world.guard.resolve(request) == Move((1, 2), A, B)
    assert world.guard.resolve(replace(request, slices=(2, 0, 2))) == Move((0, 2), A, B)
    for count in (0, 4):
        with pytest.raises(MoveRefused, match=f"owns 3 slices, {count} were asked for"):
            world.guard.resolve(replace(request, count=count))
    with pytest.raises(MoveRefused, match="no node nobody; known are: a, b, c"):
        world.guard.resolve(replace(request, giver="nobody"))


class Compared(int):
    """The number of a slice; comparisons of any two are counted."""

    times = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return int.__eq__(self, other)  # type: ignore[arg-type]


def test_a_report_is_compared_with_the_map_in_few_steps_while_very_many_slices_are_taken() -> None:
    world, many = World(), tuple(map(Compared, range(600)))
    world.owners = Owners(len(many))
    world.owners.give(many, A, 2, 0.0)
    world.takeovers.add(Takeover(2, A, many, "", "assign", "", 0.0, 0.0))
    begun = Compared.times
    found = differences(PLAIN, world.owners, world.sessions.open, world.guard.changing())
    assert found.lacking == ()
    assert Compared.times - begun < 10 * len(many), "it grows with the square of the slices"
