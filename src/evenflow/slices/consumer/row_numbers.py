"""Which numbers the rows of a record batch have: spans of consecutive ones, in the order of rows.

A record batch joins the items of many samples. Its metadata says where they come from: for each run
of rows the slice, the writer, and the first number. So a reader whose stream breaks off knows how
far it is, and one that keeps the items knows each of them by writer, slice and number, which
nothing else has.

With many slices there are about as many spans as rows, so they are columns, here and on the wire.
The wire has, little endian and without gaps, a head (``EFS1``, how many writers, how many spans, 0)
and the columns of :class:`Spans` one after the other. All of it is held against the bytes that are
there, and against the rows, before anything is made from it.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from evenflow.errors import DecodeError
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.header_column import HEADERS
from evenflow.slices.consumer.pieces import ranges, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from evenflow.model.batch import Int64s
    from evenflow.slices.consumer.pieces import Piece

    U32s = npt.NDArray[np.uint32]
    U64s = npt.NDArray[np.uint64]

NUMBERED: Final = pa.schema(
    [
        pa.field("writer", pa.uint64(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        *SCHEMA,
    ]
)
"""The columns of an item with those that name it: its writer, slice and number."""
NUMBERED_HEADED: Final = NUMBERED.append(HEADERS)
"""The same, with its headers."""
_HEAD: Final = Struct("<4sIII")
_MAGIC: Final = b"EFS1"
_MOST: Final = (1 << 63) - 1
_WRITER: Final = attrgetter("sample.writer")


class Span(NamedTuple):
    """Rows of one slice and writer with consecutive numbers."""

    slice: int
    writer: int
    first: int
    last: int


class Spans(NamedTuple):
    """The spans of a record batch, as columns; those of one writer stand together."""

    writers: U64s
    """Each writer, as often as its spans begin anew."""
    firsts: U64s
    """The first number of each span."""
    lengths: U32s
    """How many spans each writer has."""
    slices: U32s
    """The slice of each span."""
    counts: U32s
    """The rows of each span."""

    @property
    def lasts(self) -> Int64s:
        """The last number of each span."""
        return self.firsts.astype(np.int64) + self.counts - 1

    def by_writer(self) -> Iterator[tuple[int, slice]]:
        """Each writer, and where its spans are."""
        begin = 0
        for writer, length in zip(self.writers.tolist(), self.lengths.tolist(), strict=True):
            yield writer, slice(begin, begin + length)
            begin += length

    def single(self) -> list[Span]:
        """Each span by itself."""
        slices, firsts, lasts = self.slices.tolist(), self.firsts.tolist(), self.lasts.tolist()
        return [
            Span(slices[i], writer, firsts[i], lasts[i])
            for writer, where in self.by_writer()
            for i in range(where.start, where.stop)
        ]

    def encode(self) -> bytes:
        """Write spans as bytes."""
        head = _HEAD.pack(_MAGIC, len(self.writers), len(self.firsts), 0)
        return b"".join((head, *(column.tobytes() for column in self)))


def join_spans(spans: Iterable[Span]) -> Spans:
    """Make columns of single spans."""
    found = list(spans)
    groups = [(writer, len(list(group))) for writer, group in groupby(s.writer for s in found)]
    return Spans(
        np.array([writer for writer, _ in groups], np.uint64),
        np.array([span.first for span in found], np.uint64),
        np.array([length for _, length in groups], np.uint32),
        np.array([span.slice for span in found], np.uint32),
        np.array([span.last - span.first + 1 for span in found], np.uint32),
    )


def spans_of(pieces: list[Piece]) -> Spans:
    """Return the spans of the rows of these pieces, in their order."""
    groups = [
        (writer, sum(len(piece.runs) for piece in group))
        for writer, group in groupby(pieces, _WRITER)
    ]
    writers = np.array([writer for writer, _ in groups], np.uint64)
    lengths = np.array([length for _, length in groups], np.uint32)
    slices, firsts, counts = runs_of(pieces)
    # One that goes on where the one before has ended is a part of it, unless a writer begins.
    begins = np.append(np.array([True]), slices[1:] != slices[:-1])
    begins[1:] |= firsts[1:] != firsts[:-1] + counts[:-1]
    begins[np.cumsum(lengths[:-1])] = True
    if begins.all():
        return Spans(writers, firsts, lengths, slices, counts)
    heads = np.flatnonzero(begins)
    ends = np.cumsum(lengths)
    fewer = np.diff(np.searchsorted(heads, ends), prepend=0).astype(np.uint32)
    rows = np.add.reduceat(counts, heads, dtype=np.uint32)
    return Spans(writers, firsts[heads], fewer, slices[heads], rows)


def decode_spans(encoded: bytes, rows: int) -> Spans:
    """Read spans; `DecodeError` when these are none, or not those of so many rows."""
    try:
        magic, writers, spans, zero = _HEAD.unpack_from(encoded)
    except StructError as error:
        raise DecodeError(f"spans: {error}", size=len(encoded)) from None
    if (magic, zero) != (_MAGIC, 0) or len(encoded) != _HEAD.size + 12 * writers + 16 * spans:
        raise DecodeError(f"spans: head {encoded[:16].hex()} does not fit", size=len(encoded))
    at = _HEAD.size
    columns = []
    for kind, count in (
        ("<u8", writers),
        ("<u8", spans),
        *[("<u4", n) for n in (writers, spans, spans)],
    ):
        columns.append(np.frombuffer(encoded, kind, count, at))
        at += columns[-1].nbytes
    found = Spans(*columns)
    _check(found, rows)
    return found


def _check(spans: Spans, rows: int) -> None:
    found = int(spans.counts.sum(dtype=np.int64))
    if found != rows:
        raise DecodeError(f"{rows} rows with {found} numbers")
    if int(spans.lengths.sum(dtype=np.int64)) != len(spans.firsts):
        raise DecodeError(f"spans: {len(spans.firsts)} are not as many as their writers have")
    if not (spans.lengths.all() and spans.counts.all() and spans.firsts.all()):
        raise DecodeError("spans: an empty one, or one that begins with number 0")
    if rows and int(spans.firsts.max()) > _MOST - rows:
        raise DecodeError("spans: an impossible number")


class Reached:
    """How far a reader is in each slice and writer.

    Args:
        slices: The slices that are read.
        writers: The writers that are read.
    """

    def __init__(self, slices: Iterable[int], writers: Iterable[int]) -> None:
        self._slices: Int64s = np.unique(np.array(list(slices), np.int64))
        self._writers = frozenset(writers)
        self._lasts: dict[int, Int64s] = {}
        """For each writer the newest number of each slice."""

    def add(self, spans: Spans) -> None:
        """Rows with these numbers have come; `DecodeError` when nobody has asked for them."""
        if not len(spans.slices):
            return
        places = np.searchsorted(self._slices, spans.slices)
        known = (
            self._slices.take(places, mode="clip") == spans.slices if len(self._slices) else False
        )
        if not np.all(known) or not self._writers.issuperset(spans.writers.tolist()):
            raise DecodeError("rows of a slice or writer that was not asked for")
        lasts = spans.lasts
        for writer, where in spans.by_writer():
            found = self._lasts.get(writer)
            if found is None:
                found = self._lasts[writer] = np.zeros(len(self._slices), np.int64)
            found[places[where]] = lasts[where]

    def after(self, slices: Iterable[int]) -> dict[tuple[int, int], int]:
        """The newest number of each of some slices and its writers, as far as there is one."""
        wanted = set(slices)
        return {
            (slice_id, writer): last
            for writer, lasts in self._lasts.items()
            for slice_id, last in zip(self._slices.tolist(), lasts.tolist(), strict=True)
            if last and slice_id in wanted
        }


def numbered(rows: pa.RecordBatch, spans: Spans) -> pa.RecordBatch:
    """Return rows with their writers and numbers, as `NUMBERED` has them; headers too if any."""
    _check(spans, rows.num_rows)
    of_span = np.repeat(spans.writers, spans.lengths)
    writers = pa.array(np.repeat(of_span, spans.counts))
    numbers = pa.array(ranges(spans.firsts, spans.counts))
    schema = NUMBERED if len(rows.columns) == len(SCHEMA) else NUMBERED_HEADED
    return pa.RecordBatch.from_arrays([writers, numbers, *rows.columns], schema=schema)
