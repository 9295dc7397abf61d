from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.slices.consumer.arrow_batches import SCHEMA, record_batch, record_batches

ITEMS = st.builds(
    Item,
    st.text(max_size=5),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-(1 << 55), 1 << 55),
    st.binary(max_size=9),
)


def batch(slice_id: int, items: list[Item], first: int = 1) -> Batch:
    return Batch(encode_items(7, slice_id, 1, first, items))


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(ITEMS, min_size=1, max_size=5)), min_size=1))
def test_every_item_is_a_row(parts: list[tuple[int, list[Item]]]) -> None:
    record = record_batch([batch(slice_id, items) for slice_id, items in parts])
    record.validate(full=True)
    assert record.schema == SCHEMA
    time = record.column("time").cast("int64").to_pylist()
    columns = [record.column(name).to_pylist() for name in ("slice", "sender", "id", "payload")]
    slices, senders, ids, payloads = columns
    rows = list(zip(slices, senders, ids, time, payloads, strict=True))
    assert rows == [(slice_id, *item) for slice_id, items in parts for item in items]


def test_a_part_of_a_batch_gives_its_rows_alone() -> None:
    whole = batch(3, [Item(f"s{i}", i, i, bytes([i])) for i in range(1, 6)])
    record = record_batch([whole.between(2, 4)])
    assert record.column("id").to_pylist() == [2, 3, 4]
    assert record.column("sender").to_pylist() == ["s2", "s3", "s4"]
    assert record.column("payload").to_pylist() == [b"\2", b"\3", b"\4"]


def test_small_batches_are_joined_up_to_a_bound() -> None:
    batches = [batch(i, [Item("s", i, 0, b"x")] * 3, first=1) for i in range(5)]
    joined = list(record_batches(batches, rows=7))
    assert [record.num_rows for record, _ in joined] == [6, 6, 3]
    assert [[part.slice for part in parts] for _, parts in joined] == [[0, 1], [2, 3], [4]]
    assert list(record_batches([])) == []


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_small_and_large_batches_go_together(counts: list[int]) -> None:
    batches = []
    for count in counts:
        items = [Item(f"s{i}", i, -i, b"p" * i) for i in range(count)]
        batches.append(batch(count, items))
    record = record_batch(batches)
    record.validate(full=True)
    expected = [item for one in batches for item in one]
    assert record.column("sender").to_pylist() == [item.sender for item in expected]
    assert record.column("payload").to_pylist() == [item.payload for item in expected]
    assert record.column("id").to_pylist() == [item.id for item in expected]
    assert record.column("time").cast("int64").to_pylist() == [item.time for item in expected]
