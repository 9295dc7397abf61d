"""Who is let in, which connection of a node counts, and how a client is ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.mobile.gateway.harness import (
    OTHER_RUN,
    RUN,
    WALL,
    Harness,
    closed,
    hello,
    sent,
    written,
)

from evenflow.edge.actions import Complain, GiveUp
from evenflow.edge.twins import NEAR_S, Life
from evenflow.mobile.gateway.announcing import GONE_S
from evenflow.mobile.gateway.events import TimeOfDay, Withdraw
from evenflow.mobile.link import frames
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    Positions,
    SettleAnswer,
    SettleRequest,
)
from evenflow.testing.network import travelled

if TYPE_CHECKING:
    pass


def test_a_node_is_welcomed_and_announced():
    gateway = Harness()
    link = gateway.link()
    actions = gateway.say(link, hello(position=(52.5, 13.4)))
    (welcome,) = sent(actions, link)
    assert welcome.gateway == "g1"
    assert welcome.topics == ("items", "logs")
    (attachment,) = written(actions, Attachment)
    assert (attachment.node, attachment.connection, attachment.attached) == ("car-1", 1, True)
    assert attachment.attributes == '{"kind": "car"}'
    told = gateway.wait(1.0)
    assert written(told, GatewayReport)[-1].nodes == 1
    assert written(gateway.log, Positions)[-1].latitudes == (52.5,)


def test_a_bad_token_is_refused_for_good():
    gateway = Harness()
    link = gateway.link()
    ended = closed(gateway.say(link, hello(token="forged")), link)
    assert ended is not None
    assert not ended.retry
    assert gateway.core.door.refused["denied"] == 1
    assert gateway.core.sessions.clients == 0


def test_of_two_connections_the_larger_counts():
    gateway = Harness()
    old = gateway.attach(connection=5)
    late = gateway.link()
    refused = closed(gateway.say(late, hello(connection=4)), late)
    assert refused is not None
    assert refused.reason == "connection 4 is not newer than 5"
    new = gateway.link()
    actions = gateway.say(new, hello(connection=6))
    ended = closed(actions, old)
    assert ended is not None
    assert ended.reason == "connection 6 is newer"
    assert sent(actions, new, frames.Welcome)
    assert [one.attached for one in written(actions, Attachment)] == [True]


def test_an_older_hello_is_refused_also_when_the_newer_connection_is_over():
    gateway = Harness()
    gateway.lose(gateway.attach(connection=5))
    late = gateway.link()
    assert closed(gateway.say(late, hello(connection=4)), late) is not None


def test_a_client_that_lost_its_memory_and_whose_clock_was_put_back_is_let_in():
    """Numbers of connections come from the clock; its former run has no more items to send."""
    gateway = Harness()
    ahead = gateway.attach(connection=5)
    back = gateway.link()
    refused = closed(gateway.say(back, hello(connection=4, run=OTHER_RUN)), back)
    assert refused is not None
    assert refused.retry
    assert "there may be two of that name" in refused.reason
    gateway.lose(ahead)
    back = gateway.link()
    assert sent(gateway.say(back, hello(connection=4, run=OTHER_RUN)), back, frames.Welcome)


def test_the_former_sessions_items_are_not_taken_when_a_newer_connection_is_there():
    gateway = Harness()
    old = gateway.attach(connection=1)
    gateway.attach(connection=2)
    assert gateway.publish(old, 1, b"late") == []


def test_a_node_that_leaves_while_it_is_let_in_is_announced_as_gone():
    gateway = Harness()
    old = gateway.attach(connection=1)
    gateway.publish(old, 1, b"a")
    new = gateway.link()
    gateway.say(new, hello(connection=2))
    (gone,) = written(gateway.lose(new), Attachment)
    assert (gone.connection, gone.attached) == (2, False)


def test_a_second_hello_is_out_of_place():
    gateway = Harness()
    link = gateway.attach()
    ended = closed(gateway.say(link, hello()), link)
    assert ended is not None
    assert ended.reason == "a second Hello"


def test_revoking_and_expiry_end_live_connections():
    gateway = Harness()
    one = gateway.attach("car-1", token="good-1")
    two = gateway.attach("car-2", token="good-2")
    actions = gateway.handle(TimeOfDay(WALL, frozenset({"good-1"})))
    ended = closed(actions, one)
    assert ended is not None
    assert (ended.reason, ended.retry) == ("the token was revoked", False)
    assert closed(actions, two) is None
    gateway.doorman.expires = WALL + 10
    three = gateway.attach("car-3", token="good-3")
    assert closed(gateway.handle(TimeOfDay(WALL + 9, frozenset())), three) is None
    assert closed(gateway.handle(TimeOfDay(WALL + 10, frozenset())), three) is not None


def test_a_link_that_says_nothing_is_ended():
    gateway = Harness()
    link = gateway.link()
    gateway.now += 9.0
    assert closed(gateway.handle(TimeOfDay(WALL, frozenset())), link) is None
    gateway.now += 1.0
    assert closed(gateway.handle(TimeOfDay(WALL, frozenset())), link) is not None


def test_a_full_gateway_takes_no_more_nodes_but_takes_back_its_own():
    gateway = Harness(most_nodes=2)
    gateway.attach("car-1")
    gateway.attach("car-2")
    third = gateway.link()
    refused = closed(gateway.say(third, hello("car-3")), third)
    assert refused is not None
    assert refused.retry
    again = gateway.link()
    assert sent(gateway.say(again, hello("car-2", 2)), again, frames.Welcome)


def test_a_node_that_is_attached_elsewhere_may_finish_here_and_is_ended_after_a_while():
    gateway = Harness()
    link = gateway.attach(connection=3)
    gateway.publish(link, 1, b"a")
    actions = gateway.hear(Attachment("g2", "car-1", 4, True, "{}", WALL))
    assert closed(actions, link) is None
    assert [one.attached for one in written(actions, Attachment)] == [False]
    assert sent(gateway.settle(), link) == [frames.Safe("items", 1)]
    assert gateway.core.sessions.clients == 0
    gateway.now += 10.0
    assert closed(gateway.handle(TimeOfDay(WALL, frozenset())), link) is not None


def test_an_older_attachment_elsewhere_changes_nothing():
    gateway = Harness()
    gateway.attach(connection=3)
    gateway.hear(Attachment("g2", "car-1", 2, True, "{}", WALL))
    gateway.hear(Attachment("g2", "car-1", 9, False, "{}", WALL))
    assert gateway.core.sessions.clients == 1


def _report(*life, where="quic://elsewhere:1"):
    host, pid, since = life
    return GatewayReport("g1", (where,), 0, 9, False, (), False, (), host, pid, since)


def test_of_two_gateways_of_one_name_the_later_one_ends():
    gateway = Harness("g1", life=Life(100.0, "here", 7))
    assert not [one for one in gateway.hear(_report("here", 7, 100.0)) if _is_about_twins(one)]
    later = _report("there", 8, 101.0)
    (complaint,) = [one for one in gateway.hear(later) if _is_about_twins(one)]
    assert isinstance(complaint, Complain)
    assert "that one ends by itself" in complaint.what
    assert not [one for one in gateway.hear(later) if _is_about_twins(one)], "it is told once"
    earlier = _report("there", 8, 99.0)
    (end,) = [one for one in gateway.hear(earlier) if _is_about_twins(one)]
    assert isinstance(end, GiveUp)
    assert "a gateway called g1 is running already, as process 8 of there" in end.why
    assert "stop that one first, or start this one under another name" in end.why


def _is_about_twins(action):
    return isinstance(action, Complain | GiveUp)


def test_while_there_are_two_gateways_of_one_name_none_answers_for_the_others_disk():
    """Nobody is let in; who is attached is served."""
    gateway = Harness("g1", life=Life(100.0, "here", 7))
    old = gateway.attach("car-1")
    for own in written(gateway.wait(1.0), GatewayReport):
        gateway.hear(travelled(own))
    assert sent(gateway.say(link := gateway.link(), hello("car-0")), link, frames.Welcome)
    gateway.hear(_report("there", 8, 101.0))
    new = gateway.link()
    refused = closed(gateway.say(new, hello("car-2")), new)
    assert refused is not None
    assert refused.retry
    assert "two gateways are called g1" in refused.reason
    asked = SettleRequest("g2", "car-2", RUN, 5, "items")
    assert not written(gateway.hear(asked), SettleAnswer)
    gateway.publish(old, 1, b"a")
    assert sent(gateway.settle(), old, frames.Safe)
    gateway.wait(NEAR_S)
    assert written(gateway.hear(asked), SettleAnswer)
    new = gateway.link()
    assert sent(gateway.say(new, hello("car-3")), new, frames.Welcome)


def test_that_a_node_has_left_is_withdrawn_after_a_while():
    gateway = Harness()
    first, second = gateway.attach(), gateway.attach(node="car-2")
    gateway.lose(first)
    gateway.lose(second)
    gateway.now += 1.0
    gateway.attach(node="car-2", connection=2)
    gateway.now += GONE_S
    done = gateway.handle(TimeOfDay(WALL + 1.0 + GONE_S, frozenset()))
    (gone,) = [one for one in done if isinstance(one, Withdraw)]
    assert (gone.attachment.gateway, gone.attachment.node) == ("g1", "car-1")
    done = gateway.handle(TimeOfDay(WALL + 3 * GONE_S, frozenset()))
    assert not [one for one in done if isinstance(one, Withdraw)], "who is back stays told"
