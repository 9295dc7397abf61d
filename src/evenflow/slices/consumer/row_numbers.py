"""Which numbers the rows of a record batch have: spans of consecutive ones, in the order of rows.

A record batch joins the items of many samples. Its metadata says where they come from: for each run
of rows the slice, the writer, and the first and last number. So a reader whose stream breaks off
knows how far it is, and one that keeps the items knows each of them by writer, slice and number,
which nothing else has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from evenflow.errors import DecodeError
from evenflow.model.checked_json import (
    CheckedJson,
    SliceNumber,
    Whole,
    WriterText,
    encode_json,
    fits,
)
from evenflow.model.ids import WriterId
from evenflow.slices.consumer.arrow_batches import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.batch import Batch


NUMBERED: Final = pa.schema(
    [
        pa.field("writer", pa.uint64(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        *SCHEMA,
    ]
)
"""The columns of an item with those that name it: its writer, slice and number."""
_JSON: Final = CheckedJson("spans", list[tuple[SliceNumber, WriterText, Whole, Whole]])


class Span(NamedTuple):
    """Rows of one slice and writer with consecutive numbers."""

    slice: int
    writer: int
    first: int
    last: int

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first + 1


def spans_of(batches: Iterable[Batch]) -> list[Span]:
    """Return the spans of the rows of these batches, joined in their order."""
    spans: list[Span] = []
    for batch in batches:
        before = spans[-1] if spans else None
        if before is not None and (before.slice, before.writer, before.last + 1) == (
            batch.slice,
            batch.writer,
            batch.first,
        ):
            spans[-1] = before._replace(last=batch.last)
        else:
            spans.append(Span(batch.slice, batch.writer, batch.first, batch.last))
    return spans


def encode_spans(spans: Iterable[Span]) -> bytes:
    """Write spans as JSON."""
    return encode_json([(r.slice, WriterId.text(r.writer), r.last, r.first) for r in spans])


def decode_spans(encoded: bytes) -> list[Span]:
    """Read spans; `DecodeError` when these are none."""
    spans = []
    for slice_id, writer, last, first in _JSON.decode(encoded):
        if first > fits("spans", last):
            raise DecodeError(f"spans: {first} is not up to {last}", size=len(encoded))
        spans.append(Span(slice_id, int(writer, 16), first, last))
    return spans


def reached(spans: Iterable[Span]) -> dict[tuple[int, int], int]:
    """Return how far a reader is in each slice and writer after these rows."""
    return {(span.slice, span.writer): span.last for span in spans}


def numbered(rows: pa.RecordBatch, spans: Iterable[Span]) -> pa.RecordBatch:
    """Return rows with their writers and numbers, as `NUMBERED` has them."""
    spans = list(spans)
    counts = [span.rows for span in spans]
    writers = np.repeat(np.array([span.writer for span in spans], np.uint64), counts)
    numbers = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(span.first, span.last + 1) for span in spans)]
    )
    if len(numbers) != rows.num_rows:
        raise DecodeError(f"{rows.num_rows} rows with {len(numbers)} numbers")
    columns = [pa.array(writers), pa.array(numbers), *rows.columns]
    return pa.RecordBatch.from_arrays(columns, schema=NUMBERED)
