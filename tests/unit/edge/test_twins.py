"""Two doors of one name: the later one ends, and the other answers for no disk but its own."""

from __future__ import annotations

from tests.unit.edge.harness import RUN, Harness

from evenflow.edge.actions import Complain, GiveUp
from evenflow.edge.twins import NEAR_S, Life, Presence
from evenflow.model.messages import SettleRequest

OWN = Life(100.0, "here", 7)


def heard(door: Harness, since: float, host: str = "there", pid: int = 8):
    presence = Presence("door", "d1", Life(since, host, pid), ("udp://there:1",))
    door.acceptance.twins.hear(presence, door.now)
    return door.done()


def test_the_own_word_is_none_of_a_twin():
    door = Harness(life=OWN)
    assert heard(door, 100.0, "here", 7) == []
    assert not door.acceptance.twins.are_near(door.now)


def test_the_earlier_one_complains_once_and_the_later_one_ends():
    door = Harness(life=OWN)
    (complaint,) = heard(door, 101.0)
    assert isinstance(complaint, Complain)
    assert complaint.what.endswith("that one ends by itself")
    assert heard(door, 101.0) == []
    (end,) = heard(door, 99.0)
    assert isinstance(end, GiveUp)
    assert end.why.startswith(
        "a door called d1 is running already, as process 8 of there, at udp://there:1: "
    )


def test_while_there_are_two_nobody_is_let_in_and_nothing_is_answered():
    door = Harness(life=OWN)
    heard(door, 101.0)
    request = SettleRequest("d2", "car-1", RUN, 5, "items")
    assert "two doors are called d1" in door.acceptance.why_closed(door.now)
    assert door.hear(request) == []
    door.wait(NEAR_S)
    assert not door.acceptance.why_closed(door.now)
    assert door.hear(request) != []
