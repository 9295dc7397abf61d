"""When items become batches: by count, by bytes, by time, and when they are too many to keep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenflow.model.batch import Batch, Item
from evenflow.slices.publisher.batching import Batching, Limits
from evenflow.slices.publisher.open_batches import item_size
from evenflow.slices.spill import Spill

from .items import AT_ONCE, LINGER, columns_of, item, ranges


def batching_with(limits: Limits = AT_ONCE) -> Batching:
    return Batching(0xFEED, 4, limits)


def test_without_linger_every_item_is_a_batch_at_once() -> None:
    batching = batching_with()
    assert ranges(batching.add(2, item(), 0.0)) == [(2, 1, 1)]
    assert ranges(batching.add(2, item(), 0.0)) == [(2, 2, 2)]
    assert ranges(batching.add(0, item(), 0.0)) == [(0, 1, 1)]


def test_by_count() -> None:
    batching = batching_with(replace(LINGER, batch_items=3))
    sealed = [batching.add(1, item(n), 0.0) for n in range(4)]
    assert [ranges(one) for one in sealed] == [[], [], [(1, 1, 3)], []]


def test_by_bytes_never_above_the_limit() -> None:
    limit = 3 * item_size(item())
    batching = batching_with(replace(LINGER, batch_bytes=limit))
    sealed = [one for n in range(50) for one in batching.add(1, item(n), 0.0)]
    assert sealed
    assert all(len(one.encoded) <= limit for one in sealed)


def test_an_item_above_the_limit_is_a_batch_alone() -> None:
    batching = batching_with(replace(LINGER, batch_bytes=1_000))
    assert batching.add(1, item(1, 10), 0.0) == []
    assert ranges(batching.add(1, item(2, 5_000), 0.0)) == [(1, 1, 1), (1, 2, 2)]


def test_by_linger_counted_from_the_first_item() -> None:
    batching = batching_with(LINGER)
    batching.add(1, item(), 1.000)
    batching.add(1, item(), 1.004)
    batching.add(2, item(), 1.004)
    assert batching.deadline() == 1.005
    assert batching.seal_due(1.0049) == []
    assert ranges(batching.seal_due(1.005)) == [(1, 1, 2)]
    assert batching.deadline() == 1.009


def test_by_flush() -> None:
    batching = batching_with(LINGER)
    batching.add(3, item(), 0.0)
    batching.add(1, item(), 0.0)
    assert ranges(batching.flush()) == [(3, 1, 1), (1, 1, 1)]
    assert batching.flush() == []


def test_a_batch_never_spans_epochs() -> None:
    batching = batching_with(LINGER)
    batching.add(1, item(), 0.0)
    first = batching.flush()
    assert batching.next_epoch()
    batching.add(1, item(), 0.0)
    second = batching.flush()
    assert [Batch(one.encoded).epoch for one in first + second] == [1, 2]


def test_columns_come_after_what_was_waiting() -> None:
    batching = batching_with(replace(LINGER, batch_items=3))
    batching.add(1, item(100), 0.0)
    sealed = batching.add_columns(1, columns_of([item(n) for n in range(5)]))
    assert ranges(sealed) == [(1, 1, 1), (1, 2, 4), (1, 5, 6)]
    ids = [one.id for batch in sealed for one in Batch(batch.encoded)]
    assert ids == [100, 0, 1, 2, 3, 4]


def test_columns_keep_to_the_bytes_of_a_batch() -> None:
    batching = batching_with(replace(LINGER, batch_bytes=1_000))
    items = [
        Item(f"s{n}", n, n, bytes([n]) * size) for n, size in enumerate([300] * 9 + [4_000, 1])
    ]
    sealed = batching.add_columns(0, columns_of(items))
    batches = [Batch(one.encoded) for one in sealed]
    assert [one for batch in batches for one in batch] == items
    assert all(batch.size <= 1_000 or batch.count == 1 for batch in batches)
    assert len(batches) < len(items)


def test_an_epoch_without_items_does_not_end() -> None:
    batching = batching_with()
    assert not batching.next_epoch()
    batching.add(1, item(), 0.0)
    assert batching.has_items
    assert batching.next_epoch()
    assert (batching.epoch, batching.has_items) == (2, False)


def test_a_full_disk_ends_the_room_until_memory_has_some_again(tmp_path: Path) -> None:
    size = item_size(item(size=1_000))
    limits = replace(AT_ONCE, retention_bytes=2 * size)
    batching = Batching(0xFEED, 4, limits, spill=Spill(tmp_path, 3 * size))
    for number in range(5):
        assert batching.has_room(size)
        batching.add(1, item(number, 1_000), 0.0)
    assert not batching.has_room(size)
    batching.retention.commit(1, 4)
    batching.add(1, item(5, 1_000), 0.0)
    assert batching.has_room(size)
