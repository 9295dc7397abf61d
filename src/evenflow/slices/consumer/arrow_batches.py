"""Batches as Arrow: the columns of a sample are taken as they are, many samples become one batch.

Each column of a :class:`~evenflow.model.batch.Batch` is a view into its encoded bytes, which Arrow
takes without copying (``from_buffers``). Samples are small and record batches should be large, so
columns of many samples are joined, by Arrow, in one copy. No single item is touched in Python.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from evenflow.model.batch import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.model.batch import Batch, Int32s, Octets

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
FEW: Final = 16
"""A sample of fewer items costs more to take as columns than to copy."""
MOST_ROWS: Final = 1 << 16

MOST_OCTETS: Final = 4 << 20
"""Bounds of a record batch, unless a single sample is larger."""


def record_batches(
    batches: Iterable[Batch], rows: int = MOST_ROWS
) -> Iterator[tuple[pa.RecordBatch, list[Batch]]]:
    """Join batches; yield record batches, each with the batches that are in it."""
    group: list[Batch] = []
    count = octets = 0
    for batch in batches:
        if group and (count + batch.count > rows or octets + batch.size > MOST_OCTETS):
            yield record_batch(group), group
            group, count, octets = [], 0, 0
        group.append(batch)
        count += batch.count
        octets += batch.size
    if group:
        yield record_batch(group), group


def record_batch(batches: list[Batch]) -> pa.RecordBatch:
    """One record batch of all these items, in their order."""
    parts = [
        _few(list(run)) if small else _many(list(run))
        for small, run in groupby(batches, lambda batch: batch.count < FEW)
    ]
    columns = [pa.array(np.repeat(_numbers(batches), [batch.count for batch in batches]))]
    columns += [_joined([part[i] for part in parts]) for i in range(len(SCHEMA) - 1)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _numbers(batches: list[Batch]) -> Int32s:
    return np.array([batch.slice for batch in batches], np.int32)


def _many(batches: list[Batch]) -> list[pa.Array]:
    """The columns of batches of many items: Arrow takes each as it is."""
    return [
        _joined([_runs(b.sender_offsets, b.senders, pa.string()) for b in batches]),
        pa.array(np.concatenate([batch.ids for batch in batches])),
        pa.array(np.concatenate([batch.times for batch in batches])).view(TIME),
        _joined([_runs(b.payload_offsets, b.payloads, pa.binary()) for b in batches]),
    ]


def _few(batches: list[Batch]) -> list[pa.Array]:
    """The columns of batches of few items: cheaper joined as bytes than as columns."""
    ids, times, name_sizes, names, sizes, payloads = zip(
        *(batch.plain() for batch in batches), strict=True
    )
    return [
        _runs(offsets_of(list(chain.from_iterable(name_sizes))), b"".join(names), pa.string()),
        pa.array(np.frombuffer(b"".join(ids), np.int64)),
        pa.array(np.frombuffer(b"".join(times), np.int64)).view(TIME),
        _runs(offsets_of(list(chain.from_iterable(sizes))), b"".join(payloads), pa.binary()),
    ]


def _runs(offsets: Int32s, octets: Octets | bytes, kind: pa.DataType) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, null_count=0)


def _joined(arrays: list[Any]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
