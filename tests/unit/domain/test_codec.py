"""Our bytes are those of the standard encoding; nothing else is taken for a message."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.domain.channels import CONTROL
from evenflow.domain.codec import codec_of, encode
from evenflow.domain.types import idl_type
from evenflow.errors import DecodeError
from evenflow.model.bounds import LONGEST_SEPARATION_S
from evenflow.model.item_headers import encode_pairs
from evenflow.model.messages import (
    Ack,
    Beat,
    CacheChunk,
    EpochClose,
    EventNotice,
    ItemReplies,
    MapPage,
    MoveReply,
    NodeReport,
    Order,
    PropertyReport,
    ReplayAnswer,
    SliceState,
    Step,
)
from evenflow.model.slice_map import PAGE_SLICES
from evenflow.model.wire import Kind

some_hundred = settings(max_examples=min(300, settings.default.max_examples))
"""Enough for a pure function of a few fields, whatever the profile."""

MESSAGE_TYPES = tuple(channel.message_type for channel in CONTROL)
each_type = pytest.mark.parametrize("message_type", MESSAGE_TYPES, ids=lambda kind: kind.__name__)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "uint8": st.integers(0, 2**8 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "string": TEXT,
}


@st.composite
def messages_of(draw: st.DrawFn, message_type: type[Any]) -> Any:
    """Draw a message; its sequences are all of one length, as columns of a table must be."""
    rows = draw(st.integers(int(message_type is MapPage), 12))
    hints = get_type_hints(message_type, include_extras=True)
    values = {name: draw(values_of(*get_args(hint), rows)) for name, hint in hints.items()}
    if "step" in values:
        values["step"] = draw(st.sampled_from(Step))
    if "separation_s" in values:
        values["separation_s"] = draw(st.floats(0.0, LONGEST_SEPARATION_S))
        values |= {name: abs(values[name]) for name in ("most_s", "deadline_s")}
    if "states" in values:
        values["states"] = tuple(draw(st.sampled_from(SliceState)) for _ in range(rows))
    if "owners" in values:
        values["owners"] = tuple(draw(st.integers(0, rows)) for _ in range(rows))
        values["page"] = draw(st.integers(0, 2**11))
        values["slice_count"] = values["page"] * PAGE_SLICES + rows
    if "takers" in values:
        values["arcs"] = tuple(sorted(set(values["arcs"])))
        most = len(values["bridges"]) - 1
        values["takers"] = tuple(draw(st.integers(0, most)) for _ in values["arcs"])
    if "batches" in values:
        values["lengths"] = tuple(draw(st.integers(0, 9)) for _ in range(rows))
        values["batches"] = draw(st.randoms()).randbytes(sum(values["lengths"]))
        values["total"] = draw(st.integers(1, 2**32 - 1))
        values["index"] = draw(st.integers(0, values["total"] - 1))
        values["state_lengths"] = values["lengths"]
        values["state_octets"] = values["batches"]
    if message_type is ItemReplies:
        values["lengths"] = tuple(draw(st.integers(0, 9)) for _ in range(rows))
        values["payloads"] = draw(st.randoms()).randbytes(sum(values["lengths"]))
        values["headers"] = encode_pairs(((b"name", b"value"),)) if rows else b""
    return message_type(**values)


def values_of(python_type: Any, kind: Kind, rows: int) -> st.SearchStrategy[Any]:
    scalar = SCALARS[kind.idl] if kind.most is None else st.integers(0, kind.most)
    if not kind.sequence:
        return scalar
    if python_type is bytes:
        return st.binary(max_size=40)
    return st.lists(scalar, min_size=rows, max_size=rows).map(tuple)


any_message = st.sampled_from(MESSAGE_TYPES).flatmap(messages_of)


def stock_of(message: Any) -> Any:
    """The same message as an object of the stock codec."""
    values = {
        name: list(value) if isinstance(value, tuple | bytes) else value
        for name, value in asdict(message).items()
    }
    return idl_type(type(message))(**values)


@some_hundred
@given(any_message)
def test_decoding_gives_back_what_was_encoded(message: Any) -> None:
    encoded = encode(message)
    assert len(encoded) % 4 == 0
    assert codec_of(type(message)).decode(encoded) == message


@some_hundred
@given(any_message)
def test_bytes_are_those_of_the_stock_codec(message: Any) -> None:
    stock = stock_of(message).serialize()
    assert encode(message) == stock.ljust(len(stock) + -len(stock) % 4, b"\0")


@some_hundred
@given(any_message)
def test_the_stock_codec_reads_ours_and_ours_reads_its(message: Any) -> None:
    stock = stock_of(message)
    assert idl_type(type(message)).deserialize(encode(message)) == stock
    assert codec_of(type(message)).decode(stock.serialize()) == message


@some_hundred
@given(st.sampled_from([EpochClose, NodeReport, Beat, MapPage, EventNotice]).flatmap(messages_of))
def test_the_key_alone_is_decoded_from_the_stock_key(message: Any) -> None:
    codec = codec_of(type(message))
    assert codec.decode_key(stock_of(message).serialize_key()) == codec.key_of(message)


@each_type
def test_every_message_type_survives_the_full_range(message_type: type[Any]) -> None:
    @settings(max_examples=25)
    @given(messages_of(message_type))
    def check(message: Any) -> None:
        assert codec_of(message_type).decode(encode(message)) == message

    check()


def mutated(encoded: bytes, rng: random.Random) -> bytes:
    """Damage a sample in one of the ways that networks and strangers do."""
    damaged = bytearray(encoded)
    match rng.randrange(5):
        case 0:
            return bytes(damaged[: rng.randrange(len(damaged))])
        case 1:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        case 2:
            at = rng.randrange(len(damaged))
            damaged[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4)])
        case 3:
            at = rng.randrange(len(damaged))
            damaged[at:at] = rng.randbytes(rng.randrange(1, 9))
        case _:
            return rng.randbytes(rng.randrange(len(damaged)))
    return bytes(damaged)


@settings(max_examples=60)
@given(any_message, st.randoms(use_true_random=False))
def test_damage_raises_nothing_but_a_decode_error(message: Any, rng: random.Random) -> None:
    """Two hundred damaged samples of each of sixty messages: 12,000 in all."""
    codec = codec_of(type(message))
    encoded = encode(message)
    for _ in range(200):
        sample = mutated(encoded, rng)
        try:
            decoded = codec.decode(sample)
        except DecodeError:
            continue
        # Damage to a number may leave a sound message; that one must be whole.
        encode(decoded)


@settings(max_examples=60)
@given(any_message, st.sampled_from(MESSAGE_TYPES), st.randoms(use_true_random=False))
def test_messages_of_another_type_are_refused_or_whole(
    message: Any, other: type[Any], rng: random.Random
) -> None:
    for sample in (encode(message), mutated(encode(message), rng)):
        with suppress(DecodeError):
            encode(codec_of(other).decode(sample))


def test_a_sample_cut_anywhere_is_refused() -> None:
    encoded = encode(MoveReply("items", 7, True, "because", 9))
    for end in range(len(encoded)):
        with pytest.raises(DecodeError, match="MoveReply") as caught:
            codec_of(MoveReply).decode(encoded[:end])
        assert caught.value.size == end


def test_a_refusal_names_type_and_field() -> None:
    encoded = bytearray(encode(MoveReply("items", 7, True, "because", 9)))
    encoded[28] = 2  # the boolean
    with pytest.raises(DecodeError, match="MoveReply: accepted: neither true nor false"):
        codec_of(MoveReply).decode(bytes(encoded))


def test_a_length_beyond_the_sample_allocates_nothing() -> None:
    encoded = bytearray(encode(Beat("t", 1, 1, (), (), ())))
    nodes_at = 4 + 8 + 8 + 8
    assert encoded[nodes_at : nodes_at + 4] == bytes(4)
    encoded[nodes_at : nodes_at + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(DecodeError, match="nodes: 4294967295 elements announced"):
        codec_of(Beat).decode(bytes(encoded))


def test_text_that_is_no_utf8_is_refused() -> None:
    encoded = encode(MoveReply("items", 7, True, "because", 9)).replace(b"items", b"\xff\xfe\xfd__")
    with pytest.raises(DecodeError, match="topic"):
        codec_of(MoveReply).decode(encoded)


def test_other_encapsulations_are_refused() -> None:
    encoded = encode(MoveReply("items", 7, True, "because", 9))
    for header in (b"\x00\x00\x00\x00", b"\x00\x07\x00\x00", b"\x00\x03\x00\x00"):
        with pytest.raises(DecodeError, match="plain CDR"):
            codec_of(MoveReply).decode(header + encoded[4:])


def test_the_options_of_the_header_are_ignored() -> None:
    encoded = encode(MoveReply("items", 7, True, "because", 9))
    assert codec_of(MoveReply).decode(b"\x00\x01\x00\x03" + encoded[4:]).term == 9


def test_bytes_behind_the_last_field_are_refused() -> None:
    encoded = encode(MoveReply("items", 7, True, "because", 9))
    with pytest.raises(DecodeError, match="4 bytes after the last field"):
        codec_of(MoveReply).decode(encoded + bytes(4))


REPORT = NodeReport(
    "t", "n", 1, 2, False, (1,), (0,), (3,), 0, 0, 0, 0, 0, 0, 0, 0.0, "host", 1
)  # fmt: skip


@pytest.mark.parametrize(
    ("foreign", "fault"),
    [
        (EpochClose(1, "t", 1, 8, (1, 2), (5,), False), "columns slices, last of 2, 1 rows"),
        (ReplayAnswer("t", 1, "n", 1, (), (), (), (1,), ()), "columns refused, refused_terms"),
        (Beat("t", 1, 1, ("n",), (), ()), "columns nodes, numbers"),
        (Order("t", "n", 1, 77, (), ""), "unknown step 77"),
        (Ack("t", "n", 1, 0, True, "", 0, 0, 0), "unknown step 0"),
        (replace(REPORT, states=(9,)), "unknown state"),
        (replace(REPORT, terms=()), "columns slices, states, terms"),
        (MapPage("t", 0, 1, 1, 1, ("n",), (2,), (1,)), "an owner beyond 1 nodes"),
        (MapPage("t", 0, 1, 1, 2, ("n",), (1,), (1,)), "1 slices on page 0 of a map of 2"),
        (MapPage("t", 1, 1, 1, 200, (), (), ()), "0 slices on page 1 of a map of 200"),
        (CacheChunk("t", 1, "a", "b", 2, 2, 0, (), (), (), (), (), b""), "chunk 2 of 2"),
        (CacheChunk("t", 1, "a", "b", 0, 1, 0, (), (), (), (), (3,), b"12"), "3 bytes of batches"),
        (
            CacheChunk("t", 1, "a", "b", 0, 1, 0, (), (), (), (), (), b"", (1,), (3,), b"12"),
            "3 bytes of states",
        ),
        (ItemReplies("t", 1, "n", 1, (1,), ("s",), (1,), (3,), b"12", b""), "3 bytes of replies"),
        (ItemReplies("t", 1, "n", 1, (1,), (), (1,), (2,), b"12", b""), "columns numbers, senders"),
        (PropertyReport("n", 1.0, ("cpu",), (), (1,)), "columns names, values, ranges of 1, 0, 1"),
        (EventNotice("n", "hot", True, 1.0, ("cpu",), (9.0,), ()), "columns names, values, times"),
    ],
)
def test_well_encoded_messages_that_make_no_sense_are_refused(foreign: Any, fault: str) -> None:
    with pytest.raises(DecodeError, match=fault):
        codec_of(type(foreign)).decode(encode(foreign))


@pytest.mark.parametrize(
    ("field", "value"), [("request", -1), ("request", 2**64), ("request", "7"), ("topic", 7)]
)
def test_a_value_that_does_not_fit_is_the_callers_error(field: str, value: Any) -> None:
    message = replace(MoveReply("items", 7, True, "because", 9), **{field: value})
    with pytest.raises(ValueError, match=f"MoveReply.{field}"):
        encode(message)


@pytest.mark.parametrize("text", ["\udcff", "a\0b"])
def test_text_that_cannot_travel_loses_the_character_not_the_message(text: str) -> None:
    reply = MoveReply("items", 7, False, text, 9)
    assert codec_of(MoveReply).decode(encode(reply)).reason == text.replace("\0", "?").replace(
        "\udcff", "?"
    )


def test_a_codec_is_made_once() -> None:
    assert codec_of(Beat) is codec_of(Beat)
    assert codec_of(Beat).keyed
    assert not codec_of(Order).keyed


def test_a_type_without_wire_kinds_has_no_codec() -> None:
    @dataclass(frozen=True)
    class Foreign:
        number: int

    with pytest.raises(ValueError, match="not enough values"):
        codec_of(Foreign)
