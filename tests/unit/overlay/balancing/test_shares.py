"""What every broker bears, as each of them said last."""

from __future__ import annotations

import pytest

from evenflow.errors import OverlayError
from evenflow.overlay.balancing.decision import PlacedTopic
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.shares import ShareBuilder, Shares
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.messages import Member, Share, SpotLoad
from evenflow.overlay.space.coordinate import Coordinate

HERE, THERE = Coordinate(0.2, 0.2), Coordinate(0.8, 0.8)


def share(broker: str, number: int, *spots: SpotLoad, incarnation: int = 1) -> Share:
    return Share(broker, incarnation, number, spots)


def test_a_newer_share_replaces_an_older_one_and_is_news() -> None:
    shares = Shares()
    assert shares.add(share("a", 2))
    assert not shares.add(share("a", 2))
    assert not shares.add(share("a", 1))
    assert shares.add(share("a", 1, incarnation=2))
    assert "a" in shares
    assert "b" not in shares


def test_what_the_dead_said_and_said_before_they_died_is_forgotten() -> None:
    members = MemberTable(Member("a", HERE, "", 1))
    members.merge(
        [Member("b", THERE, "", 2), Member("c", Coordinate(0.5, 0.5), "", 1, alive=False)]
    )
    shares = Shares()
    for name in ("a", "b", "c"):
        shares.add(share(name, 1))
    shares.keep_living(members)
    assert [each.broker for each in shares.everyone()] == ["a"]


def filled() -> Shares:
    shares = Shares()
    shares.add(share("a", 1, SpotLoad(("b", "c"), 10, "small", HERE, 3)))
    shares.add(
        share("b", 1, SpotLoad(("c",), 4, "two", THERE, 4), SpotLoad(("a",), 5, "", HERE, 5))
    )
    shares.add(share("c", 1))
    return shares


def test_loads_are_those_of_the_equations_with_each_topic_on_its_own_level() -> None:
    loads = filled().loads()
    assert loads.load("a", Level.THREE) == 15
    assert loads.load("b", Level.THREE) == 19
    assert loads.load("c", Level.THREE) == 4 + 10  # room for a failure of a or b
    assert filled().mean() == (15 + 19 + 14) / 3


def test_a_topic_can_be_left_out_and_never_makes_a_load_negative() -> None:
    small = PlacedTopic("small", ("a", "b", "c"), 3.0)
    assert filled().loads(without=small).load("a", Level.THREE) == 12
    huge = PlacedTopic("small", ("a", "b", "c"), 99.0)
    assert filled().loads(without=huge).load("a", Level.THREE) == 5


def test_the_smallest_topics_leave_out_those_that_are_on_their_way() -> None:
    found = {placed.topic: (placed.spot, place) for placed, place in filled().smallest()}
    assert found == {"small": (("a", "b", "c"), HERE), "two": (("b", "c"), THERE)}


def test_a_share_is_built_spot_by_spot_with_the_smallest_topic_of_each() -> None:
    builder = ShareBuilder()
    builder.add(("b",), "large", HERE, 7)
    builder.add(("b",), "small", THERE, 2)
    builder.add(("b",), "", HERE, 1)  # on its way: counts, and is not given on
    builder.add((), "", HERE, 4)
    builder.add((), "alone", HERE, 9)
    assert builder.spots() == (
        SpotLoad((), 13, "alone", HERE, 9),
        SpotLoad(("b",), 10, "small", THERE, 2),
    )


def test_a_share_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(OverlayError, match="another broker than itself"):
        share("a", 1, SpotLoad(("a",), 1, "", HERE, 1))
    with pytest.raises(OverlayError, match="named twice"):
        share("a", 1, SpotLoad(("b",), 1, "", HERE, 1), SpotLoad(("b",), 2, "", HERE, 2))
    with pytest.raises(OverlayError, match="two or fewer"):
        SpotLoad(("b", "b"), 1, "", HERE, 1)
