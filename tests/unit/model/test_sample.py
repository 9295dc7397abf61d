"""Samples: what goes in comes out, in the standard encoding, and damage is refused."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.domain.types import idl_type
from evenflow.errors import DecodeError
from evenflow.model.batch import Item
from evenflow.model.encoding import ITEM_BYTES, RUN_BYTES, encode_item, encode_sample
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.sample import Sample
from evenflow.testing.samples import columns_of, encode_items

some_hundred = settings(max_examples=min(300, settings.default.max_examples))
"""Enough for a pure function of a few fields, whatever the profile."""

I64 = st.integers(-(2**63), 2**63 - 1)
U64 = st.integers(0, 2**64 - 1)
SLICE = st.integers(0, 2**20 - 1)
NUMBER = st.integers(0, 2**53)
NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HEADERS = st.just({}) | st.dictionaries(NAME.filter(bool), st.binary(max_size=9), max_size=4)
ITEM = st.builds(Item, NAME, I64, I64, st.binary(max_size=50), HEADERS)
Runs = dict[int, tuple[int, list[Item]]]
RUNS: st.SearchStrategy[Runs] = st.dictionaries(
    SLICE,
    st.tuples(st.integers(1, 2**52), st.lists(ITEM, min_size=1, max_size=8)),
    min_size=1,
    max_size=8,
)
Head = tuple[int, int, int]
HEADS = st.tuples(U64, NUMBER, NUMBER)


def items_of(runs: Runs) -> list[Item]:
    return [item for slice_id in sorted(runs) for item in runs[slice_id][1]]


def runs_of(sample: Sample) -> Runs:
    return {batch.slice: (batch.first, list(batch)) for batch in sample.batches()}


def sample_of(*counts: int) -> Sample:
    """Slice 10 has as many items as the first number says, slice 20 as the second says ..."""
    runs: Runs = {
        10 * (at + 1): (5, [Item(f"s{at}", i, 1_000 + i, b"p" * i) for i in range(count)])
        for at, count in enumerate(counts)
    }
    return Sample(encode_items(7, 3, 5, runs))


@some_hundred
@given(HEADS, RUNS)
def test_items_come_back_as_they_were(head: Head, runs: Runs) -> None:
    sample = Sample(encode_items(*head, runs))
    assert (sample.writer, sample.serial, sample.epoch) == head
    assert runs_of(sample) == runs
    assert list(sample.rows) == items_of(runs)
    assert (sample.count, sample.run_count) == (len(items_of(runs)), len(runs))
    assert sample.slices.tolist() == sorted(runs)
    assert sample.counts.tolist() == [len(runs[s][1]) for s in sorted(runs)]
    assert sample.firsts.tolist() == [runs[s][0] for s in sorted(runs)]
    assert sample.lasts.tolist() == [runs[s][0] + len(runs[s][1]) - 1 for s in sorted(runs)]
    words = sum(len(item.sender.encode()) + len(item.payload) for item in items_of(runs))
    words += sum(pairs_bytes(given_headers(item.headers)) for item in items_of(runs))
    fixed = ITEM_BYTES * sample.count + RUN_BYTES * sample.run_count
    assert 0 < sample.size - words - fixed < 120


@some_hundred
@given(HEADS, RUNS)
def test_bytes_are_those_of_the_stock_codec(head: Head, runs: Runs) -> None:
    *columns, headers = columns_of(runs)
    columns = [[int(value) for value in column] for column in columns]
    if headers is not None:  # behind the payloads, where no offset reaches
        columns[-1] += [0] * (-len(columns[-1]) % 4) + list(headers.encode())
    stock: Any = idl_type(Sample)(*head, *columns)
    encoded = encode_items(*head, runs)
    plain = stock.serialize()
    assert encoded == plain.ljust(len(plain) + -len(plain) % 4, b"\0")
    assert idl_type(Sample).deserialize(encoded) == stock
    assert runs_of(Sample(plain)) == runs


@some_hundred
@given(HEADS, RUNS)
def test_one_item_and_columns_encode_alike(head: Head, runs: Runs) -> None:
    assert encode_sample(*head, *columns_of(runs)) == encode_items(*head, runs)
    slice_id, (first, [item, *_]) = next(iter(runs.items()))
    alone = encode_items(*head, {slice_id: (first, [item])})
    assert encode_item(*head, slice_id, first, item, given_headers(item.headers)) == alone


@some_hundred
@given(HEADS, RUNS, st.data())
def test_some_slices_alone_are_the_same_items(head: Head, runs: Runs, data: st.DataObject) -> None:
    sample = Sample(encode_items(*head, runs))
    wanted = data.draw(st.sets(st.sampled_from(sorted(runs)), min_size=1))
    part = sample.only([slice_id in wanted for slice_id in sorted(runs)])
    kept = runs_of(part)
    assert {slice_id: kept[slice_id] for slice_id in wanted} == {s: runs[s] for s in wanted}
    assert (part.writer, part.serial, part.epoch) == head
    rows = sum(len(runs[s][1]) for s in wanted)
    if part is sample:
        assert 2 * rows >= sample.count
    else:
        assert (part.count, part.size < sample.size, kept.keys()) == (rows, True, wanted)


def test_the_same_sample_lies_elsewhere() -> None:
    sample = sample_of(3, 1, 4)
    moved = sample.at(memoryview(bytearray(sample.encoded)))
    assert moved.encoded is not sample.encoded
    assert runs_of(moved) == runs_of(sample)
    assert runs_of(Sample(moved.encoded)) == runs_of(sample)
    assert (moved.serial, moved.count, moved.size) == (sample.serial, sample.count, sample.size)


# -- damage --------------------------------------------------------------------------------------


def damaged(encoded: bytes, other: bytes, rng: random.Random) -> bytes:
    """Bits flipped, cut, grown, numbers replaced, parts swapped or of another sample."""
    copy = bytearray(encoded)
    size, word = len(copy), 4 * rng.randrange(len(copy) // 4)
    match rng.randrange(7):
        case 0:
            return bytes(copy[: rng.randrange(size)])
        case 1:
            copy[rng.randrange(size)] ^= 1 << rng.randrange(8)
        case 2:
            numbers = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4), b"\1\0\0\0")
            copy[word : word + 4] = rng.choice(numbers)
        case 3:
            at = rng.randrange(size)
            copy[at:at] = rng.randbytes(rng.randrange(1, 9))
        case 4:
            elsewhere = 4 * rng.randrange(size // 4)
            one, two = copy[word : word + 4], copy[elsewhere : elsewhere + 4]
            copy[word : word + 4], copy[elsewhere : elsewhere + 4] = two, one
        case 5:
            copy[word : word + 8] = rng.randbytes(8)
        case _:
            at = rng.randrange(min(size, len(other)))
            copy[at:] = other[at:]
    if rng.random() < 0.3:
        return damaged(bytes(copy), other, rng) if copy else b""
    return bytes(copy)


def check(sample: Sample) -> None:
    """Everything of a sample can be read, and fits together."""
    slices, counts, firsts = (
        column.tolist() for column in (sample.slices, sample.counts, sample.firsts)
    )
    assert len(slices) == len(counts) == len(firsts) == sample.run_count > 0
    assert slices == sorted(set(slices))
    assert (sum(counts), min(counts) > 0, min(firsts) > 0) == (sample.count, True, True)
    assert all(0 < last < 2**63 for last in sample.lasts.tolist())
    rows = sample.rows
    assert len(rows.ids) == len(rows.times) == len(list(rows)) == sample.count
    for offsets, octets in (
        (rows.sender_offsets, rows.sender_buffer),
        (rows.payload_offsets, rows.payload_buffer),
    ):
        assert (len(offsets), int(offsets[0])) == (sample.count + 1, 0)
        assert int(offsets[-1]) == len(octets) <= sample.size
        assert (np.diff(offsets) >= 0).all()
    columns = (rows.senders, rows.ids.tolist(), rows.times.tolist(), rows.payloads, rows.headers)
    assert list(map(Item, *columns)) == list(rows)
    batches = sample.batches()
    assert sum(batch.payload_size for batch in batches) == rows.payload_size
    assert [item for batch in batches for item in batch] == list(rows)


SHAPES = [(1,), (7,), (1, 1), (3, 1, 4), (1,) * 12, (2, 9, 1)]


def survivors(number: int) -> int:
    """Damage samples; return how many could still be read."""
    rng = random.Random(number)
    encoded = [bytes(sample_of(*shape).encoded) for shape in SHAPES]
    taken = 0
    for _ in range(number):
        bad = damaged(rng.choice(encoded), rng.choice(encoded), rng)
        try:
            sample = Sample(bad)
        except DecodeError:
            continue
        check(sample)
        taken += 1
    return taken


def test_damage_makes_nobody_ask_for_much_memory() -> None:
    tracemalloc.start()
    assert survivors(1_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [4_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_damage_raises_nothing_but_a_decode_error(number: int) -> None:
    """What is taken can be read, and fits together."""
    assert 0.05 * number < survivors(number) < 0.6 * number


@pytest.mark.parametrize("counts", [(1,), (2,), (9,), (1, 1), (3, 9, 2)], ids=str)
def test_a_sample_cut_anywhere_is_refused(counts: tuple[int, ...]) -> None:
    encoded = sample_of(*counts).encoded
    padding = 3
    for end in range(len(encoded) - padding):
        with pytest.raises(DecodeError):
            Sample(encoded[:end])


FAULTS: dict[str, tuple[dict[int, list[int]], str]] = {
    "no runs": ({0: [], 1: [], 2: []}, "no items"),
    "an empty run": ({1: [0, 2]}, "without items"),
    "an empty run alone": ({0: [1], 1: [0], 2: [1]}, "0 items"),
    "a slice twice": ({0: [3, 3]}, "sorted"),
    "slices that descend": ({0: [3, 2]}, "sorted"),
    "numbered from 0": ({2: [0, 1]}, "impossible number"),
    "numbered from 0, alone": ({0: [1], 1: [2], 2: [0]}, "numbered from 0"),
    "numbered too high": ({2: [1, 2**63 - 1]}, "impossible number"),
    "numbered too high, alone": ({0: [1], 1: [2], 2: [2**64 - 1]}, "numbered from"),
    "more than there are": ({1: [2, 1]}, "announced"),
    "fewer than there are": ({0: [1], 1: [1], 2: [1]}, "announced"),
    "more counts than slices": ({1: [1, 1, 1]}, "announced|cut short"),
    "offsets that go backwards": ({7: [0, 5, 4]}, "offsets"),
    "offsets that do not begin": ({5: [1, 2, 4]}, "offsets"),
    "offsets beyond the end": ({5: [0, 2, 9]}, "offsets"),
    "too few offsets": ({5: [0, 4]}, "offsets|announced"),
}


@pytest.mark.parametrize(("changed", "why"), FAULTS.values(), ids=FAULTS)
def test_what_makes_no_sense_is_refused(changed: dict[int, list[int]], why: str) -> None:
    runs: Runs = {1: (1, [Item("ab", 1, 1, b"wx")]), 2: (1, [Item("cd", 2, 2, b"yz")])}
    columns = list(columns_of(runs))
    for at, column in changed.items():
        columns[at] = np.array(column, np.int32 if at in (5, 7) else np.uint64)
    with pytest.raises(DecodeError, match=why):
        Sample(encode_sample(1, 1, 1, *columns))


def test_columns_of_unequal_length_in_the_head_of_one_run_are_refused() -> None:
    columns = list(columns_of({1: (1, [Item("ab", 1, 1, b"wx")])}))
    columns[2] = [1, 1]
    with pytest.raises(DecodeError, match=r"announced|unequal|offsets|cut short"):
        Sample(encode_sample(1, 1, 1, *columns))


def test_another_encapsulation_is_refused_and_header_options_are_not() -> None:
    encoded = bytes(sample_of(2, 1).encoded)
    with pytest.raises(DecodeError, match="encapsulation"):
        Sample(b"\x00\x07\x00\x00" + encoded[4:])
    assert runs_of(Sample(b"\x00\x01\x00\x02" + encoded[4:])) == runs_of(sample_of(2, 1))


def test_a_sender_that_is_no_utf8_does_not_spoil_the_sample() -> None:
    encoded = bytes(sample_of(1, 1).encoded).replace(b"s0s1", b"\xff0s1")
    assert [item.sender for item in Sample(encoded).rows] == ["\ufffd0", "s1"]
