"""Where a publisher's items become batches: numbered, encoded once, and kept.

An item waits in the open batch of its slice until the batch is sealed: by count, by bytes, when its
linger is over, by a flush, or because the epoch ends. Sealing gives the items their numbers. A
sealed batch is kept until it is committed, in memory and, when there is a
:class:`~evenflow.slices.spill.Spill`, on disk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenflow.model.batch import Item, encode_columns, encode_item, encode_items
from evenflow.slices.publisher.open_batches import OpenBatches, OpenTables, cut
from evenflow.slices.publisher.retention import Retention

if TYPE_CHECKING:
    from evenflow.model.batch import Encoded, Int32s
    from evenflow.slices.publisher.columns import Columns, Table
    from evenflow.slices.spill import Spill


@dataclass(frozen=True, slots=True)
class Limits:
    """When batches are sealed, and how much is kept."""

    batch_items: int
    """Most items in a batch."""
    batch_bytes: int
    """Most bytes of a batch, unless a single item is larger."""
    linger_s: float
    """How long an item may wait for company; 0 = every item is its own batch, at once."""
    retention_bytes: int
    """Bytes of uncommitted batches that may be kept in memory."""
    epoch_s: float
    """How long an epoch lasts, from its first item."""


class SealedBatch(NamedTuple):
    """A batch to be written into its slice's partition."""

    slice: int
    encoded: bytes


class Batching:
    """The open batches of one writer, and the sealed ones that are kept.

    Args:
        writer: The writer.
        slice_count: How many slices there are.
        limits: When batches are sealed, and how much is kept.
        served: Of a served topic nothing can be read before its epoch is closed, so items wait for
            company until then.
        spill: Takes what memory has no room for.
    """

    def __init__(
        self,
        writer: int,
        slice_count: int,
        limits: Limits,
        *,
        served: bool = False,
        spill: Spill | None = None,
    ) -> None:
        self.retention = Retention(slice_count)
        self.epoch = 1
        """The epoch that new items go into."""
        self._writer = writer
        self._limits = limits
        self._spill = spill
        self._spill_full = False
        self._sealed_in_epoch = False
        self._gathers = served and limits.linger_s > 0
        linger_s = math.inf if self._gathers else limits.linger_s
        # At most one of these two holds items, so that those of a slice stay in order.
        self._open = OpenBatches(limits.batch_items, limits.batch_bytes, linger_s)
        self._tables = OpenTables()

    @property
    def kept(self) -> int:
        """Bytes of everything uncommitted, what waits included."""
        return self.retention.size + self._open.size + self._tables.size

    @property
    def has_items(self) -> bool:
        """Whether the epoch has items."""
        return bool(self._open or self._tables or self._sealed_in_epoch)

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes may be kept."""
        room = self._limits.retention_bytes
        if self._spill is not None and not self._spill_full:
            room += self._spill.limit
        return self.kept + size <= room

    def gathers(self, count: int, size: int) -> bool:
        """Whether ``count`` items of ``size`` bytes together are few enough to wait for more."""
        limits = self._limits
        return self._gathers and count < limits.batch_items and size < limits.batch_bytes

    def add(self, slice_id: int, item: Item, now: float) -> list[SealedBatch]:
        """Take one item; return the batches that are sealed by it."""
        limits = self._limits
        if limits.linger_s <= 0 or limits.batch_items == 1:
            number = self.retention.newest(slice_id) + 1
            encoded = encode_item(self._writer, slice_id, self.epoch, number, item)
            return [self._keep(slice_id, 1, encoded)]
        sealed = self._seal_tables()
        full = self._open.add(slice_id, item, now)
        return sealed + [self._seal(slice_id, items) for items in full]

    def add_columns(self, slice_id: int, columns: Columns) -> list[SealedBatch]:
        """Take many items of one slice; they are sealed at once, after what was waiting."""
        sealed = self._seal_tables()
        waiting = self._open.take(slice_id)
        if waiting:
            sealed.append(self._seal(slice_id, waiting))
        return sealed + self._seal_columns(slice_id, columns)

    def add_table(self, table: Table, slices: Int32s, size: int) -> list[SealedBatch]:
        """Take items of any slices, few enough to wait; nobody may change them any more."""
        sealed = self._seal_batches()
        self._tables.add(table, slices, size)
        if not self.gathers(self._tables.items, self._tables.size):
            sealed += self._seal_tables()
        return sealed

    def deadline(self) -> float | None:
        """When ``seal_due`` is due next; None when nothing lingers."""
        return self._open.deadline()

    def seal_due(self, now: float) -> list[SealedBatch]:
        """Seal the open batches whose linger is over."""
        return [self._seal(slice_id, self._open.take(slice_id)) for slice_id in self._open.due(now)]

    def flush(self) -> list[SealedBatch]:
        """Seal everything that waits."""
        return self._seal_tables() + self._seal_batches()

    def next_epoch(self) -> bool:
        """Begin another epoch, after a flush; False when this one has no items."""
        if not self._sealed_in_epoch:
            return False
        self._sealed_in_epoch = False
        self.epoch += 1
        return True

    def _seal_batches(self) -> list[SealedBatch]:
        return [self._seal(slice_id, self._open.take(slice_id)) for slice_id in self._open.slices()]

    def _seal_tables(self) -> list[SealedBatch]:
        return [
            sealed
            for slice_id, columns in self._tables.take()
            for sealed in self._seal_columns(slice_id, columns)
        ]

    def _seal_columns(self, slice_id: int, columns: Columns) -> list[SealedBatch]:
        sealed = []
        for part in cut(columns, self._limits.batch_items, self._limits.batch_bytes):
            first = self.retention.newest(slice_id) + 1
            encoded = encode_columns(self._writer, slice_id, self.epoch, first, *part)
            sealed.append(self._keep(slice_id, len(part.ids), encoded))
        return sealed

    def _seal(self, slice_id: int, items: list[Item]) -> SealedBatch:
        first = self.retention.newest(slice_id) + 1
        encoded = encode_items(self._writer, slice_id, self.epoch, first, items)
        return self._keep(slice_id, len(items), encoded)

    def _keep(self, slice_id: int, count: int, encoded: bytes) -> SealedBatch:
        self.retention.keep(slice_id, count, self.epoch, self._placed(encoded))
        self._sealed_in_epoch = True
        return SealedBatch(slice_id, encoded)

    def _placed(self, encoded: bytes) -> Encoded:
        """A batch where there is room for it: in memory as long as little is kept, then on disk."""
        in_memory = self.retention.size + len(encoded)
        if self._spill is None or in_memory <= self._limits.retention_bytes:
            self._spill_full = False
            return encoded
        spilled = self._spill.keep(encoded)
        # It was accepted, so it is kept; but nothing more is, until memory has room again.
        self._spill_full = spilled is None
        return encoded if spilled is None else spilled
