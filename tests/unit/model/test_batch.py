"""Batches: what goes in comes out, in the standard encoding, and damage is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.domain.types import idl_type
from evenflow.errors import DecodeError
from evenflow.model.batch import Batch, Item, encode_columns, encode_item, encode_items, offsets_of

some_hundred = settings(max_examples=min(300, settings.default.max_examples))
"""Enough for a pure function of a few fields, whatever the profile."""

I64 = st.integers(-(2**63), 2**63 - 1)
U64 = st.integers(1, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ITEMS = st.lists(st.builds(Item, NAME, I64, I64, st.binary(max_size=50)), min_size=1, max_size=30)
HEADS = st.tuples(U64, U32, U64, st.integers(1, 2**63))


def batch_of(count: int, first: int = 1) -> Batch:
    items = [Item(f"s{i}", 100 + i, 1_000 + i, b"p" * i) for i in range(count)]
    return Batch(encode_items(7, 3, 5, first, items))


def stock_of(head: tuple[int, int, int, int], items: list[Item]) -> Any:
    writer, slice_id, epoch, first = head
    names = [item.sender.encode() for item in items]
    payloads = [item.payload for item in items]
    return idl_type(Batch)(
        writer=writer,
        first=first,
        epoch=epoch,
        slice=slice_id,
        ids=[item.id for item in items],
        times=[item.time for item in items],
        sender_offsets=offsets_of([len(name) for name in names]).tolist(),
        senders=list(b"".join(names)),
        payload_offsets=offsets_of([len(payload) for payload in payloads]).tolist(),
        payloads=list(b"".join(payloads)),
    )


@some_hundred
@given(HEADS, ITEMS)
def test_items_come_back_as_they_were(head: tuple[int, int, int, int], items: list[Item]) -> None:
    writer, slice_id, epoch, first = head
    batch = Batch(encode_items(writer, slice_id, epoch, first, items))
    assert list(batch) == items
    assert (batch.writer, batch.slice, batch.epoch, batch.first) == head
    assert len(batch) == len(items)
    assert batch.last == first + len(items) - 1
    assert batch.payload_size == sum(len(item.payload) for item in items)
    assert batch.ids.tolist() == [item.id for item in items]
    assert batch.times.tolist() == [item.time for item in items]


@some_hundred
@given(HEADS, ITEMS)
def test_bytes_are_those_of_the_stock_codec(
    head: tuple[int, int, int, int], items: list[Item]
) -> None:
    writer, slice_id, epoch, first = head
    stock = stock_of(head, items)
    encoded = encode_items(writer, slice_id, epoch, first, items)
    plain = stock.serialize()
    assert encoded == plain.ljust(len(plain) + -len(plain) % 4, b"\0")
    assert idl_type(Batch).deserialize(encoded) == stock
    assert list(Batch(plain)) == items


@some_hundred
@given(HEADS, ITEMS)
def test_one_item_encodes_alike_by_all_ways(
    head: tuple[int, int, int, int], items: list[Item]
) -> None:
    writer, slice_id, epoch, first = head
    item = items[0]
    name, payload = item.sender.encode(), item.payload
    columns = encode_columns(
        writer,
        slice_id,
        epoch,
        first,
        np.array([item.id], np.int64),
        np.array([item.time], np.int64),
        offsets_of([len(name)]),
        name,
        offsets_of([len(payload)]),
        payload,
    )
    assert encode_item(writer, slice_id, epoch, first, item) == columns
    assert encode_items(writer, slice_id, epoch, first, [item]) == columns


@some_hundred
@given(ITEMS, st.data())
def test_a_part_is_the_same_items(items: list[Item], data: st.DataObject) -> None:
    whole = Batch(encode_items(1, 2, 3, 10, items))
    first = data.draw(st.integers(10, whole.last))
    last = data.draw(st.integers(first, whole.last))
    part = whole.between(first, last)
    assert list(part) == items[first - 10 : last - 9]
    assert (part.first, part.last, part.count) == (first, last, last - first + 1)
    assert part.payload_size == sum(len(item.payload) for item in items[first - 10 : last - 9])
    again = data.draw(st.integers(first, last))
    assert list(part.between(again, last + 5)) == items[again - 10 : last - 9]


def test_a_part_that_is_everything_is_the_batch_itself() -> None:
    batch = batch_of(5)
    assert batch.between(0, 99) is batch


def test_a_part_with_nothing_in_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="no item between"):
        batch_of(5).between(9, 12)


def mutated(encoded: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(encoded)
    match rng.randrange(4):
        case 0:
            return bytes(damaged[: rng.randrange(len(damaged))])
        case 1:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        case 2:
            at = 4 * rng.randrange(len(damaged) // 4)
            damaged[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4)])
        case _:
            at = rng.randrange(len(damaged))
            damaged[at:at] = rng.randbytes(rng.randrange(1, 9))
    return bytes(damaged)


@settings(max_examples=60)
@given(ITEMS, st.randoms(use_true_random=False))
def test_damage_raises_nothing_but_a_decode_error(items: list[Item], rng: random.Random) -> None:
    """Two hundred damaged samples of each of sixty batches; what is taken can be read whole."""
    encoded = encode_items(7, 3, 5, 1, items)
    for _ in range(200):
        try:
            batch = Batch(mutated(encoded, rng))
        except DecodeError:
            continue
        assert len(list(batch)) == batch.count
        assert len(batch.senders) >= int(batch.sender_offsets[-1])
        assert batch.payload_size <= len(batch.payloads)


@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_batch_cut_anywhere_is_refused(count: int) -> None:
    encoded = batch_of(count).encoded
    padding = 3
    for end in range(len(encoded) - padding):
        with pytest.raises(DecodeError):
            Batch(encoded[:end])


def test_offsets_that_go_backwards_are_refused() -> None:
    columns = [
        np.array([1, 2], np.int64),
        np.array([1, 2], np.int64),
        np.array([0, 1, 2], np.int32),
        b"ab",
        np.array([0, 5, 4], np.int32),
        b"abcd",
    ]
    with pytest.raises(DecodeError, match="offsets"):
        Batch(encode_columns(1, 1, 1, 1, *columns))


def test_an_empty_batch_and_one_numbered_from_zero_are_refused() -> None:
    empty = encode_columns(
        1, 1, 1, 1, np.array([], np.int64), np.array([], np.int64),
        offsets_of([]), b"", offsets_of([]), b"",
    )  # fmt: skip
    with pytest.raises(DecodeError, match="no items"):
        Batch(empty)
    with pytest.raises(DecodeError, match="numbered from 0"):
        batch_of(1, first=0)


def test_another_encapsulation_is_refused_and_header_options_are_not() -> None:
    encoded = batch_of(2).encoded
    with pytest.raises(DecodeError, match="encapsulation"):
        Batch(b"\x00\x07\x00\x00" + encoded[4:])
    assert list(Batch(b"\x00\x01\x00\x02" + encoded[4:])) == list(batch_of(2))


def test_a_sender_that_is_no_utf8_does_not_spoil_the_batch() -> None:
    encoded = batch_of(2).encoded.replace(b"s0s1", b"\xff0s1")
    assert [item.sender for item in Batch(encoded)] == ["\ufffd0", "s1"]
