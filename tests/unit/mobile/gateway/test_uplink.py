"""Items of mobile nodes: what is safe is told in frames, and what is wrong ends the connection.

How items are accepted is tested in ``tests/unit/edge``.
"""

from __future__ import annotations

from tests.unit.mobile.gateway.harness import RUN, Harness, closed, hello, sent

from evenflow.edge.actions import Pause, Resume
from evenflow.mobile.link import frames


def test_items_are_safe_when_they_are_synced_and_not_before():
    gateway = Harness()
    link = gateway.attach()
    gateway.publish(link, 1, b"a", b"b")
    assert not gateway.units
    gateway.wait(0.01)
    assert len(gateway.units) == 1
    assert not sent(gateway.log, link, frames.Safe)
    assert sent(gateway.sync(), link) == [frames.Safe("items", 2)]


def test_a_gap_ends_the_connection():
    gateway = Harness()
    link = gateway.attach()
    gateway.publish(link, 1, b"a")
    ended = closed(gateway.publish(link, 3, b"c"), link)
    assert ended is not None
    assert ended.reason == "item 3 of items came after 1: numbers must follow"
    assert gateway.core.door.refused["out of place"] == 1
    gateway.settle()
    assert gateway.accepted["car-1", RUN, "items"] == [b"a"]


def test_what_is_accepted_is_told_in_welcome_and_not_taken_again():
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 2
    link = gateway.attach()
    assert sent(gateway.log, link, frames.Welcome)[0].accepted == {"items": 2}
    gateway.publish(link, 1, b"1", b"2", b"3")
    assert gateway.publish(link, 1, b"1") == []
    gateway.settle()
    assert gateway.accepted["car-1", RUN, "items"] == [b"3"]


def test_a_topic_that_the_token_does_not_allow_ends_the_connection():
    gateway = Harness()
    link = gateway.attach()
    ended = closed(gateway.publish(link, 1, b"a", topic="other"), link)
    assert ended is not None
    assert ended.reason == "this client may not publish to topic other"


def test_a_node_that_returns_is_let_in_when_its_items_are_on_disk():
    """Welcome settles what it sent over its former connection: it must be known by then."""
    gateway = Harness()
    old = gateway.attach(connection=1)
    gateway.publish(old, 1, b"a", b"b")
    gateway.lose(old)
    new = gateway.link()
    actions = gateway.say(new, hello(connection=2))
    assert not sent(actions, new)
    actions = gateway.wait()
    assert not sent(actions, new)
    assert sent(gateway.sync(), new, frames.Welcome)[0].accepted == {"items": 2}


def test_items_before_welcome_are_out_of_place():
    gateway = Harness()
    link = gateway.link()
    ended = closed(gateway.publish(link, 1, b"a"), link)
    assert ended is not None
    assert ended.reason == "Items before Welcome"


def test_a_client_that_has_used_its_share_is_not_read_until_half_of_it_is_free():
    gateway = Harness(in_flight_bytes=4_096)
    link, other = gateway.attach(), gateway.attach("car-2")
    actions = gateway.publish(link, 1, b"x" * 5_000)
    assert [one for one in actions if isinstance(one, Pause)] == [Pause(link)]
    assert Pause(other) not in gateway.publish(other, 1, b"y")
    actions = gateway.settle()
    assert [one for one in actions if isinstance(one, Resume)] == [Resume(link)]
    assert gateway.core.held == 0
