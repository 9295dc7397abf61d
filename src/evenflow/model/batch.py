"""Items, and the columnar batches they travel in.

An item is ``(sender, id, time, payload)``. Items of one slice are packed into a :class:`Batch`: one
DDS sample with the items as columns, numbered consecutively per writer and slice from ``first``.
Its IDL is

.. code-block:: idl

    @final struct Batch {
      uint64 writer;  uint64 first;  uint64 epoch;  uint32 slice;
      sequence<int64> ids;              sequence<int64> times;
      sequence<int32> sender_offsets;   sequence<octet> senders;
      sequence<int32> payload_offsets;  sequence<octet> payloads;
    };

A batch *is* its encoded form (CDR, little endian, XCDR version 1) plus the few numbers of its
header: publishing, keeping, replaying and handing over pass the same bytes on and never encode
twice, and the columns are views into them that NumPy and Arrow take as they are. Nothing between a
publisher and Spark has to touch single items; an application that wants them iterates over the
batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evenflow.errors import DecodeError

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Octets = npt.NDArray[np.uint8]
Encoded = bytes | memoryview
"""A sample: in memory, or where it was spilled to."""

ENCAPSULATION: Final = b"\x00\x01\x00\x00"
"""CDR header: plain CDR, little endian, no options."""

_HEAD: Final = Struct("<4sQQQII")
_U32: Final = Struct("<I")
_ONE: Final = Struct("<4sQQQIIqI4xqIIII")
"""Everything of a batch of one item up to the sender's name."""
_ONE_PAYLOAD: Final = Struct("<IIII")
_IDS_AT: Final = _HEAD.size


class Item(NamedTuple):
    """One item, as an application sees it."""

    sender: str
    id: int
    time: int
    """Microseconds since 1970."""
    payload: bytes


class Batch:
    """Consecutive items of one writer and one slice; a view into one encoded sample.

    A part of a batch (:meth:`between`) shares the encoded form of the whole.
    """

    __slots__ = ("_begin", "_payloads_at", "_senders_at", "_whole", "count", "encoded", "epoch",
                 "first", "slice", "writer")  # fmt: skip

    encoded: Encoded
    writer: int
    first: int
    epoch: int
    slice: int
    count: int
    _whole: int
    _begin: int
    _senders_at: int
    _payloads_at: int

    def __init__(self, encoded: Encoded) -> None:
        """Decode and check a sample; :class:`DecodeError` when it is damaged."""
        try:
            head, self.writer, self.first, self.epoch, self.slice, count = _HEAD.unpack_from(
                encoded
            )
            # The other half of the header is options: some writers note their padding there.
            if head[:2] != ENCAPSULATION[:2]:
                raise DecodeError(
                    f"batch: encapsulation {head.hex()} is not plain little-endian CDR"
                )
            if count == 0 or self.first == 0:
                raise DecodeError("batch: no items, or numbered from 0")
            self.encoded = encoded
            self.count = self._whole = count
            self._begin = 0
            self._expect(_IDS_AT + 8 * count, count)
            self._senders_at = self._check_runs(_IDS_AT + 8 + 16 * count)
            sender_end = self._senders_at + _U32.unpack_from(encoded, self._senders_at - 4)[0]
            self._payloads_at = self._check_runs(sender_end + (-sender_end & 3))
            payload_end = self._payloads_at + _U32.unpack_from(encoded, self._payloads_at - 4)[0]
        except (struct.error, ValueError) as error:
            raise DecodeError(f"batch: cut short ({error})") from None
        if not 0 <= len(encoded) - payload_end <= 3:
            raise DecodeError(f"batch: {len(encoded)} bytes where {payload_end} were announced")

    def _expect(self, at: int, count: int) -> None:
        found = _U32.unpack_from(self.encoded, at)[0]
        if found != count:
            raise DecodeError(f"batch: a column of {found} where {count} were announced")

    def _check_runs(self, at: int) -> int:
        """Check an offsets column and the bytes behind it; return where the bytes begin."""
        whole = self._whole
        self._expect(at, whole + 1)
        bytes_at = at + 8 + 4 * (whole + 1)
        length = _U32.unpack_from(self.encoded, bytes_at - 4)[0]
        if whole == 1:
            start, end = _ONE_PAYLOAD.unpack_from(self.encoded, at)[1:3]
            sound = start == 0 and end == length
        else:
            offsets = np.frombuffer(self.encoded, np.int32, whole + 1, at + 4)
            sound = bool(
                offsets[0] == 0 and offsets[-1] == length and (offsets[1:] >= offsets[:-1]).all()
            )
        if not sound or bytes_at + length > len(self.encoded):
            raise DecodeError("batch: offsets do not fit their bytes")
        return bytes_at

    @property
    def last(self) -> int:
        """Sequence number of the last item."""
        return self.first + self.count - 1

    @property
    def size(self) -> int:
        """Bytes of the encoded sample (of the whole, when this is a part)."""
        return len(self.encoded)

    @property
    def ids(self) -> Int64s:
        """The senders' own numbers."""
        return np.frombuffer(self.encoded, np.int64, self.count, _IDS_AT + 8 * self._begin)

    @property
    def times(self) -> Int64s:
        """Microseconds since 1970."""
        at = _IDS_AT + 8 + 8 * self._whole
        return np.frombuffer(self.encoded, np.int64, self.count, at + 8 * self._begin)

    @property
    def sender_offsets(self) -> Int32s:
        """``count + 1`` offsets into :attr:`senders`."""
        return self._offsets(self._senders_at)

    @property
    def senders(self) -> Octets:
        """The senders' names, UTF-8, one after the other (of the whole, when this is a part)."""
        return self._octets(self._senders_at)

    @property
    def payload_offsets(self) -> Int32s:
        """``count + 1`` offsets into :attr:`payloads`."""
        return self._offsets(self._payloads_at)

    @property
    def payloads(self) -> Octets:
        """The payloads, one after the other (of the whole, when this is a part)."""
        return self._octets(self._payloads_at)

    @property
    def payload_size(self) -> int:
        """Bytes of payload of these items."""
        if self._whole == 1:
            return int(_U32.unpack_from(self.encoded, self._payloads_at - 4)[0])
        offsets = self.payload_offsets
        return int(offsets[-1]) - int(offsets[0])

    def _offsets(self, bytes_at: int) -> Int32s:
        at = bytes_at - 4 - 4 * (self._whole + 1)
        return np.frombuffer(self.encoded, np.int32, self.count + 1, at + 4 * self._begin)

    def _octets(self, bytes_at: int) -> Octets:
        length = _U32.unpack_from(self.encoded, bytes_at - 4)[0]
        return np.frombuffer(self.encoded, np.uint8, length, bytes_at)

    def plain(self) -> tuple[Encoded, Encoded, list[int], Encoded, list[int], Encoded]:
        """The columns as plain bytes, with lengths for offsets: the quick way for few items.

        Returns:
            Ids, times, lengths of senders, senders, lengths of payloads, payloads.
        """
        encoded = self.encoded
        ids_at = _IDS_AT + 8 * self._begin
        times_at = ids_at + 8 + 8 * self._whole
        senders, payloads = self._senders_at, self._payloads_at
        if self._whole == 1:
            (sender_size,) = _U32.unpack_from(encoded, senders - 4)
            (size,) = _U32.unpack_from(encoded, payloads - 4)
            return (
                encoded[ids_at : ids_at + 8],
                encoded[times_at : times_at + 8],
                [sender_size],
                encoded[senders : senders + sender_size],
                [size],
                encoded[payloads : payloads + size],
            )
        ends, name_ends = self.payload_offsets.tolist(), self.sender_offsets.tolist()
        width = 8 * self.count
        return (
            encoded[ids_at : ids_at + width],
            encoded[times_at : times_at + width],
            [b - a for a, b in pairwise(name_ends)],
            encoded[senders + name_ends[0] : senders + name_ends[-1]],
            [b - a for a, b in pairwise(ends)],
            encoded[payloads + ends[0] : payloads + ends[-1]],
        )

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Item]:
        encoded = self.encoded
        ids, times = self.ids.tolist(), self.times.tolist()
        senders = (self.sender_offsets + self._senders_at).tolist()
        payloads = (self.payload_offsets + self._payloads_at).tolist()
        for i in range(self.count):
            yield Item(
                str(encoded[senders[i] : senders[i + 1]], "utf-8", "replace"),
                ids[i],
                times[i],
                bytes(encoded[payloads[i] : payloads[i + 1]]),
            )

    def __repr__(self) -> str:
        return (
            f"<Batch writer {self.writer:x} slice {self.slice} epoch {self.epoch} "
            f"items {self.first}..{self.last}>"
        )

    def at(self, encoded: Encoded) -> Batch:
        """The same items over the same bytes elsewhere."""
        return self._part(encoded, self.first, self.last)

    def _part(self, encoded: Encoded, first: int, last: int) -> Batch:
        part = object.__new__(type(self))
        part.encoded = encoded
        part.writer, part.epoch, part.slice = self.writer, self.epoch, self.slice
        part.first, part.count = first, last - first + 1
        part._whole, part._begin = self._whole, self._begin + first - self.first
        part._senders_at, part._payloads_at = self._senders_at, self._payloads_at
        return part

    def between(self, first: int, last: int) -> Batch:
        """The items numbered ``first`` to ``last``, as far as they are in this batch."""
        first = max(first, self.first)
        last = min(last, self.last)
        if first == self.first and last == self.last:
            return self
        if first > last:
            raise ValueError(f"no item between {first} and {last} in {self!r}")
        return self._part(self.encoded, first, last)


def encode_item(writer: int, slice_id: int, epoch: int, first: int, item: Item) -> bytes:
    """Encode a batch of one item: the way of the lowest latency."""
    sender, item_id, time, payload = item
    name = sender.encode()
    name_size, size = len(name), len(payload)
    fixed = (writer, first, epoch, slice_id, 1, item_id, 1, time, 2, 0, name_size, name_size)
    return b"".join(
        (
            _ONE.pack(ENCAPSULATION, *fixed),
            name,
            b"\0" * (-name_size & 3),
            _ONE_PAYLOAD.pack(2, 0, size, size),
            payload,
            b"\0" * (-size & 3),
        )
    )


def encode_items(
    writer: int, slice_id: int, epoch: int, first: int, items: Sequence[Item]
) -> bytes:
    """Encode a batch of items that came one by one."""
    if len(items) == 1:
        return encode_item(writer, slice_id, epoch, first, items[0])
    names = [item.sender.encode() for item in items]
    payloads = [item.payload for item in items]
    return encode_columns(
        writer,
        slice_id,
        epoch,
        first,
        np.array([item.id for item in items], np.int64),
        np.array([item.time for item in items], np.int64),
        offsets_of([len(name) for name in names]),
        b"".join(names),
        offsets_of([len(payload) for payload in payloads]),
        b"".join(payloads),
    )


def encode_columns(
    writer: int,
    slice_id: int,
    epoch: int,
    first: int,
    ids: Int64s,
    times: Int64s,
    sender_offsets: Int32s,
    senders: bytes | memoryview,
    payload_offsets: Int32s,
    payloads: bytes | memoryview,
) -> bytes:
    """Encode a batch from columns; the offsets start at 0."""
    count = len(ids)
    sender_size, payload_size = len(senders), len(payloads)
    return b"".join(
        (
            _HEAD.pack(ENCAPSULATION, writer, first, epoch, slice_id, count),
            ids.tobytes(),
            _U32.pack(count),
            b"\0\0\0\0",
            times.tobytes(),
            _U32.pack(count + 1),
            sender_offsets.tobytes(),
            _U32.pack(sender_size),
            senders,
            b"\0" * (-sender_size & 3),
            _U32.pack(count + 1),
            payload_offsets.tobytes(),
            _U32.pack(payload_size),
            payloads,
            b"\0" * (-payload_size & 3),
        )
    )


def offsets_of(lengths: Sequence[int]) -> Int32s:
    """Offsets of runs of the given lengths: one more than there are runs, the first 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
