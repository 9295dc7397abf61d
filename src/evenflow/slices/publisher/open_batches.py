"""The batches that may still grow: by count, by bytes, and by how long items may wait.

Single items gather in one open batch for each slice. Items that come as columns are many
already and are only cut to size; where few of them may wait for more, the tables they came in
are kept whole and divided into slices together. A batch is never larger than its limit, unless a
single item is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.batch import Int32s, Item, encode_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.slices.publisher.columns import Columns, Table

ITEM_OVERHEAD: Final = 24
"""Bytes an item adds to its batch besides sender and payload: id, time and two offsets."""
BATCH_OVERHEAD: Final = len(encode_item(0, 0, 0, 1, Item("", 0, 0, b""))) - ITEM_OVERHEAD + 6
"""Bytes of a batch besides its items, at most (two columns are padded)."""


def item_size(item: Item) -> int:
    """Bytes an item takes at most when it is alone in its batch."""
    return BATCH_OVERHEAD + _size_in_batch(item)


def _size_in_batch(item: Item) -> int:
    return ITEM_OVERHEAD + len(item.sender.encode()) + len(item.payload)


@dataclass(slots=True)
class _OpenBatch:
    """Items of a slice that wait for company."""

    deadline: float
    items: list[Item]
    size: int


class OpenBatches:
    """The batches that may still grow, one for each slice.

    Args:
        batch_items: Items that fill a batch.
        batch_bytes: Bytes that fill a batch.
        linger_s: How long the first item of a batch may wait.
    """

    __slots__ = ("_batch_bytes", "_batch_items", "_batches", "_linger_s", "size")

    def __init__(self, batch_items: int, batch_bytes: int, linger_s: float) -> None:
        self._batch_items = batch_items
        self._batch_bytes = batch_bytes
        self._linger_s = linger_s
        # Insertion order is the order of deadlines, because all batches linger equally long.
        self._batches: dict[int, _OpenBatch] = {}
        self.size = 0
        """Bytes of all open batches, at most."""

    def add(self, slice_id: int, item: Item, now: float) -> list[list[Item]]:
        """Add an item; return the batches of its slice that are full now, in order."""
        full = []
        size = _size_in_batch(item)
        batch = self._batches.get(slice_id)
        if batch is not None and batch.size + size > self._batch_bytes:
            full.append(self.take(slice_id))
            batch = None
        if batch is None:
            batch = self._batches[slice_id] = _OpenBatch(now + self._linger_s, [], 0)
            size += BATCH_OVERHEAD
        batch.items.append(item)
        batch.size += size
        self.size += size
        if len(batch.items) >= self._batch_items or batch.size >= self._batch_bytes:
            full.append(self.take(slice_id))
        return full

    def take(self, slice_id: int) -> list[Item]:
        """Take the items of a slice's open batch out; empty when it has none."""
        batch = self._batches.pop(slice_id, None)
        if batch is None:
            return []
        self.size -= batch.size
        return batch.items

    def deadline(self) -> float | None:
        """When the next batch has lingered long enough."""
        return next((batch.deadline for batch in self._batches.values()), None)

    def due(self, now: float) -> list[int]:
        """The slices whose batches have lingered long enough."""
        return [slice_id for slice_id, batch in self._batches.items() if batch.deadline <= now]

    def slices(self) -> list[int]:
        """The slices that have an open batch, the eldest first."""
        return list(self._batches)

    def __bool__(self) -> bool:
        return bool(self._batches)


class OpenTables:
    """Tables that wait for company, all slices together."""

    __slots__ = ("_slices", "_tables", "items", "size")

    def __init__(self) -> None:
        self._tables: list[Table] = []
        self._slices: list[Int32s] = []
        self.items = 0
        self.size = 0

    def add(self, table: Table, slices: Int32s, size: int) -> None:
        """Let items wait that take at most ``size`` bytes; they may not be changed any more."""
        self._tables.append(table)
        self._slices.append(slices)
        self.items += len(table)
        self.size += size

    def take(self) -> Iterator[tuple[int, Columns]]:
        """Take all items out, those of each slice in the order they came."""
        tables, slices = self._tables, self._slices
        self._tables, self._slices = [], []
        self.items = self.size = 0
        return tables[0].joined(tables).by_slice(np.concatenate(slices)) if tables else iter(())

    def __bool__(self) -> bool:
        return bool(self._tables)


def cut(columns: Columns, batch_items: int, batch_bytes: int) -> Iterator[Columns]:
    """Cut columns into parts of at most this number of items and bytes, as a batch may have."""
    count = len(columns.ids)
    ends = columns.sender_offsets + columns.payload_offsets
    ends = ends + np.arange(count + 1, dtype=np.int64) * ITEM_OVERHEAD
    start = 0
    while start < count:
        allowed = int(ends[start]) + batch_bytes - BATCH_OVERHEAD
        fitting = int(np.searchsorted(ends, allowed, side="right")) - 1
        end = min(max(fitting, start + 1), start + batch_items, count)
        yield columns.part(start, end)
        start = end
