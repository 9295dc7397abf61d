"""Headers as a column of Arrow: a map from names to bytes for each item, empty where it has none.

The column is there only if some items have headers, and who reads wants them. So rows that come
together may come with it or without; :func:`alike` gives all of them the same columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.headers import Headers

NAME: Final = "headers"
HEADERS: Final = pa.field(NAME, pa.map_(pa.string(), pa.binary()), nullable=False)
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def header_column(headers: Headers | None, count: int) -> pa.Array:
    """The headers of so many items."""
    if headers is None:
        return empty_column(count)
    names = _words(headers.name_offsets, headers.names, pa.string())
    values = _words(headers.value_offsets, headers.values, pa.binary())
    offsets = np.searchsorted(headers.rows, np.arange(count + 1)).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), names, values)


def empty_column(count: int) -> pa.Array:
    """The headers of so many items that have none."""
    offsets = pa.array(np.zeros(count + 1, np.int32))
    return pa.MapArray.from_arrays(offsets, pa.array([], pa.string()), pa.array([], pa.binary()))


def with_headers(rows: Rows) -> Rows:
    """Rows with a column of headers behind the others; the same when they have one."""
    if NAME in rows.schema.names:
        return rows
    return rows.append_column(HEADERS, empty_column(rows.num_rows))


def alike(parts: Iterable[Rows]) -> list[Rows]:
    """Rows that all have a column of headers, or none."""
    found = list(parts)
    headed = [NAME in part.schema.names for part in found]
    return [with_headers(part) for part in found] if any(headed) and not all(headed) else found


def header_maps(rows: pa.RecordBatch | pa.Table) -> list[dict[str, bytes]] | None:
    """The headers of each row; None when no row has any."""
    if NAME not in rows.schema.names:
        return None
    return [dict(entries) for entries in rows.column(NAME).to_pylist()]


def _words(offsets: Any, octets: Any, kind: pa.DataType) -> pa.Array:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(octets)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, null_count=0)
