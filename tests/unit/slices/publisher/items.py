"""Items for the tests of the publisher, and what came of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenflow.model.batch import Batch, Int32s, Item, offsets_of
from evenflow.slices.publisher.batching import Limits, SealedBatch
from evenflow.slices.publisher.columns import Columns, Table, payload_column, sender_column
from evenflow.slices.publisher.open_batches import item_size

AT_ONCE = Limits(
    batch_items=100, batch_bytes=10_000, linger_s=0.0, retention_bytes=1 << 20, epoch_s=0.1
)
LINGER = replace(AT_ONCE, linger_s=0.005)


def item(number: int = 0, size: int = 10) -> Item:
    return Item("someone", number, 0, bytes(size))


def columns_of(items: list[Item]) -> Columns:
    names = [one.sender.encode() for one in items]
    payloads = [one.payload for one in items]
    return Columns(
        np.array([one.id for one in items], np.int64),
        np.array([one.time for one in items], np.int64),
        offsets_of([len(name) for name in names]),
        memoryview(b"".join(names)),
        offsets_of([len(payload) for payload in payloads]),
        memoryview(b"".join(payloads)),
    )


def table_of(placed: list[tuple[int, int]]) -> tuple[Table, Int32s, int]:
    """A table of items given as (slice, id), their slices, and their bytes."""
    ids = np.array([number for _, number in placed], np.int64)
    senders = sender_column("someone", len(placed))
    table = Table(ids, np.zeros_like(ids), senders, payload_column([bytes(10)] * len(placed)))
    slices = np.array([slice_id for slice_id, _ in placed], np.int32)
    return table, slices, len(placed) * item_size(item())


def ids_in(sealed: list[SealedBatch]) -> list[int]:
    return [one.id for batch in sealed for one in Batch(batch.encoded)]


def ranges(sealed: list[SealedBatch]) -> list[tuple[int, int, int]]:
    batches = [Batch(one.encoded) for one in sealed]
    assert [batch.slice for batch in batches] == [one.slice for one in sealed]
    return [(batch.slice, batch.first, batch.last) for batch in batches]
