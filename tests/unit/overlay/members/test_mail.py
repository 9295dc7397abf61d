"""Where an envelope goes next, and what a broker does with those that arrive."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenflow.overlay.members.mail import MOST_HOPS, Mail, RouteEnd, next_hop
from evenflow.overlay.members.neighbours import Neighbours
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Action, Reply, Transmit
from evenflow.overlay.protocol.messages import AskStatus, Envelope, Join, Member, ShelfId
from evenflow.overlay.protocol.settings import Counters, Settings
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes

from .tables import overlay


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_greedy_forwarding_ends_at_the_closest(seed: int, count: int) -> None:
    tables = overlay(seed, count)
    rng = random.Random(seed)
    living = next(iter(tables.values())).living
    for _ in range(5):
        target = Coordinate(rng.random(), rng.random())
        at = rng.choice(sorted(tables))
        envelope = Envelope(target, "", MOST_HOPS, at, 0, 0, False, b"")
        while (
            hop := next_hop(envelope, tables[at], tables[at].neighbours())
        ) is not RouteEnd.ARRIVED:
            assert isinstance(hop, str)
            envelope, at = replace(envelope, hops=envelope.hops - 1), hop
        assert at == closest_nodes(target, living, 1)[0]


@given(st.integers(0, 10_000), st.integers(2, 30))
def test_a_letter_for_a_broker_reaches_it_from_everywhere(seed: int, count: int) -> None:
    tables = overlay(seed, count)
    goal = random.Random(seed).choice(sorted(tables))
    for start in tables:
        at = start
        envelope = Envelope(tables[goal].me.coordinate, goal, MOST_HOPS, start, 0, 0, False, b"")
        while (
            hop := next_hop(envelope, tables[at], tables[at].neighbours())
        ) is not RouteEnd.ARRIVED:
            assert isinstance(hop, str)
            at = hop
        assert at == goal


def test_a_letter_without_a_way_on_is_lost_and_goes_in_no_circle() -> None:
    tables = overlay(1, 10)
    at, goal = "b1", "b2"
    envelope = Envelope(tables[goal].me.coordinate, goal, MOST_HOPS, at, 0, 0, False, b"")
    assert next_hop(envelope, tables[at], []) is RouteEnd.NO_ROUTE
    neighbours = tables[at].neighbours()
    assert next_hop(replace(envelope, hops=0, node=""), tables[at], neighbours) in (
        RouteEnd.NO_ROUTE,
        *neighbours,
    )


class Box:
    """The mail of ``b0`` at the left, linked with ``b1`` at the right."""

    def __init__(self) -> None:
        self.left, self.right = Coordinate(0.1, 0.5), Coordinate(0.9, 0.5)
        members = MemberTable(Member("b0", self.left, "", 1))
        members.merge([Member("b1", self.right, "", 1)])
        self.actions: list[Action] = []
        self.counters = Counters()
        neighbours = Neighbours(members, Settings(), self.actions.append, 0.0)
        neighbours.links.add("b1")
        self.neighbours = neighbours
        self.mail = Mail(members, neighbours, self.counters, self.actions.append, lambda: 7)


BODY_BYTES = BODY.encode(AskStatus())


def test_a_message_for_another_broker_goes_over_the_link() -> None:
    box = Box()
    box.mail.send("b1", AskStatus())
    box.mail.send_to(Coordinate(0.8, 0.5), AskStatus(), 6)
    to_broker, to_place = (action.message for action in box.actions)
    assert (to_broker.node, to_broker.target, to_broker.hops) == ("b1", box.right, MOST_HOPS - 1)
    assert (to_place.node, to_place.origin, to_place.correlation) == ("", "b0", 6)
    assert BODY.decode(to_broker.body) == AskStatus()


def test_a_message_to_ourselves_waits_in_the_inbox() -> None:
    box = Box()
    box.mail.send("b0", AskStatus())
    box.mail.send_to(Coordinate(0.2, 0.5), AskStatus())
    assert len(box.mail.inbox) == 2
    assert box.actions == []


def test_a_message_to_a_broker_that_nobody_knows_is_not_sent() -> None:
    box = Box()
    box.mail.send("b9", AskStatus())
    assert box.actions == []
    assert not box.mail.inbox


def test_a_reply_goes_to_the_client_through_its_broker() -> None:
    box = Box()
    far = Envelope(box.left, "b0", 9, "b1", 4, 6, reply=False, body=BODY_BYTES)
    box.mail.reply(far, AskStatus())
    box.mail.reply(replace(far, origin="b0"), AskStatus())
    over_link, to_client = box.actions
    assert isinstance(over_link, Transmit)
    assert (over_link.message.client, over_link.message.reply) == (4, True)
    assert isinstance(to_client, Reply)
    assert (to_client.client, to_client.envelope.correlation) == (4, 6)


def test_what_is_passed_on_keeps_its_sender_and_loses_a_hop() -> None:
    box = Box()
    came = Envelope(box.left, "b0", 9, "b5", 4, 6, reply=False, body=BODY_BYTES)
    box.mail.forward(came, "b1")
    shelf = ShelfId("meters", box.right)
    box.mail.readdress(came, Join(shelf, 0))
    forwarded, readdressed = (action.message for action in box.actions)
    assert (forwarded.origin, forwarded.client, forwarded.body) == ("b5", 4, BODY_BYTES)
    assert forwarded.hops == readdressed.hops == 7  # one for us, one for the link
    assert BODY.decode(readdressed.body) == Join(shelf, 0)
    assert (readdressed.target, readdressed.node) == (box.right, "")


def test_an_envelope_without_hops_or_route_is_counted_as_lost() -> None:
    box = Box()
    spent = Envelope(box.right, "", 0, "b5", 4, 6, reply=False, body=BODY_BYTES)
    box.mail.route(spent)
    box.mail.route(replace(spent, node="b9", hops=9, target=box.left))
    assert box.counters.lost == 2
    box.mail.forward(spent, "b1")
    box.mail.readdress(spent, Join(ShelfId("meters", box.right), 0))
    assert box.actions == []
