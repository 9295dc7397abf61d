"""The items of a served topic between two positions, as a consumer gets them.

A :class:`ServedBatch` has the columns that a node's application gets in a
:class:`~evenflow.model.batch.Batch`, under the same names, but for items of all slices and writers.
Columns are views into Arrow's buffers. Nothing is copied before single items are asked for, by
iteration or as lists (``senders``, ``payloads``, ``headers``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from evenflow.model.batch import Item
from evenflow.slices.consumer.header_column import alike, header_maps
from evenflow.slices.consumer.row_numbers import NUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from evenflow.model.batch import Int32s, Int64s, Octets
    from evenflow.model.ids import Position

MOST_OCTETS: Final = (1 << 31) - 1
"""What 32-bit offsets can reach; a batch of more has columns with 64-bit offsets."""
_WIDE: Final = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Join numbered rows into one record batch."""
    same = alike(parts)
    table = pa.Table.from_batches(same, same[0].schema if same else NUMBERED)
    if table.nbytes > MOST_OCTETS:
        wide = [field.with_type(_WIDE.get(field.type, field.type)) for field in table.schema]
        table = table.cast(pa.schema(wide))
    whole = table.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], table.schema)


def items_of(rows: pa.RecordBatch | pa.Table) -> Iterator[Item]:
    """Yield single items from their columns."""
    ids = rows.column("id").to_pylist()
    times = rows.column("time").cast(pa.int64()).to_pylist()
    payloads = rows.column("payload").to_pylist()
    yield from map(Item, _senders(rows), ids, times, payloads, _headers(rows))


def _senders(rows: pa.RecordBatch | pa.Table) -> list[str]:
    # By way of bytes: a name that is no UTF-8 is read all the same.
    names = rows.column("sender").cast(pa.large_binary()).to_pylist()
    return [str(name, "utf-8", "replace") for name in names]


def _headers(rows: pa.RecordBatch | pa.Table) -> list[Mapping[str, bytes]]:
    return [*(header_maps(rows) or ({} for _ in range(rows.num_rows)))]


class ServedBatch:
    """Items of a served topic, in the order of their numbers within each slice and writer.

    The same two positions always have the same items between them, so an application that stores
    :attr:`position` together with what it made of the items knows a batch that comes again.
    """

    __slots__ = ("position", "rows", "start")

    def __init__(self, rows: pa.RecordBatch, start: Position, position: Position) -> None:
        self.rows = rows
        """Columns ``writer``, ``number``, ``slice``, ``sender``, ``id``, ``time``, ``payload``, and
        ``headers`` if an item has some."""
        self.start = start
        """The position behind which it begins."""
        self.position = position
        """The position up to which it goes. Its text, ``str(position)``, is a key for any store."""

    @property
    def ids(self) -> Int64s:
        """The senders' own numbers."""
        return self._numbers("id")

    @property
    def times(self) -> Int64s:
        """Microseconds since 1970."""
        return np.asarray(self.rows.column("time").view(pa.int64()))

    @property
    def slices(self) -> Int32s:
        """The slice of each item."""
        return self._numbers("slice")

    @property
    def writers(self) -> npt.NDArray[np.uint64]:
        """The publisher's writer of each item."""
        return self._numbers("writer")

    @property
    def numbers(self) -> Int64s:
        """The number of each item: with its writer and slice, nothing else has it."""
        return self._numbers("number")

    @property
    def sender_offsets(self) -> Int32s | Int64s:
        """One more than there are items: offsets into :attr:`sender_buffer`."""
        return self._offsets("sender")

    @property
    def sender_buffer(self) -> Octets:
        """The senders' names, UTF-8, one after the other; a view."""
        return self._octets("sender")

    @property
    def senders(self) -> list[str]:
        """The sender of each item."""
        return _senders(self.rows)

    @property
    def payload_offsets(self) -> Int32s | Int64s:
        """One more than there are items: offsets into :attr:`payload_buffer`."""
        return self._offsets("payload")

    @property
    def payload_buffer(self) -> Octets:
        """The payloads, one after the other; a view."""
        return self._octets("payload")

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each item."""
        found: list[bytes] = self.rows.column("payload").to_pylist()
        return found

    @property
    def headers(self) -> list[Mapping[str, bytes]]:
        """The headers of each item; an empty map where it has none."""
        return _headers(self.rows)

    def _numbers(self, name: str) -> npt.NDArray[Any]:
        return np.asarray(self.rows.column(name))

    def _offsets(self, name: str) -> Int32s | Int64s:
        column = self.rows.column(name)
        kind = np.dtype(np.int64 if column.type in _WIDE.values() else np.int32)
        at = kind.itemsize * column.offset
        return np.frombuffer(column.buffers()[1], kind, len(column) + 1, at)

    def _octets(self, name: str) -> Octets:
        return np.frombuffer(self.rows.column(name).buffers()[2] or b"", np.uint8)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __iter__(self) -> Iterator[Item]:
        return items_of(self.rows)

    def __repr__(self) -> str:
        return f"<ServedBatch of {len(self)} items up to {self.position}>"
