"""How samples are encoded: from columns, from rows of other samples, or from one item.

The layout is that of :mod:`evenflow.model.sample`.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.model.batch import ENCAPSULATION, offsets_of
from evenflow.model.headers import headers_of, joined_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.model.batch import Int32s, Int64s, Item, Octets, Rows
    from evenflow.model.headers import Headers
    from evenflow.model.item_headers import Pairs

HEAD: Final = Struct("<4sQQQI")
U32: Final = Struct("<I")
TWO_ENDS: Final = Struct("<IIII")
"""Offsets of one run of bytes, with their own length before and that of the bytes behind."""
_ONE: Final = Struct("<4sQQQIIIII4xQI4xqI4xqIIII")
"""Everything of a sample of one item up to the sender's name."""

ITEM_BYTES: Final = 24
"""Bytes an item adds to its sample besides sender, payload and headers: id, time and two
offsets."""
RUN_BYTES: Final = 16
"""Bytes that the head says of a run."""


def _joined(columns: Sequence[tuple[Int32s, Octets]]) -> tuple[Int32s, bytes]:
    """One column of words from parts of columns."""
    lengths = np.concatenate([np.diff(offsets) for offsets, _ in columns])
    words = b"".join(octets[offsets[0] : offsets[-1]].data for offsets, octets in columns)
    return offsets_of(lengths), words  # type: ignore[arg-type]


def encode_joined(
    writer: int,
    serial: int,
    epoch: int,
    slices: Any,
    firsts: Any,
    stretches: Sequence[Rows],
    counts: Any = None,
) -> bytes:
    """Encode rows of other samples, one stretch after the other, as runs of ``slices``.

    Each run begins with its number of ``firsts`` and has as many rows as ``counts`` says; by
    default each stretch is a run.
    """
    return encode_sample(
        writer,
        serial,
        epoch,
        slices,
        [rows.count for rows in stretches] if counts is None else counts,
        firsts,
        np.concatenate([rows.ids for rows in stretches]),
        np.concatenate([rows.times for rows in stretches]),
        *_joined([(rows.sender_offsets, rows.sender_buffer) for rows in stretches]),
        *_joined([(rows.payload_offsets, rows.payload_buffer) for rows in stretches]),
        joined_headers((rows.header_columns, rows.count) for rows in stretches),
    )


def encode_item(
    writer: int,
    serial: int,
    epoch: int,
    slice_id: int,
    first: int,
    item: Item,
    headers: Pairs = (),
) -> bytes:
    """Encode a sample of one item: the way of the lowest latency.

    The headers of the item itself do not count: they are given as they travel.
    """
    sender, item_id, time, payload, _ = item
    name = sender.encode()
    name_size, used = len(name), len(payload)
    words = _with_headers(payload, headers_of([headers])) if headers else payload
    size = len(words)
    numbers = (writer, serial, epoch, 1, slice_id, 1, 1, 1, first, 1, item_id, 1, time)
    return b"".join(
        (
            _ONE.pack(ENCAPSULATION, *numbers, 2, 0, name_size, name_size),
            name,
            b"\0" * (-name_size & 3),
            TWO_ENDS.pack(2, 0, used, size),
            words,
            b"\0" * (-size & 3),
        )
    )


def _with_headers(payloads: bytes | memoryview, headers: Headers | None) -> bytes | memoryview:
    """What a sample has in the place of payloads."""
    if headers is None:
        return payloads
    return b"".join((payloads, b"\0" * (-len(payloads) & 3), headers.encode()))


def encode_sample(
    writer: int,
    serial: int,
    epoch: int,
    slices: Any,
    counts: Any,
    firsts: Any,
    ids: Int64s,
    times: Int64s,
    sender_offsets: Int32s,
    senders: bytes | memoryview,
    payload_offsets: Int32s,
    payloads: bytes | memoryview,
    headers: Headers | None = None,
) -> bytes:
    """Encode a sample from columns; items sorted by slice, offsets from 0."""
    payloads = _with_headers(payloads, headers)
    runs, count = len(slices), len(ids)
    sender_size, payload_size = len(senders), len(payloads)
    return b"".join(
        (
            HEAD.pack(ENCAPSULATION, writer, serial, epoch, runs),
            np.asarray(slices, np.uint32).tobytes(),
            U32.pack(runs),
            np.asarray(counts, np.uint32).tobytes(),
            U32.pack(runs),
            b"\0\0\0\0",
            np.asarray(firsts, np.uint64).tobytes(),
            U32.pack(count),
            b"\0\0\0\0",
            ids.tobytes(),
            U32.pack(count),
            b"\0\0\0\0",
            times.tobytes(),
            U32.pack(count + 1),
            sender_offsets.tobytes(),
            U32.pack(sender_size),
            senders,
            b"\0" * (-sender_size & 3),
            U32.pack(count + 1),
            payload_offsets.tobytes(),
            U32.pack(payload_size),
            payloads,
            b"\0" * (-payload_size & 3),
        )
    )
