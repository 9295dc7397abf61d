"""What is not exactly a message is refused with a reason, and never harms a broker."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from evenflow.errors import DecodeError
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.protocol.codec import BODY, LINK, REQUESTS
from evenflow.overlay.protocol.events import Arrived, Asked, Linked, Tick
from evenflow.overlay.protocol.messages import (
    Envelope,
    Heartbeat,
    Hello,
    Join,
    Joined,
    Member,
    Refused,
)
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList
from evenflow.overlay.values import LARGEST_NUMBER, LONGEST_TEXT
from evenflow.testing.overlay.store import MemoryStore

from .samples import BODIES, LINKS, MEMBER, PLACE, SHELF, mutated


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_body_comes_back_as_it_was(body: object) -> None:
    assert BODY.decode(BODY.encode(body)) == body


@pytest.mark.parametrize("message", LINKS, ids=lambda message: type(message).__name__)
def test_a_link_message_comes_back_as_it_was(message: object) -> None:
    assert LINK.decode(LINK.encode(message)) == message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (LINK.encode(Heartbeat(1)) + b"x", "trailing"),
        (LINK.encode(Heartbeat(1))[:-1], "truncated"),
        (LINK.encode(Hello((MEMBER,))).replace(b"b1", b"\xff\xff"), "utf-8"),
        (LINK.encode(Heartbeat(1)).replace(b"Heartbeat", b"Heartburn"), "Heartburn"),
        (BODY.encode(Join(SHELF, 2)), "Join"),
        (b"\xdd\xff\xff\xff\xff", "truncated"),
    ],
)
def test_malformed_messages_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        LINK.decode(data)


def decode_fields(*fields: Any) -> Any:
    return BODY.decode(msgspec.msgpack.encode(fields))


AT_HOME = [[[0, [0.25, 0.75]]]]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (("Joined", 2), "at least length"),
        (("Joined", 2, AT_HOME, 1, 1), "at most length"),
        (("Joined", "2", AT_HOME, 3), "Expected `int`"),
        (("Joined", -1, AT_HOME, 3), ">= 0"),
        (("Joined", 4, AT_HOME, 3), "<= 3"),
        (("Joined", 2, AT_HOME, LARGEST_NUMBER + 1), "<= 4611686018427387904"),
        (("Joined", 2, [[[1, [0.25, 0.75]]]], 3), "time 0"),
        (("Joined", 2, [[]], 3), "time 0"),
        (("Joined", 2, [[[0, [1.5, 0.75]]]], 3), "<= 1.0"),
        (("Joined", 2, [[[0, [float("nan"), 0.75]]]], 3), ">= 0.0"),
        (("Joined", 2, [[[0, [0.25]]]], 3), "length 2"),
        (("OfferReply", ["meters", [0.25, 0.75]], 1), "Expected `bool`"),
        (("Failed", "x" * (LONGEST_TEXT + 1)), "length <= 65535"),
        (("Publish", ["meters", [0.25, 0.75]], 1, 1, ["text"]), "Expected `bytes`"),
    ],
)
def test_values_that_a_message_cannot_have_are_refused(
    fields: tuple[Any, ...], reason: str
) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_fields(*fields)


def test_the_fields_above_are_else_sound() -> None:
    assert decode_fields("Joined", 2, AT_HOME, 3) == Joined(2, DelegateList.at_home(PLACE), 3)


def test_requests_are_what_clients_may_send() -> None:
    assert REQUESTS.decode(BODY.encode(Join(SHELF, 2))) == Join(SHELF, 2)
    with pytest.raises(DecodeError, match="Refused"):
        REQUESTS.decode(BODY.encode(Refused(SHELF)))


def test_a_damaged_envelope_is_counted_and_the_broker_goes_on() -> None:
    core = BrokerCore(MEMBER, MemoryStore(), Settings(), 0.0, 10**18)
    for count in (1, 2):
        envelope = Envelope(PLACE, "b1", 3, "b2", 0, 2, reply=False, body=b"\xc1")
        core.handle(Arrived("b2", envelope), 0.0, 10**18)
        assert core.counters.damaged == count
        core.handle(Asked(1, envelope), 0.0, 10**18)
        assert core.counters.refused == count


@pytest.mark.parametrize("selection", ["gossip", "regional"])
def test_mutated_messages_with_a_true_checksum_do_no_harm_to_a_broker(selection: str) -> None:
    """What no checksum shows reaches the core: it may be refused, and never raises."""
    rng = random.Random(6)
    settings = Settings(balance_s=0.5, selection=selection)
    core = BrokerCore(MEMBER, MemoryStore(), settings, 0.0, 10**18)
    core.handle(Linked(Member("b2", Coordinate(0.1, 0.1), "127.0.0.1:2", 1, disk=7)), 0.0, 10**18)
    refused = 0
    for number in range(20_000):
        if number % 100 == 0:
            core.handle(Tick(), number / 1000, 10**18 + number)
        try:
            if rng.random() < 0.5:
                body = BODY.decode(mutated(BODY.encode(rng.choice(BODIES)), rng))
                encoded = BODY.encode(body)
                envelope = Envelope(PLACE, "b1", 3, "b2", 0, 2, False, encoded, disk=7)
                core.handle(Arrived("b2", envelope), number / 1000, 10**18 + number)
                core.handle(Asked(1, envelope), number / 1000, 10**18 + number)
            else:
                message = LINK.decode(mutated(LINK.encode(rng.choice(LINKS)), rng))
                if not isinstance(message, Hello):
                    core.handle(Arrived("b2", message), number / 1000, 10**18 + number)
        except DecodeError:
            refused += 1
    assert 1_000 < refused < 20_000
