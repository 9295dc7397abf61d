"""Rows and batches: views of a sample that show what they are meant to, and nothing else."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item, Rows, offsets_of
from evenflow.model.sample import Sample
from evenflow.testing.samples import encode_items

some_hundred = settings(max_examples=min(300, settings.default.max_examples))
"""Enough for a pure function of a few fields, whatever the profile."""

NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
I64 = st.integers(-(2**63), 2**63 - 1)
HEADERS = st.just({}) | st.dictionaries(NAME.filter(bool), st.binary(max_size=9), max_size=4)
ITEM = st.builds(Item, NAME, I64, I64, st.binary(max_size=50), HEADERS)
ITEMS = st.lists(ITEM, min_size=1, max_size=30)


def batch_of(items: list[Item], first: int = 10) -> Batch:
    """A batch that has other slices before and behind it in its sample."""
    others = [Item("other", -1, -1, b"no", {"of": b"others"}), Item("", -2, -2, b"")]
    runs = {1: (1, others), 2: (first, items), 3: (7, others)}
    return Sample(encode_items(9, 4, 6, runs)).batches()[1]


@some_hundred
@given(ITEMS)
def test_a_batch_shows_the_items_of_its_slice(items: list[Item]) -> None:
    batch = batch_of(items)
    assert list(batch) == items
    assert (batch.writer, batch.slice, batch.epoch, batch.sample.serial) == (9, 2, 6, 4)
    assert (batch.first, batch.last) == (10, 9 + len(items))
    assert len(batch) == batch.count == len(items)
    assert batch.ids.tolist() == [item.id for item in items]
    assert batch.times.tolist() == [item.time for item in items]
    assert batch.first_time == items[0].time
    assert batch.payload_size == sum(len(item.payload) for item in items)
    assert len(batch.sender_offsets) == len(batch.payload_offsets) == len(items) + 1


@some_hundred
@given(ITEMS)
def test_plain_columns_are_the_same_items(items: list[Item]) -> None:
    ids, times, name_lengths, names, lengths, payloads = batch_of(items).plain()
    assert bytes(ids) == b"".join(item.id.to_bytes(8, "little", signed=True) for item in items)
    assert bytes(times) == b"".join(item.time.to_bytes(8, "little", signed=True) for item in items)
    name_ends, ends = list(accumulate(name_lengths)), list(accumulate(lengths))
    found = [
        (
            bytes(names[name_ends[i] - name_lengths[i] : name_ends[i]]).decode(),
            bytes(payloads[ends[i] - lengths[i] : ends[i]]),
        )
        for i in range(len(items))
    ]
    assert found == [(item.sender, item.payload) for item in items]
    assert (len(names), len(payloads)) == (name_ends[-1], ends[-1])


@some_hundred
@given(ITEMS, st.data())
def test_a_part_is_the_same_items(items: list[Item], data: st.DataObject) -> None:
    whole = batch_of(items)
    first = data.draw(st.integers(10, whole.last))
    last = data.draw(st.integers(first, whole.last))
    part = whole.between(first, last)
    assert list(part) == items[first - 10 : last - 9]
    assert (part.first, part.last, part.count) == (first, last, last - first + 1)
    assert part.payload_size == sum(len(item.payload) for item in items[first - 10 : last - 9])
    assert part.first_time == items[first - 10].time
    again = data.draw(st.integers(first, last))
    assert list(part.between(again, last + 5)) == items[again - 10 : last - 9]
    rows = Rows(whole.sample, part.begin, part.count)
    assert (list(rows), rows.payload_size) == (list(part), part.payload_size)


def test_a_part_that_is_everything_is_the_batch_itself() -> None:
    batch = batch_of([Item("s", 1, 1, b"x")] * 5)
    assert batch.between(0, 99) is batch


def test_a_part_with_nothing_in_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="no item between"):
        batch_of([Item("s", 1, 1, b"x")] * 5).between(19, 22)


def test_offsets_are_one_more_than_lengths() -> None:
    assert offsets_of([]).tolist() == [0]
    assert offsets_of([2, 0, 5]).tolist() == [0, 2, 2, 7]
