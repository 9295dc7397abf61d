"""The rules of a client one by one; all of them together are in test_schedules."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.client.buffer import Limits
from evenflow.mobile.client.connections import Identity
from evenflow.mobile.client.core import ClientCore
from evenflow.mobile.client.events import (
    Arrived,
    Broken,
    Describe,
    Dial,
    Drop,
    Linked,
    Moved,
    Publish,
    Refused,
    Renew,
    Send,
    Tick,
    Unlinked,
    Usable,
)
from evenflow.mobile.client.reaching import Patience, Reach
from evenflow.mobile.client.settings import encoded_headers
from evenflow.mobile.link.frames import (
    Alternatives,
    Attributes,
    Bye,
    Handover,
    Hello,
    Items,
    Outcome,
    Safe,
    Settle,
    Settled,
    Welcome,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.mobile.client.events import Action
    from evenflow.mobile.link.frames import FromGateway

A, B, C = "quic://a:1", "quic://b:1", "quic://c:1"
NO_PAUSE = Patience(first_s=0.0)


class Node:
    """A core, and the gateways that the test plays."""

    def __init__(self, *gateways: str, patience: Patience = NO_PAUSE, random: int = 1) -> None:
        self.now = 0.0
        self.core = ClientCore(
            Identity("car-7", "0" * 16, "token"),
            gateways or (A, B),
            Limits(100, 1 << 20, drop_oldest=False),
            Random(random),
            connection=0,
            patience=patience,
        )
        self.out: list[Action] = []
        self.links: dict[str, int] = {}
        self.keep(self.core.start(self.now))

    def keep(self, actions: Sequence[Action]) -> None:
        self.out = list(actions)
        self.links.update({one.address: one.link for one in actions if isinstance(one, Dial)})

    def tell(self, event: Any) -> Node:
        self.keep(self.core.handle(event, self.now))
        return self

    def wait(self, seconds: float) -> Node:
        self.now += seconds
        return self.tell(Tick())

    def says(self, address: str, frame: FromGateway) -> Node:
        return self.tell(Arrived(self.links[address], frame))

    def lose(self, address: str, **how: Any) -> Node:
        return self.tell(Unlinked(self.links[address], "lost", **how))

    def attach(self, address: str, **accepted: int) -> Node:
        """Let the gateway of an address, named by its letter, take the node."""
        self.tell(Linked(self.links[address]))
        if not self.frames(address, Hello):
            self.wait(0.25)  # no quiet moment comes
        return self.says(address, Welcome(address[7], accepted, (), ("t",), 1 << 16, 5.0))

    def publish(self, *payloads: bytes) -> Node:
        for payload in payloads:
            self.tell(Publish("", 0, payload))
        return self.tell(Tick())

    def of(self, kind: type) -> list[Any]:
        return [one for one in self.out if isinstance(one, kind)]

    def frames(self, address: str, kind: type) -> list[Any]:
        sent = [one.frame for one in self.of(Send) if one.link == self.links[address]]
        return [frame for frame in sent if isinstance(frame, kind)]


# -- finding a gateway -----------------------------------------------------------------------------


def test_a_dial_that_takes_long_gets_company_and_the_first_link_wins() -> None:
    node = Node(A, B)
    assert [one.address for one in node.of(Dial)] == [A]
    assert node.core.deadline() == 1.0
    node.wait(1.0)
    assert [one.address for one in node.of(Dial)] == [B]
    node.attach(B)
    assert node.core.gateway == "b"
    assert [one.link for one in node.of(Drop)] == [node.links[A]]


def test_a_dial_that_fails_makes_room_at_once() -> None:
    node = Node(A, B).lose(A)
    assert [one.address for one in node.of(Dial)] == [B]


def test_only_one_gateway_is_greeted_at_a_time() -> None:
    node = Node(A, B).wait(1.0).tell(Linked(1)).tell(Linked(2))
    assert node.of(Drop)
    assert not node.of(Send)


def test_a_gateway_that_does_not_welcome_is_given_up() -> None:
    node = Node(A, B).tell(Linked(1)).wait(10.0)
    assert [one.link for one in node.of(Drop)] == [1]
    assert [one.address for one in node.of(Dial)] == [B]


def test_a_lost_connection_is_made_again_where_it_was_then_at_the_alternatives() -> None:
    node = Node(A, B).attach(A).says(A, Alternatives((C,)))
    node.now = 100.0
    assert [one.address for one in node.lose(A).of(Dial)] == [A]
    assert [one.address for one in node.wait(1.0).of(Dial)] == [C]
    assert [one.address for one in node.wait(1.0).of(Dial)] == [B]


def test_a_gateway_that_says_goodbye_is_tried_last() -> None:
    node = Node(A, B).attach(A)
    assert [one.address for one in node.says(A, Bye("going down")).of(Dial)] == [B]


def test_pauses_grow_and_differ() -> None:
    patience = Patience()
    random = Random(1)
    pauses = [patience.pause_s(failures, random) for failures in range(8)]
    assert all(low < high for low, high in pairwise(pauses[:4]))
    assert max(pauses) <= patience.most_backoff_s
    assert patience.pause_s(9, random) != patience.pause_s(9, random)


def longest_pause(dial_s: float) -> float:
    """Between rounds of dials that fail after so long."""
    reach = Reach([A], Patience(), Random(1), start=0.0)
    pauses, now = [], 0.0
    for link in range(12):
        reach.dial(link, now)
        now += dial_s
        reach.fail(link, A, "no", now, retry=True)
        pauses.append(reach.next_at - now)
        now = reach.next_at
    return max(pauses)


def test_pauses_are_longer_where_gateways_do_not_answer_than_where_there_is_no_network() -> None:
    assert longest_pause(0.0) <= Patience().most_backoff_s
    assert Patience().most_backoff_s < longest_pause(10.0) <= Patience().most_crowded_s


@given(st.integers(0, 1000), st.integers(1, 5), st.booleans())
def test_every_address_has_its_turn_in_each_round(seed: int, count: int, endless: bool) -> None:
    addresses = [f"quic://{number}:1" for number in range(count)]
    reach = Reach(addresses, Patience(), Random(seed), start=0.0, endless=endless)
    now, tried = 0.0, []
    for link in range(2 * count):
        if reach.next_at == inf:
            break
        now = max(now, reach.next_at)
        address = reach.dial(link, now)
        tried.append(address)
        reach.fail(link, address, "no", now, retry=True)
    assert tried == addresses * (2 if endless else 1)
    assert reach.over is not endless


def test_a_node_that_all_refuse_stops_until_it_has_another_token() -> None:
    node = Node(A, B).lose(A, retry=False)
    assert not node.of(Refused)
    node.tell(Linked(node.links[B])).says(B, Bye("token expired", retry=False))
    assert node.of(Refused) == [Refused("lost")]
    assert node.core.deadline() == inf
    assert [one.address for one in node.tell(Renew("better")).of(Dial)] == [A]
    hello = node.tell(Linked(node.links[A])).frames(A, Hello)[0]
    assert hello.token == "better"


# -- items -----------------------------------------------------------------------------------------


def test_items_go_in_one_frame_and_have_numbers_without_gaps() -> None:
    node = Node().attach(A).publish(b"1", b"2").publish(b"3")
    assert node.frames(A, Items) == [Items("t", 3, (0,), (b"3",))]


def test_headers_go_with_their_items() -> None:
    block = encoded_headers({"type": "json"})
    node = Node().attach(A)
    node.tell(Publish("", 0, b"1")).tell(Publish("", 0, b"2", block)).tell(Tick())
    [frame] = node.frames(A, Items)
    assert frame == Items("t", 1, (0, 0), (b"1", b"2"), (b"", block))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(frame), type=Items) == frame


def test_bad_headers_of_a_frame_are_refused_and_a_frame_may_go_without() -> None:
    block = encoded_headers({"type": "json"})
    for damaged in ((b"",), (b"", block[:-1]), (block[1:], b"")):
        wire = msgspec.msgpack.encode(("items", "t", 1, (0, 0), (b"1", b"2"), damaged))
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(wire, type=Items)
    old = msgspec.msgpack.encode(("items", "t", 1, (0,), (b"1",)))
    assert msgspec.msgpack.decode(old, type=Items) == Items("t", 1, (0,), (b"1",))


def test_what_a_lost_gateway_may_have_is_settled_before_it_goes_elsewhere() -> None:
    node = Node(A, B).attach(A).publish(b"1", b"2").says(A, Safe("t", 1)).lose(A).lose(A)
    node.attach(B)
    assert node.frames(B, Settle) == [Settle("a", "t")]
    assert not node.frames(B, Items)
    assert node.core.held_up_by == {"a"}
    assert not node.publish(b"3").frames(B, Items), "later ones stay behind"
    node.says(B, Settled("a", "t", 1))
    assert node.frames(B, Items) == [Items("t", 3, (0, 0), (b"2", b"3"))]


def test_a_question_without_an_answer_is_repeated() -> None:
    node = Node(A, B).attach(A).publish(b"1").lose(A).lose(A).attach(B)
    assert node.core.deadline() == 5.0
    assert node.wait(5.0).frames(B, Settle) == [Settle("a", "t")]


def test_the_same_gateway_says_in_its_welcome_what_it_has() -> None:
    node = Node(A).attach(A).publish(b"1", b"2").lose(A).attach(A, t=1)
    assert node.frames(A, Items) == [Items("t", 2, (0,), (b"2",))]
    assert not node.frames(A, Settle)


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    node = Node(A, B).attach(A).publish(b"1").says(A, Settled("a", "t", 1))
    assert node.core.buffer.items == 1


def test_an_outbox_from_an_older_copy_is_found_out() -> None:
    node = Node(A).attach(A, t=5)
    assert "older copy" in node.of(Broken)[0].reason
    assert node.of(Drop)


def test_a_gateway_that_makes_safe_what_was_not_sent_is_left() -> None:
    node = Node(A, B).attach(A).publish(b"1").says(A, Safe("t", 2))
    assert [one.link for one in node.of(Drop)] == [1]
    assert node.core.buffer.items == 1


def test_attributes_that_change_during_the_greeting_are_told() -> None:
    node = Node(A).tell(Linked(1)).tell(Describe({"kind": "bus"}))
    node.says(A, Welcome("a", {}, (), ("t",), 1 << 16, 5.0))
    assert node.frames(A, Attributes) == [Attributes({"kind": "bus"})]


# -- handover --------------------------------------------------------------------------------------


def order(*addresses: str, make_before_break: bool = True) -> Handover:
    return Handover("a plan-1", addresses, 10.0, make_before_break)


def test_make_before_break_has_no_gap_when_nothing_is_in_flight() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, Safe("t", 1)).says(A, order(B))
    assert not node.of(Drop)
    node.now = 0.1
    node.attach(B)
    assert node.of(Usable) == []
    assert node.frames(B, Outcome) == [Outcome("a plan-1", True, "", 100.0, 0, {"t": 1})]
    assert [one.link for one in node.of(Drop)] == [node.links[A]]
    moved = node.of(Moved)[0]
    assert (moved.origin, moved.target, moved.ok, moved.gap_s) == ("a", "b", True, 0.0)


def test_the_next_gateway_is_greeted_in_a_quiet_moment() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B)).tell(Linked(2))
    assert not node.frames(B, Hello)
    assert node.core.deadline() == 0.25
    assert node.publish(b"2").frames(A, Items)
    assert not node.says(A, Safe("t", 1)).frames(B, Hello)
    assert node.says(A, Safe("t", 2)).frames(B, Hello)
    node.says(B, Welcome("b", {}, (), ("t",), 1 << 16, 5.0))
    assert node.of(Moved)[0].gap_s == 0.0


def test_a_link_that_is_lost_before_its_quiet_moment_is_not_greeted() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B, C)).tell(Linked(2)).lose(B)
    assert [one.address for one in node.of(Dial)] == [C]
    assert not node.says(A, Safe("t", 1)).of(Send)


def test_make_before_break_waits_until_the_old_gateway_has_made_everything_safe() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B)).publish(b"2")
    assert node.frames(A, Items), "the old one is used until the next has taken the node"
    node.attach(B).publish(b"3")
    assert not node.frames(A, Items)
    assert not node.frames(B, Items)
    assert not node.frames(B, Settle), "it has a moment to say so by itself"
    node.now = 0.5
    node.says(A, Safe("t", 2))
    assert node.frames(B, Items) == [Items("t", 3, (0,), (b"3",))]
    assert node.of(Usable) == [Usable(0.25)]
    assert node.of(Moved)[0].gap_s == 0.25
    assert node.of(Moved)[0].in_flight == 1


def test_an_old_gateway_that_does_not_answer_is_settled_through_the_next() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B)).attach(B)
    assert node.core.deadline() == 1.25
    assert node.wait(1.0).frames(B, Settle) == [Settle("a", "t")]
    node.says(B, Settled("a", "t", 0))
    assert node.frames(B, Items) == [Items("t", 2, (0,), (b"1",))]
    assert node.frames(B, Outcome)[0].left == {"t": 0}


def test_an_old_gateway_that_is_lost_is_settled_at_once() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B)).attach(B).lose(A)
    assert node.frames(B, Settle) == [Settle("a", "t")]


def test_break_before_make_leaves_first() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B, make_before_break=False))
    assert [one.link for one in node.of(Drop)] == [1]
    assert [one.address for one in node.of(Dial)] == [B]
    node.now = 0.05
    assert node.attach(B).frames(B, Settle) == [Settle("a", "t")]
    node.says(B, Settled("a", "t", 1))
    assert node.of(Moved)[0].gap_s == 0.05
    assert node.frames(B, Outcome)[0].ok


def test_a_handover_that_cannot_be_carried_out_leaves_the_node_where_it_was() -> None:
    node = Node(A).attach(A).says(A, order(B, C)).lose(B).lose(C)
    outcome = node.frames(A, Outcome)[0]
    assert not outcome.ok
    assert outcome.reason == f"{C}: lost"
    assert node.core.gateway == "a"
    assert node.publish(b"1").frames(A, Items)


def test_a_handover_that_is_not_begun_in_time_is_given_up() -> None:
    node = Node(A).attach(A).says(A, order(B)).wait(10.0)
    assert not node.frames(A, Outcome)[0].ok
    assert [one.link for one in node.of(Drop)] == [node.links[B]]


def test_a_broken_handover_falls_back_to_what_is_known() -> None:
    node = Node(A).attach(A).says(A, order(B, make_before_break=False)).lose(B)
    assert [one.address for one in node.of(Dial)] == [A]
    assert not node.of(Moved)[0].ok
    assert not node.attach(A).frames(A, Outcome)[0].ok


def test_the_old_gateway_is_lost_while_the_next_is_dialled() -> None:
    node = Node(A).attach(A).publish(b"1").says(A, order(B)).lose(A)
    assert not node.of(Dial)
    node.attach(B)
    assert node.frames(B, Settle) == [Settle("a", "t")]
    assert node.says(B, Settled("a", "t", 1)).of(Moved)[0].ok


def test_a_second_order_is_refused_while_one_is_carried_out() -> None:
    node = Node(A).attach(A).says(A, order(B)).says(A, order(C))
    assert node.frames(A, Outcome)[0].reason == "another handover is under way"


def test_an_order_to_where_the_node_is_is_done() -> None:
    node = Node(A).attach(A).says(A, order(A))
    assert node.frames(A, Outcome)[0].ok
    assert not node.of(Dial)
