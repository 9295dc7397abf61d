"""Batches that may still grow."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.open_batches import (
    BATCH_OVERHEAD,
    ITEM_OVERHEAD,
    OpenBatches,
    OpenTables,
    cut,
    item_size,
)

from .items import columns_of, item, table_of


def test_counts_the_bytes_of_what_waits() -> None:
    open_batches = OpenBatches(batch_items=10, batch_bytes=10_000, linger_s=1.0)
    open_batches.add(1, item(1), 0.0)
    open_batches.add(1, item(2), 0.0)
    assert open_batches.size == 2 * item_size(item()) - BATCH_OVERHEAD
    assert [one.id for one in open_batches.take(1)] == [1, 2]
    assert (open_batches.size, bool(open_batches), open_batches.take(1)) == (0, False, [])


def test_the_eldest_batch_is_due_first() -> None:
    open_batches = OpenBatches(batch_items=10, batch_bytes=10_000, linger_s=1.0)
    open_batches.add(3, item(), 0.0)
    open_batches.add(1, item(), 0.5)
    open_batches.add(3, item(), 0.9)
    assert (open_batches.deadline(), open_batches.slices()) == (1.0, [3, 1])
    assert (open_batches.due(0.9), open_batches.due(1.0)) == ([], [3])


def test_an_item_that_does_not_fit_closes_the_batch_before_it() -> None:
    small, large = item(1), item(2, 9_990)
    open_batches = OpenBatches(batch_items=10, batch_bytes=10_000, linger_s=1.0)
    assert open_batches.add(0, small, 0.0) == []
    assert open_batches.add(0, large, 0.0) == [[small], [large]]


def test_tables_are_divided_into_slices_together() -> None:
    tables = OpenTables()
    assert list(tables.take()) == []
    tables.add(*table_of([(2, 1), (0, 2)]))
    tables.add(*table_of([(2, 3)]))
    assert tables.items == 3
    taken = {slice_id: columns.ids.tolist() for slice_id, columns in tables.take()}
    assert taken == {0: [2], 2: [1, 3]}
    assert (tables.items, tables.size, bool(tables)) == (0, 0, False)


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=30),
    items=st.integers(1, 10),
    limit=st.integers(BATCH_OVERHEAD + ITEM_OVERHEAD, 1_000),
)
def test_parts_are_as_large_as_they_may_be(sizes: list[int], items: int, limit: int) -> None:
    whole = [item(number, size) for number, size in enumerate(sizes)]
    parts = [part.ids.tolist() for part in cut(columns_of(whole), items, limit)]
    assert [number for part in parts for number in part] == list(range(len(sizes)))

    def size_of(part: list[int]) -> int:
        return BATCH_OVERHEAD + sum(item_size(whole[n]) - BATCH_OVERHEAD for n in part)

    for part in parts:
        assert len(part) <= items
        assert len(part) == 1 or size_of(part) <= limit
    for part, following in pairwise(parts):
        assert len(part) == items or size_of([*part, following[0]]) > limit
