"""Items as tables, on their way from a publisher's caller into samples.

A :class:`Table` holds what the caller gave, as NumPy and Arrow columns. Once the items are brought
into the order of their slices, :class:`~evenflow.slices.publisher.gathering.Columns` lays them out
exactly as a sample carries them, so some consecutive items are a view that can be encoded without
touching one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenflow.errors import DecodeError, UsageError
from evenflow.model.batch import Int32s, Int64s
from evenflow.model.given_headers import given_headers
from evenflow.model.headers import (
    Headers,
    check_headers,
    headers_of,
    joined_headers,
    repeated_headers,
)
from evenflow.slices.publisher.gathering import Columns

if TYPE_CHECKING:
    from collections.abc import Sequence


_NO_STRINGS: Final = "senders must be strings"


@dataclass(frozen=True, slots=True)
class Table:
    """Items of any slices, in the order they were given."""

    ids: Int64s
    times: Int64s
    senders: Any
    """Arrow dictionary of strings."""
    payloads: Any
    """Arrow array of binary (any width)."""
    headers: Headers | None = None
    """None when no item has any."""

    def __len__(self) -> int:
        return len(self.ids)

    def fields(self) -> dict[str, Any]:
        """The columns an assignment may look at."""
        return {"id": self.ids, "sender": self.senders, "time": self.times}

    def lengths(self) -> Int64s:
        """Bytes of sender, payload and headers of each item."""
        names = _lengths(self.senders.dictionary)[self.senders.indices.to_numpy()]
        found: Int64s = names + _lengths(self.payloads)
        return found if self.headers is None else found + np.diff(self.headers.ends(len(self)))

    def rows(self, start: int, end: int) -> Table:
        """The items ``start`` to ``end - 1``."""
        count = end - start
        return Table(
            self.ids[start:end],
            self.times[start:end],
            self.senders.slice(start, count),
            self.payloads.slice(start, count),
            None if self.headers is None else self.headers.part(start, end),
        )

    def only(self, rows: Int64s) -> Table:
        """Some of the items, copied."""
        taken = pa.array(rows)
        return Table(
            self.ids[rows],
            self.times[rows],
            self.senders.take(taken),
            self.payloads.take(taken),
            None if self.headers is None else self.headers.taken(rows),
        )

    def copied(self) -> Table:
        """The same items, in memory that the caller cannot change any more, and no more of it."""
        every = pa.array(np.arange(len(self)))
        return Table(
            self.ids.copy(),
            self.times.copy(),
            self.senders.dictionary_decode().dictionary_encode(),
            self.payloads.take(every),
            self.headers,
        )

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """The items of several tables, one after the other."""
        if len(tables) == 1:
            return tables[0]
        senders = pa.chunked_array([table.senders for table in tables])
        payloads = [table.payloads for table in tables]
        if len({column.type for column in payloads}) > 1:
            payloads = [column.cast(pa.large_binary()) for column in payloads]
        return cls(
            np.concatenate([table.ids for table in tables]),
            np.concatenate([table.times for table in tables]),
            senders.unify_dictionaries().combine_chunks(),
            pa.concat_arrays(payloads),
            joined_headers((table.headers, len(table)) for table in tables),
        )

    def columns(self, order: Int64s) -> Columns:
        """The items in an order, as a sample carries them."""
        taken = pa.array(order)
        return Columns(
            self.ids[order],
            self.times[order],
            *_runs(self.senders.take(taken).dictionary_decode()),
            *_runs(self.payloads.take(taken)),
            None if self.headers is None else self.headers.taken(order),
        )


def payload_column(payloads: Any) -> Any:
    """Return payloads as an Arrow array of binary.

    Args:
        payloads: An Arrow array of binary or strings, a two-dimensional NumPy array of ``uint8``
            (one payload a row), or a sequence of ``bytes``.
    """
    if isinstance(payloads, pa.ChunkedArray):
        payloads = payloads.combine_chunks()
    if isinstance(payloads, np.ndarray):
        payloads = _rows_of_bytes(payloads)
    elif not isinstance(payloads, pa.Array):
        payloads = _array("payloads must be bytes", payloads, pa.large_binary())
    kind = payloads.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        payloads = payloads.cast(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    elif not (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        raise UsageError(f"payloads of Arrow type {kind}: give binary or strings")
    if payloads.null_count:
        raise UsageError(f"{payloads.null_count} payloads are null: give bytes, or leave them out")
    return payloads


def _array(otherwise: str, values: Any, kind: Any) -> Any:
    """Values as an Arrow array; a text that UTF-8 cannot carry is refused as well."""
    try:
        return pa.array(values, kind)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{otherwise}: {error}") from None


def _rows_of_bytes(payloads: Any) -> Any:
    if payloads.dtype != np.uint8 or payloads.ndim != 2:
        raise UsageError(
            f"payloads are a NumPy array of {payloads.dtype} in {payloads.ndim} dimensions:"
            " give uint8 in two dimensions, one payload a row, or an Arrow array"
        )
    count, width = payloads.shape
    data = pa.py_buffer(np.ascontiguousarray(payloads))
    return pa.Array.from_buffers(pa.binary(width), count, [None, data])


def sender_column(senders: Any, count: int) -> Any:
    """Return the senders of ``count`` items as an Arrow dictionary; one name is everybody's."""
    if isinstance(senders, str):
        name = _array(_NO_STRINGS, [senders], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), name)
    if isinstance(senders, pa.ChunkedArray):
        senders = senders.combine_chunks()
    if isinstance(senders, np.ndarray):
        senders = senders.tolist()
    if not isinstance(senders, pa.Array):
        senders = _array(_NO_STRINGS, senders, pa.string())
    if not isinstance(senders, pa.DictionaryArray):
        senders = senders.dictionary_encode()
    words = senders.dictionary
    if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
        raise UsageError(f"senders must be strings, not of Arrow type {words.type}")
    if senders.null_count or words.null_count:
        raise UsageError("a sender is null: give a name, which may be empty")
    if len(words) > count:
        # A dictionary of all names there are: each of them would be hashed for a few items.
        senders = senders.dictionary_decode().dictionary_encode()
        words = senders.dictionary
    return pa.DictionaryArray.from_arrays(senders.indices.cast(pa.int32()), words.cast(pa.string()))


def header_column(headers: Any, count: int) -> Headers | None:
    """Return the headers of ``count`` items; None when they have none.

    Args:
        headers: None, columns that were checked, a mapping (of every item), a sequence of mappings
            or None, or an Arrow array of maps from strings to binary or strings.
        count: How many items there are.
    """
    if headers is None or isinstance(headers, Headers):
        return headers
    if isinstance(headers, Mapping):
        return repeated_headers(given_headers(headers), count)
    if len(headers) != count:
        raise UsageError(f"headers: {len(headers)} rows for {count} payloads; give one for each")
    if isinstance(headers, pa.ChunkedArray):
        headers = headers.combine_chunks()
    if isinstance(headers, pa.Array):
        return _of_arrow(headers)
    return headers_of([given_headers(one) for one in headers])


def _of_arrow(maps: Any) -> Headers | None:
    kind = maps.type
    if not (
        pa.types.is_map(kind) and _is_text(kind.key_type) and _is_text(kind.item_type, binary=True)
    ):
        raise UsageError(
            f"headers of Arrow type {kind}: give maps from strings to binary; a list of entries"
            " becomes one by map_from_entries()"
        )
    offsets = maps.offsets.to_numpy().astype(np.int64)
    counts = np.where(maps.is_null().to_numpy(zero_copy_only=False), 0, np.diff(offsets))
    behind = np.cumsum(counts)
    if not len(counts) or not behind[-1]:
        return None
    which = np.repeat(offsets[:-1] - (behind - counts), counts) + np.arange(behind[-1])
    names, values = maps.keys.take(pa.array(which)), maps.items.take(pa.array(which))
    if values.null_count:
        raise UsageError(f"{values.null_count} headers are null: give bytes, or leave them out")
    found = Headers(
        np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        *_runs(names),
        *_runs(values),
    )
    try:
        check_headers(found)
    except DecodeError as error:
        raise UsageError(error.reason) from None
    return found


def _is_text(kind: Any, *, binary: bool = False) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or (binary and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)))
    )


def number_column(name: str, numbers: Any) -> Int64s:
    """Return ids or times as 64-bit whole numbers."""
    if isinstance(numbers, pa.Array | pa.ChunkedArray):
        numbers = numbers.to_numpy(zero_copy_only=False)
    column = np.asarray(numbers)
    whole = column.dtype.kind in "iu" or not column.size
    if not whole or column.ndim != 1 or (column.size and int(column.max()) >= 1 << 63):
        raise UsageError(f"{name} must be a column of whole numbers below 2**63")
    return np.ascontiguousarray(column, np.int64)


def _lengths(words: Any) -> Int64s:
    if pa.types.is_fixed_size_binary(words.type):
        return np.full(len(words), words.type.byte_width, np.int64)
    found: Int64s = pc.binary_length(words).to_numpy().astype(np.int64)
    return found


def _runs(words: Any) -> tuple[Int32s, memoryview]:
    """The offsets, from 0, and the bytes of an Arrow array of strings or binary."""
    if pa.types.is_fixed_size_binary(words.type):
        return _equal_runs(words)
    if not (pa.types.is_string(words.type) or pa.types.is_binary(words.type)):
        words = words.cast(pa.binary())
    _, offsets_buffer, data = words.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, len(words) + 1, 4 * words.offset)
    content = memoryview(data).cast("B") if data is not None else memoryview(b"")
    return offsets - offsets[0], content[offsets[0] : offsets[-1]]


def _equal_runs(words: Any) -> tuple[Int32s, memoryview]:
    width = words.type.byte_width
    offsets = np.arange(len(words) + 1, dtype=np.int32) * np.int32(width)
    data = words.buffers()[1]
    content = memoryview(data).cast("B") if data is not None else memoryview(b"")
    return offsets, content[words.offset * width : (words.offset + len(words)) * width]
