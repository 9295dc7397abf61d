"""Algorithm 2: the smallest topic goes to the best place, if that is worth a move."""

from __future__ import annotations

from evenflow.overlay.balancing.decision import PlacedTopic, improve, smallest_of
from evenflow.overlay.balancing.loads import Level, NodeLoads


def test_the_smallest_topic_that_burdens_a_node_counts_third_nodes_too() -> None:
    topics = [
        PlacedTopic("large", ("a", "b", "c"), 9.0),
        PlacedTopic("third", ("b", "c", "a"), 2.0),
        PlacedTopic("equal", ("a", "c", "b"), 2.0),
        PlacedTopic("elsewhere", ("d", "e", "f"), 1.0),
    ]
    found = smallest_of(topics, "a")
    assert found is not None
    assert found.topic == "third"
    assert smallest_of(topics, "x") is None


def loads() -> NodeLoads[str]:
    made: NodeLoads[str] = NodeLoads()
    for spot, load in ((("a", "b", "c"), 10.0), (("d", "e", "f"), 4.0)):
        made.add(spot, load)
    return made


def test_a_topic_goes_where_the_highest_load_it_meets_is_lower() -> None:
    found = improve(loads(), Level.THREE, ("a", "b", "c"), [("a", "b", "d"), ("d", "e", "f")])
    assert found is not None
    assert found.spot == ("d", "e", "f")
    assert (found.here.maximum, found.there.maximum) == (10.0, 4.0)


def test_a_topic_stays_where_nothing_is_better() -> None:
    assert improve(loads(), Level.THREE, ("d", "e", "f"), [("a", "b", "c")]) is None
    assert improve(loads(), Level.THREE, ("d", "e", "f"), []) is None


def test_a_gain_below_the_margin_is_not_worth_a_move() -> None:
    for least, moves in ((0.0, True), (6.0, True), (6.1, False)):
        found = improve(loads(), Level.THREE, ("a", "b", "c"), [("d", "e", "f")], least)
        assert (found is not None) is moves
