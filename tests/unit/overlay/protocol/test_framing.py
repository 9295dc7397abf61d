"""Frames survive everything that a damaged or malicious stream can bring."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.overlay.memory_store import MemoryStore

from evenflow.errors import DecodeError
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.protocol.events import Arrived, Asked, Linked, Tick
from evenflow.overlay.protocol.framing import LARGEST_FRAME, Deframer, frame
from evenflow.overlay.protocol.messages import (
    LETTERS,
    LINK,
    Adopt,
    Done,
    Epoch,
    Fetch,
    Fetched,
    Heartbeat,
    Hello,
    Join,
    Joined,
    Label,
    Member,
    Members,
    Message,
    Offer,
    Portion,
    Position,
    Publish,
    Relieve,
    Routed,
    Share,
    Shelf,
    Status,
    Sync,
)
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList

PLACE = Coordinate(0.25, 0.75)
SHELF = Shelf("meters", PLACE)
LABEL = Label(3, 2, 7, DelegateList.at_home(PLACE).delegate(Coordinate(0.5, 0.5), 9), 1, 2, 3)
MESSAGE = Message(5, 6, 7, b"payload")
MEMBER = Member("b1", PLACE, "127.0.0.1:1", 4)
BODIES = [
    Join(SHELF, 2),
    Joined(2, LABEL.delegates),
    Publish(SHELF, 1, 2, (b"", b"x" * 300)),
    Fetch(SHELF, 1, 0, 10, 100),
    Fetched((MESSAGE, MESSAGE), 5),
    Sync(SHELF, 9, 8, True, 1, "b2", (Epoch(1, 2),), LABEL, (Position(1, 2, 3),)),
    Adopt(SHELF, 1, 2, LABEL, (Position(1, 2, 3),), 10),
    Offer(SHELF, ("b1", "b2", "b3"), 10),
    Relieve(SHELF, PLACE, Coordinate(0.5, 0.5), 10),
    Done(LABEL.delegates),
    Status(),
]
LINKS = [
    Hello(()),
    Hello((MEMBER,)),
    Members((MEMBER, Member("b2", Coordinate(0.1, 0.1), "", 1, alive=False))),
    Heartbeat(12),
    Share("b2", 4, 1, (Portion(("b1", "b3"), 10, "meters", PLACE, 5),)),
    *(Routed(PLACE, "b1", 3, "b2", 1, 2, False, LETTERS.encode(body)) for body in BODIES),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_letter_comes_back_as_it_was(body: object) -> None:
    assert LETTERS.decode(LETTERS.encode(body)) == body


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_a_stream_is_cut_into_its_frames_wherever_it_breaks(step: int, rng: random.Random) -> None:
    sent = [LINK.encode(rng.choice(LINKS)) for _ in range(5)]
    stream = b"".join(map(frame, sent))
    deframer, found = Deframer(), []
    for at in range(0, len(stream), step):
        found.extend(deframer.feed(stream[at : at + step]))
    assert found == sent


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "cut off"),
        (b"\xff", "no message type"),
        (LINK.encode(Heartbeat(1)) + b"x", "left over"),
        (LINK.encode(Heartbeat(1))[:-1], "cut off"),
        (LINK.encode(Hello((MEMBER,))).replace(b"b1", b"\xff\xff"), "Hello"),
        (LINK.encode(Hello((MEMBER,)))[:1] + b"\xff\xff\xff\xff", "does not fit"),
        (LINK.encode(Hello((MEMBER,)))[:-1] + b"\x02", "neither yes nor no"),
    ],
)
def test_malformed_messages_are_refused_with_a_reason(octets: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        LINK.decode(octets)


def test_values_that_a_message_cannot_have_are_refused() -> None:
    good = LETTERS.encode(Joined(2, DelegateList.at_home(PLACE)))
    with pytest.raises(DecodeError, match="time 0"):
        LETTERS.decode(good[:-24] + (1).to_bytes(8, "little") + good[-16:])
    with pytest.raises(DecodeError, match="outside the unit square"):
        LETTERS.decode(good[:-16] + b"\xff" * 16)
    with pytest.raises(DecodeError, match="from 0 to"):
        LETTERS.decode(good[:-24] + b"\xff" * 8 + good[-16:])


@pytest.mark.parametrize("length", [0, 4, LARGEST_FRAME + 1, 0xFFFFFFFF])
def test_a_frame_of_impossible_length_ends_the_stream(length: int) -> None:
    with pytest.raises(DecodeError, match="octets"):
        list(Deframer().feed(length.to_bytes(4, "little") + bytes(8)))


def mutated(octets: bytes, rng: random.Random) -> bytes:
    """Damage some octets, or cut, repeat or insert some."""
    changed = bytearray(octets)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                del changed[at : at + rng.randrange(1, 9)]
            case 2:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                changed[at:at] = changed[at : at + rng.randrange(1, 20)]
    return bytes(changed)


def test_mutated_frames_are_refused_and_do_no_harm() -> None:
    """100,000 damaged frames: none is taken for a message."""
    rng = random.Random(5)
    frames = [frame(LINK.encode(message)) for message in LINKS]
    taken = 0
    for _ in range(100_000):
        original = rng.choice(frames)
        changed = mutated(original, rng)
        try:
            found = list(Deframer().feed(changed))
        except DecodeError:
            continue
        taken += sum(frame(content) not in frames for content in found)
    assert taken == 0


def test_mutated_messages_with_a_true_checksum_do_no_harm_to_a_broker() -> None:
    """What no checksum shows reaches the core: it may be refused, and never raises."""
    rng = random.Random(6)
    me = Member("b1", PLACE, "127.0.0.1:1", 4)
    core = BrokerCore(me, MemoryStore(), Settings(balance_s=0.5), 0.0, 10**18)
    core.handle(Linked(Member("b2", Coordinate(0.1, 0.1), "127.0.0.1:2", 1)), 0.0, 10**18)
    refused = 0
    for number in range(20_000):
        if number % 100 == 0:
            core.handle(Tick(), number / 1000, 10**18 + number)
        try:
            if rng.random() < 0.5:
                letter = LETTERS.decode(mutated(LETTERS.encode(rng.choice(BODIES)), rng))
                routed = Routed(PLACE, "b1", 3, "b2", 0, 2, False, LETTERS.encode(letter))
                core.handle(Arrived("b2", routed), number / 1000, 10**18 + number)
                core.handle(Asked(1, routed), number / 1000, 10**18 + number)
            else:
                message = LINK.decode(mutated(LINK.encode(rng.choice(LINKS)), rng))
                if not isinstance(message, Hello):
                    core.handle(Arrived("b2", message), number / 1000, 10**18 + number)
        except DecodeError:
            refused += 1
    assert 1_000 < refused < 20_000


def test_the_checksum_is_that_of_the_content() -> None:
    content = LINK.encode(Heartbeat(3))
    assert frame(content)[4:8] == zlib.crc32(content).to_bytes(4, "little")
