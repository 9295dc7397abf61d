"""Items of a topic as messages of the store, and back.

What the archiver writes at once, a *bundle*, is the items between two positions: an Arrow stream,
compressed, with the columns of an item and three more, ``writer``, ``number`` and ``slice``, by
which everyone knows an item again. A message of the store has a bounded size, so a bundle goes into
as many *pieces* as it needs, each in a message of its own::

    "EVA1" | u32 length of the head | head, JSON: bundle, piece, pieces, end | octets

``bundle`` is a random name; ``end`` is the position that is reached with the last piece. A bundle
of which a piece is missing was being written when the archiver died: it counts for nothing, and the
next archiver writes all of it again.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from evenflow.errors import DecodeError
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.ticket import position_from_json, position_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.slices.consumer.row_numbers import Run

MAGIC: Final = b"EVA1"
LARGEST_PIECE: Final = 3 << 20
"""Octets of a bundle in one message."""
MOST_PIECES: Final = 4_096
MOST_OPEN: Final = 8
"""Bundles of which some pieces have come; more than one only when an archiver died."""
KEPT: Final = pa.schema(
    [
        pa.field("writer", pa.uint64(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        *SCHEMA,
    ]
)
"""The columns of a kept item."""

_WRITING: Final = pa.ipc.IpcWriteOptions(compression="zstd")


def archive_topic(name: str) -> str:
    """Return the store's topic that keeps a topic of the domain."""
    return f"durable/{name}"


def numbered(rows: pa.RecordBatch, runs: Iterable[Run]) -> pa.RecordBatch:
    """Return rows with their writers and numbers."""
    runs = list(runs)
    counts = [run.rows for run in runs]
    writers = np.repeat(np.array([run.writer for run in runs], np.uint64), counts)
    numbers = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(run.first, run.last + 1) for run in runs)]
    )
    if len(numbers) != rows.num_rows:
        raise DecodeError(f"{rows.num_rows} rows with {len(numbers)} numbers")
    columns = [pa.array(writers), pa.array(numbers), *rows.columns]
    return pa.RecordBatch.from_arrays(columns, schema=KEPT)


def encode_bundle(
    rows: Iterable[pa.RecordBatch], end: Mapping[int, int], piece: int = LARGEST_PIECE
) -> list[bytes]:
    """Return the messages of a bundle, in order."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, KEPT, options=_WRITING) as stream:
        for batch in rows:
            stream.write_batch(batch)
    octets = sink.getvalue().to_pybytes()
    parts = [octets[at : at + piece] for at in range(0, len(octets), piece)]
    head = {"bundle": secrets.token_hex(8), "pieces": len(parts), "end": position_to_json(end)}
    return [
        _joined(json.dumps({**head, "piece": number}).encode(), part)
        for number, part in enumerate(parts)
    ]


def _joined(head: bytes, part: bytes) -> bytes:
    return MAGIC + len(head).to_bytes(4, "little") + head + part


class Piece(NamedTuple):
    """One message, read."""

    bundle: str
    number: int
    pieces: int
    end: dict[int, int]
    octets: bytes


def decode_piece(message: bytes) -> Piece:
    """Read a message; `DecodeError` when the archiver did not write it."""
    size = int.from_bytes(message[4:8], "little")
    if message[:4] != MAGIC or len(message) < 8 + size:
        raise DecodeError("no piece of an archive", size=len(message))
    try:
        head: Any = json.loads(message[8 : 8 + size])
    except (ValueError, RecursionError):
        raise DecodeError("the head of a piece is not JSON", size=len(message)) from None
    if not isinstance(head, dict) or head.keys() != {"bundle", "piece", "pieces", "end"}:
        raise DecodeError("the head of a piece lacks fields", size=len(message))
    bundle, number, pieces = head["bundle"], head["piece"], head["pieces"]
    if not isinstance(bundle, str) or not all(type(n) is int for n in (number, pieces)):
        raise DecodeError("the head of a piece has wrong fields", size=len(message))
    if not 0 <= number < pieces <= MOST_PIECES:
        raise DecodeError(f"piece {number} of {pieces}", size=len(message))
    end = position_from_json(head["end"])
    return Piece(bundle, number, pieces, end, message[8 + size :])


class Bundle(NamedTuple):
    """What the archiver wrote at once."""

    rows: pa.Table
    end: dict[int, int]
    """The position that is reached with it."""


class Assembly:
    """Puts pieces together again; those of bundles that never become whole are let go."""

    def __init__(self) -> None:
        self._open: dict[str, list[bytes]] = {}

    @property
    def waiting(self) -> bool:
        """Whether pieces of a bundle are still to come."""
        return bool(self._open)

    def add(self, message: bytes) -> Bundle | None:
        """Take a message; return a bundle when it is whole."""
        piece = decode_piece(message)
        parts = self._open.setdefault(piece.bundle, [])
        if len(parts) != piece.number:
            # Its beginning lies before what we were given: somebody reads from the middle.
            del self._open[piece.bundle]
            return None
        parts.append(piece.octets)
        if len(parts) < piece.pieces:
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            return None
        del self._open[piece.bundle]
        try:
            with pa.ipc.open_stream(pa.py_buffer(b"".join(parts))) as stream:
                rows = stream.read_all()
        except (pa.ArrowException, OSError) as error:
            raise DecodeError(f"a bundle that is no Arrow stream: {error}") from None
        if rows.schema != KEPT:
            raise DecodeError(f"a bundle with columns {rows.schema.names}")
        return Bundle(rows, piece.end)
