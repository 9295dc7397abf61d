"""A batch of a served topic has the columns and items that a node's application would see."""

from __future__ import annotations

import pyarrow as pa
import pytest

from evenflow.model.batch import Item
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.sample import Sample
from evenflow.slices.consumer import served_batch
from evenflow.slices.consumer.arrow_batches import record_batch
from evenflow.slices.consumer.pieces import pieces_of
from evenflow.slices.consumer.row_numbers import NUMBERED, numbered, spans_of
from evenflow.slices.consumer.served_batch import ServedBatch, items_of, joined
from evenflow.testing.samples import encode_items

WRITER = (1 << 64) - 5
ITEMS = [Item(f"sender-{n}", 100 + n, 1_000_000 + n, b"x" * n) for n in range(5)]
END = Position({WRITER: 3})


def served(first: int = 1) -> ServedBatch:
    runs = {2: (first, ITEMS[:2]), 7: (first, ITEMS[2:])}
    batches = Sample(encode_items(WRITER, 1, 1, runs)).batches()
    spans = spans_of(list(pieces_of(batches)))
    return ServedBatch(numbered(record_batch(batches), spans), NOWHERE, END)


def test_items_come_as_they_were_published() -> None:
    batch = served()
    assert (len(batch), list(batch)) == (5, ITEMS)
    assert list(items_of(pa.Table.from_batches([batch.rows]))) == ITEMS


def test_columns_have_the_names_they_have_at_a_node() -> None:
    batch = served(first=4)
    assert batch.ids.tolist() == [item.id for item in ITEMS]
    assert batch.times.tolist() == [item.time for item in ITEMS]
    assert batch.slices.tolist() == [2, 2, 7, 7, 7]
    assert batch.writers.tolist() == [WRITER] * 5
    assert batch.numbers.tolist() == [4, 5, 4, 5, 6]
    assert bytes(batch.payload_buffer) == b"".join(item.payload for item in ITEMS)
    assert batch.payload_offsets.tolist() == [0, 0, 1, 3, 6, 10]
    assert bytes(batch.sender_buffer) == b"".join(item.sender.encode() for item in ITEMS)
    assert batch.sender_offsets.tolist() == [0, 8, 16, 24, 32, 40]
    assert str(batch.position) in repr(batch)


def test_lists_have_an_entry_for_each_item_at_a_node_and_at_a_consumer() -> None:
    at_node, item = Sample(encode_items(WRITER, 1, 1, {2: (1, ITEMS)})).batches()[0], ITEMS[2]
    for batch in (served(), at_node, at_node.between(1, 5)):
        assert (batch.senders, batch.payloads, batch.headers) == (
            [one.sender for one in ITEMS],
            [one.payload for one in ITEMS],
            [one.headers for one in ITEMS],
        )
    part = at_node.between(3, 3)
    assert (part.senders, part.payloads, part.headers) == ([item.sender], [item.payload], [{}])


def test_a_part_of_the_rows_points_into_the_same_bytes() -> None:
    whole = served()
    part = ServedBatch(whole.rows.slice(3), NOWHERE, END)
    assert list(part) == ITEMS[3:]
    begin, end = part.payload_offsets[:2].tolist()
    assert bytes(part.payload_buffer[begin:end]) == ITEMS[3].payload


def test_a_batch_without_items_has_columns_too() -> None:
    batch = ServedBatch(pa.RecordBatch.from_pylist([], NUMBERED), NOWHERE, END)
    assert (len(batch), list(batch), batch.payloads, batch.headers) == (0, [], [], [])


def test_a_sender_that_is_no_text_does_no_harm() -> None:
    rows = served().rows
    odd = pa.array([b"\xff"] * 5, pa.binary()).view(pa.string())
    odd_rows = pa.RecordBatch.from_arrays(
        [*rows.columns[:3], odd, *rows.columns[4:]], NUMBERED.names
    )
    assert next(iter(ServedBatch(odd_rows, NOWHERE, END))).sender == "\ufffd"


def test_parts_are_joined_in_their_order() -> None:
    rows = served().rows
    assert joined([rows.slice(0, 2), rows.slice(2)]).equals(rows)
    assert joined([]).num_rows == 0
    assert joined([]).schema == NUMBERED


def test_a_batch_that_is_too_large_for_32_bits_has_wide_offsets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served_batch, "MOST_OCTETS", 10)
    rows = served().rows
    batch = ServedBatch(joined([rows.slice(0, 2), rows.slice(2)]), NOWHERE, END)
    assert batch.rows.column("payload").type == pa.large_binary()
    assert batch.payload_offsets.tolist() == [0, 0, 1, 3, 6, 10]
    assert bytes(batch.payload_buffer) == b"".join(item.payload for item in ITEMS)
    assert list(batch) == ITEMS
