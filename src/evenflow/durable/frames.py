"""Items of a topic as messages of the store, and back.

What the archiver writes at once, a *bundle*, is the items between two positions: an Arrow stream,
compressed, of numbered rows (:data:`~evenflow.slices.consumer.row_numbers.NUMBERED`), by which
everyone knows an item again, with a column of headers if some item has any. A message of the store
has a bounded size, so a bundle goes into as many *pieces* as it needs, each in a message of its
own::

    "EVA1" | u32 length of the head | head, JSON: bundle, piece, pieces, end | octets

``bundle`` is a random name; ``end`` is the position that is reached with the last piece. A bundle
of which a piece is missing was being written when the archiver died: it counts for nothing, and the
next archiver writes all of it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa

from evenflow.errors import DecodeError
from evenflow.model.checked_json import CheckedJson, Whole, WriterText, encode_json
from evenflow.model.ids import Position
from evenflow.slices.consumer.header_column import alike
from evenflow.slices.consumer.row_numbers import NUMBERED, NUMBERED_HEADED

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC: Final = b"EVA1"
LARGEST_PIECE: Final = 3 << 20
"""Octets of a bundle in one message."""
MOST_PIECES: Final = 4_096
MOST_OPEN: Final = 8
"""Bundles of which some pieces have come; more than one only when an archiver died."""
_WRITING: Final = pa.ipc.IpcWriteOptions(compression="zstd")


def archive_topic(name: str) -> str:
    """Return the store's topic that keeps a topic of the domain."""
    return f"durable/{name}"


def encode_bundle(
    rows: Iterable[pa.RecordBatch], end: Position, name: str, piece: int = LARGEST_PIECE
) -> list[bytes]:
    """Return the messages of a bundle, in order.

    Args:
        rows: The items.
        end: Where the topic has been archived up to with them.
        name: A name that no other bundle of the topic has.
        piece: Octets of a message, at most.
    """
    sink = pa.BufferOutputStream()
    parts = alike(rows)
    schema = parts[0].schema if parts else NUMBERED
    with pa.ipc.new_stream(sink, schema, options=_WRITING) as stream:
        for batch in parts:
            stream.write_batch(batch)
    octets = sink.getvalue().to_pybytes()
    pieces = [octets[at : at + piece] for at in range(0, len(octets), piece)]
    reached = end.to_json()
    return [
        _joined(encode_json(_Head(name, number, len(pieces), reached)), part)
        for number, part in enumerate(pieces)
    ]


def _joined(head: bytes, part: bytes) -> bytes:
    return MAGIC + len(head).to_bytes(4, "little") + head + part


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    """What stands before the octets of a piece, as JSON."""

    bundle: str
    piece: Whole
    pieces: Whole
    end: dict[WriterText, Whole]


_HEAD: Final = CheckedJson("head of a piece", _Head)


class Piece(NamedTuple):
    """One message, read."""

    bundle: str
    number: int
    pieces: int
    end: Position
    octets: bytes


def decode_piece(message: bytes) -> Piece:
    """Read a message; `DecodeError` when the archiver did not write it."""
    size = int.from_bytes(message[4:8], "little")
    if message[:4] != MAGIC or len(message) < 8 + size:
        raise DecodeError("no piece of an archive", size=len(message))
    head = _HEAD.decode(message[8 : 8 + size])
    if not head.piece < head.pieces <= MOST_PIECES:
        raise DecodeError(f"piece {head.piece} of {head.pieces}", size=len(message))
    end = Position.of_texts(head.end)
    return Piece(head.bundle, head.piece, head.pieces, end, message[8 + size :])


class Bundle(NamedTuple):
    """What the archiver wrote at once."""

    rows: pa.Table
    end: Position
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
        if rows.schema not in (NUMBERED, NUMBERED_HEADED):
            raise DecodeError("a bundle with other columns than an item's")
        return Bundle(rows, piece.end)
