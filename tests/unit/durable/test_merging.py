"""The archive and the nodes as one stream: every item once and in order, whatever comes when."""

from __future__ import annotations

import random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from evenflow.durable.merging import Merging
from evenflow.model.ids import Position
from evenflow.slices.consumer.row_numbers import NUMBERED


def rows(items: list[tuple[int, int, int]]) -> pa.RecordBatch:
    """Rows of (slice, writer, number)."""
    return pa.RecordBatch.from_pydict(
        {
            "writer": [writer for _, writer, _ in items],
            "number": [number for _, _, number in items],
            "slice": [slice_id for slice_id, _, _ in items],
            "sender": ["s"] * len(items),
            "id": [number for _, _, number in items],
            "time": [0] * len(items),
            "payload": [b""] * len(items),
        },
        schema=NUMBERED,
    )


def table(items: list[tuple[int, int, int]]) -> pa.Table:
    return pa.Table.from_batches([rows(items)])


def seen(found: pa.Table | None) -> list[tuple[int, int, int]]:
    if found is None:
        return []
    columns = (found.column(name).to_pylist() for name in ("slice", "writer", "number"))
    return list(zip(*columns, strict=True))


def test_what_came_before_is_left_out_and_what_comes_too_early_is_left_for_later() -> None:
    merging = Merging()
    assert seen(merging.archived(table([(1, 5, 1), (1, 5, 2)]), Position({5: 1}))) == [
        (1, 5, 1),
        (1, 5, 2),
    ]
    early = merging.live([rows([(1, 5, 4), (2, 5, 1)])], Position({5: 3}))
    assert seen(early) == [(2, 5, 1)]
    assert merging.position == {5: 1}
    assert merging.early == 1
    nodes = merging.live([rows([(1, 5, 2), (1, 5, 3), (1, 5, 4)])], Position({5: 3}))
    assert seen(nodes) == [(1, 5, 3), (1, 5, 4)]
    assert merging.position == {5: 3}
    assert seen(merging.archived(table([(1, 5, 3), (1, 5, 4), (2, 5, 1)]), Position({5: 3}))) == []
    assert merging.repeated == 4


def test_a_reader_that_begins_in_the_middle_begins_with_the_archive() -> None:
    merging = Merging()
    assert seen(merging.live([rows([(1, 5, 9)])], Position({5: 3}))) == []
    assert seen(merging.archived(table([(1, 5, 8), (1, 5, 9)]), Position({5: 3}))) == [
        (1, 5, 8),
        (1, 5, 9),
    ]
    assert seen(merging.live([rows([(1, 5, 10)])], Position({5: 4}))) == [(1, 5, 10)]


def drawn(
    rng: random.Random, epochs: int
) -> tuple[list[list[tuple[int, int, int]]], dict[int, int]]:
    """The items of each epoch of writer 5, and the last number of each slice."""
    numbers = dict.fromkeys(range(3), 0)
    stream = []
    for _ in range(epochs):
        items = []
        for slice_id in numbers:
            for _ in range(rng.randint(0, 2)):
                numbers[slice_id] += 1
                items.append((slice_id, 5, numbers[slice_id]))
        stream.append(items)
    return stream, numbers


@given(seed=st.integers(0, 2**32 - 1), epochs=st.integers(1, 12))
def test_every_item_comes_once_and_in_order(seed: int, epochs: int) -> None:
    """An archiver that writes twice, nodes that forget, a reader that asks at any time."""
    rng = random.Random(seed)
    stream, numbers = drawn(rng, epochs)
    merging, found = Merging(), list[tuple[int, int, int]]()
    published = stored = 0

    def ordered(first: int, last: int) -> list[tuple[int, int, int]]:
        return sorted(item for items in stream[first:last] for item in items)

    while stored < epochs:
        act = rng.choice(["publish", "archive", "again", "nodes"])
        if act == "publish":
            published = min(epochs, published + 1)
        elif act == "archive" and stored < published:
            begin, stored = stored, rng.randint(stored + 1, published)
            found += seen(merging.archived(table(ordered(begin, stored)), Position({5: stored})))
        elif act == "again" and stored:
            begin = rng.randrange(stored)
            found += seen(merging.archived(table(ordered(begin, stored)), Position({5: stored})))
        elif act == "nodes":
            # They have forgotten what is stored, perhaps; the question says where it begins.
            kept = max(merging.position.get(5, 0), rng.choice([0, stored]))
            found += seen(merging.live([rows(ordered(kept, published))], Position({5: published})))
    assert sorted(found) == ordered(0, epochs)
    for slice_id in numbers:
        mine = [number for where, _, number in found if where == slice_id]
        assert mine == list(range(1, numbers[slice_id] + 1))
