"""Batches as Arrow: the columns of a sample are taken as they are, many samples become one batch.

Each column of a sample is a view into its encoded bytes, which Arrow takes without copying
(``from_buffers``). Record batches should be large: columns of many small samples are joined, by
Arrow, in one copy, and a large sample is a record batch by itself. No single item is touched in
Python.

What is wanted of a sample is all of it, or a few long stretches of rows, or many short ones. Long
stretches are taken as they are; of many short ones, Arrow picks the rows from the whole columns.

Headers are a column of their own, behind the others, for who asks for it
(:mod:`evenflow.slices.consumer.header_column`).
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from evenflow.model.batch import offsets_of
from evenflow.model.headers import joined_headers
from evenflow.slices.consumer.header_column import HEADERS, header_column
from evenflow.slices.consumer.pieces import pieces_of, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.model.batch import Batch, Int32s, Int64s, Octets, Rows
    from evenflow.slices.consumer.pieces import Piece

TIME: Final = pa.timestamp("us", tz="UTC")
SCHEMA: Final = pa.schema(
    [
        pa.field("slice", pa.int32(), nullable=False),
        pa.field("sender", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("time", TIME, nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
"""The columns of an item."""
HEADED: Final = SCHEMA.append(HEADERS)
"""The same, with its headers."""
FEW: Final = 16
"""Fewer rows than this cost more to take as columns than to copy."""
LONG: Final = 128
"""Stretches of a sample that have fewer rows than this are picked row by row."""
MOST_ROWS: Final = 1 << 16

MOST_OCTETS: Final = 4 << 20
"""Bounds of a record batch, unless a single sample is larger."""
ALONE_OCTETS: Final = 1 << 19
"""What is so large is a record batch by itself: joining it with others would be a copy."""


def record_batches(
    batches: Iterable[Batch], rows: int = MOST_ROWS, *, headed: bool = False
) -> Iterator[tuple[pa.RecordBatch, list[Piece]]]:
    """Join batches; yield record batches, each with the pieces of samples that are in it.

    Args:
        batches: The batches; those of one sample together, in the order of its rows.
        rows: How many rows a record batch has at most.
        headed: Whether there is a column of headers, too.
    """
    group: list[Piece] = []
    count = octets = before = 0
    for piece in pieces_of(batches):
        most = MOST_OCTETS if max(piece.octets, before) < ALONE_OCTETS else 0
        if group and (count + piece.count > rows or octets + piece.octets > most):
            yield _record_batch(group, headed=headed), group
            group, count, octets = [], 0, 0
        before = piece.octets
        group.append(piece)
        count += piece.count
        octets += piece.octets
    if group:
        yield _record_batch(group, headed=headed), group


def record_batch(batches: Iterable[Batch], *, headed: bool = False) -> pa.RecordBatch:
    """One record batch of all these items, in their order."""
    return _record_batch(list(pieces_of(batches)), headed=headed)


def _record_batch(pieces: list[Piece], *, headed: bool) -> pa.RecordBatch:
    parts = list(_parts(pieces))
    runs = runs_of(pieces)
    columns = [pa.array(np.repeat(runs.slices.view(np.int32), runs.counts))]
    columns += [_joined([part[i] for part in parts]) for i in range(len(SCHEMA) - 1)]
    if headed:
        columns.append(_headers(pieces))
    return pa.RecordBatch.from_arrays(columns, schema=HEADED if headed else SCHEMA)


def _headers(pieces: list[Piece]) -> pa.Array:
    parts = []
    for piece in pieces:
        found = piece.sample.headers
        if found is not None and piece.count != piece.sample.count:
            found = found.taken(piece.places())
        parts.append((found, piece.count))
    return header_column(joined_headers(parts), sum(count for _, count in parts))


def _parts(pieces: list[Piece]) -> Iterator[list[pa.Array]]:
    """The columns of all pieces but the slices, in parts."""
    taken: list[Rows] = []
    for piece in pieces:
        stretches = len(piece.begins)
        if stretches == 1 or piece.count >= LONG * stretches:
            taken += piece.stretches()
            continue
        yield from _by_size(taken)
        taken = []
        yield _picked(piece)
    yield from _by_size(taken)


def _by_size(stretches: list[Rows]) -> Iterator[list[pa.Array]]:
    for small, run in groupby(stretches, lambda rows: rows.count < FEW):
        if small:
            yield _few(list(run))
        else:
            yield from map(_many, run)


def _many(rows: Rows) -> list[pa.Array]:
    """The columns of many rows: Arrow takes each as it is."""
    return [
        _words(rows.sender_offsets, rows.sender_buffer, pa.string()),
        _numbers(rows.ids, pa.int64()),
        _numbers(rows.times, TIME),
        _words(rows.payload_offsets, rows.payload_buffer, pa.binary()),
    ]


def _picked(piece: Piece) -> list[pa.Array]:
    """The columns of single rows of a sample."""
    places = pa.array(piece.places())
    return [column.take(places) for column in _many(piece.sample.rows)]


def _few(stretches: list[Rows]) -> list[pa.Array]:
    """The columns of few rows of each of many samples: cheaper joined as bytes than as columns."""
    ids, times, name_sizes, names, sizes, payloads = zip(
        *(rows.plain() for rows in stretches), strict=True
    )
    return [
        _words(offsets_of(list(chain.from_iterable(name_sizes))), b"".join(names), pa.string()),
        pa.array(np.frombuffer(b"".join(ids), np.int64)),
        pa.array(np.frombuffer(b"".join(times), np.int64)).view(TIME),
        _words(offsets_of(list(chain.from_iterable(sizes))), b"".join(payloads), pa.binary()),
    ]


def _numbers(column: Int64s, kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)], null_count=0)


def _words(offsets: Int32s, octets: Octets | bytes, kind: pa.DataType) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, null_count=0)


def _joined(arrays: list[Any]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
