"""What travels: one DDS sample with items of many slices, as columns sorted by slice.

The items of one slice are a *run* of consecutive rows, numbered consecutively per writer and slice.
The head says for each run its slice, how many items it has, and the number of the first of them.
Samples of a writer have serial numbers in the order in which they were made; so has, within a
slice, the order of its items. The IDL is

.. code-block:: idl

    @final struct Sample {
      uint64 writer;  uint64 serial;  uint64 epoch;
      sequence<uint32> slices;          sequence<uint32> counts;
      sequence<uint64> firsts;
      sequence<int64> ids;              sequence<int64> times;
      sequence<int32> sender_offsets;   sequence<octet> senders;
      sequence<int32> payload_offsets;  sequence<octet> payloads;
    };

A sample *is* its encoded form (CDR, little endian, XCDR version 1) plus a few numbers: publishing,
keeping, replaying and handing over pass the same bytes on, and the columns are views into them that
NumPy and Arrow take as they are. Where only some slices are wanted of a sample, :meth:`Sample.only`
copies their rows out; nothing between a publisher and Spark touches single items.
"""

from __future__ import annotations

import struct
from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import DecodeError
from evenflow.model.batch import ENCAPSULATION, Batch, Encoded, Item, Rows, offsets_of
from evenflow.model.bounds import MOST_NUMBER, MOST_SLICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenflow.model.batch import Int32s, Int64s, Octets

_HEAD: Final = Struct("<4sQQQI")
_U32: Final = Struct("<I")
_TWO_ENDS: Final = Struct("<IIII")
"""Offsets of one run of bytes, with their own length before and that of the bytes behind."""
_ONE: Final = Struct("<4sQQQIIIII4xQI4xqI4xqIIII")
"""Everything of a sample of one item up to the sender's name."""
_SLICES_AT: Final = _HEAD.size

ITEM_BYTES: Final = 24
"""Bytes an item adds to its sample besides sender and payload: id, time and two offsets."""
RUN_BYTES: Final = 16
"""Bytes that the head says of a run."""


class Sample:
    """Items of one writer and epoch; a view into one encoded sample."""

    __slots__ = ("count", "encoded", "epoch", "ids_at", "payloads_at", "run_count", "senders_at",
                 "serial", "times_at", "writer")  # fmt: skip

    encoded: Encoded
    writer: int
    serial: int
    epoch: int
    count: int
    """Items."""
    run_count: int
    """Slices that it has items of."""
    ids_at: int
    times_at: int
    senders_at: int
    """Where the bytes of the columns begin."""
    payloads_at: int

    def __init__(self, encoded: Encoded) -> None:
        """Decode and check a sample; :class:`DecodeError` when it is damaged."""
        self.encoded = encoded
        try:
            head, self.writer, self.serial, self.epoch, self.run_count = _HEAD.unpack_from(encoded)
            # The other half of the header is options: some writers note their padding there.
            if head[:2] != ENCAPSULATION[:2]:
                raise DecodeError(
                    f"sample: encapsulation {head.hex()} is not plain little-endian CDR"
                )
            if self.epoch > MOST_NUMBER or self.serial > MOST_NUMBER:
                raise DecodeError(f"sample: serial {self.serial}, epoch {self.epoch}")
            self._check_runs() if self.run_count != 1 else self._check_one_run()
            runs, count = self.run_count, self.count
            self.ids_at = _SLICES_AT + 20 + 16 * runs
            self.times_at = self.ids_at + 8 + 8 * count
            self._expect(self.ids_at - 8, count)
            self._expect(self.times_at - 8, count)
            self.senders_at = self._check_words(self.times_at + 8 * count)
            end = self.senders_at + _U32.unpack_from(encoded, self.senders_at - 4)[0]
            self.payloads_at = self._check_words(end + (-end & 3))
            end = self.payloads_at + _U32.unpack_from(encoded, self.payloads_at - 4)[0]
        except (struct.error, ValueError) as error:
            raise DecodeError(f"sample: cut short ({error})") from None
        if not 0 <= len(encoded) - end <= 3:
            raise DecodeError(f"sample: {len(encoded)} bytes where {end} were announced")

    def _check_one_run(self) -> None:
        slice_id, counts, count, firsts, first = struct.unpack_from(
            "<IIII4xQ", self.encoded, _SLICES_AT
        )
        if counts != 1 or firsts != 1:
            raise DecodeError("sample: columns of unequal length in the head")
        if not (count > 0 and 0 < first <= MOST_NUMBER - count and slice_id < MOST_SLICES):
            raise DecodeError(f"sample: {count} items of slice {slice_id}, numbered from {first}")
        self.count = count

    def _check_runs(self) -> None:
        """Check the head, and count the items."""
        runs = self.run_count
        if not runs:
            raise DecodeError("sample: no items")
        self._expect(_SLICES_AT + 4 * runs, runs)
        self._expect(_SLICES_AT + 4 + 8 * runs, runs)
        slices, counts, firsts = self.slices, self.counts, self.firsts
        self.count = int(counts.sum(dtype=np.int64))
        if not (slices[1:] > slices[:-1]).all():
            raise DecodeError("sample: its slices are not sorted, or one is there twice")
        if (
            slices[-1] >= MOST_SLICES
            or not counts.all()
            or firsts.min() == 0
            or firsts.max() > MOST_NUMBER - self.count
        ):
            raise DecodeError("sample: a run without items, or an impossible number")

    def _expect(self, at: int, count: int) -> None:
        found = _U32.unpack_from(self.encoded, at)[0]
        if found != count:
            raise DecodeError(f"sample: a column of {found} where {count} were announced")

    def _check_words(self, at: int) -> int:
        """Check an offsets column and the bytes behind it; return where the bytes begin."""
        count = self.count
        if count == 1:
            entries, start, end, length = _TWO_ENDS.unpack_from(self.encoded, at)
            sound = entries == 2 and start == 0 and end == length
        else:
            self._expect(at, count + 1)
            offsets = np.frombuffer(self.encoded, np.int32, count + 1, at + 4)
            length = _U32.unpack_from(self.encoded, at + 4 + 4 * (count + 1))[0]
            sound = bool(
                offsets[0] == 0 and offsets[-1] == length and (offsets[1:] >= offsets[:-1]).all()
            )
        bytes_at = at + 8 + 4 * (count + 1)
        if not sound or bytes_at + length > len(self.encoded):
            raise DecodeError("sample: offsets do not fit their bytes")
        return bytes_at

    # -- the head ---------------------------------------------------------------------------------

    @property
    def slices(self) -> Int32s:
        """The slice of each run, ascending."""
        return np.frombuffer(self.encoded, np.uint32, self.run_count, _SLICES_AT)

    @property
    def counts(self) -> Int32s:
        """How many items each run has."""
        at = _SLICES_AT + 4 + 4 * self.run_count
        return np.frombuffer(self.encoded, np.uint32, self.run_count, at)

    @property
    def firsts(self) -> Int64s:
        """The number of the first item of each run."""
        at = _SLICES_AT + 12 + 8 * self.run_count
        return np.frombuffer(self.encoded, np.uint64, self.run_count, at)

    @property
    def lasts(self) -> Int64s:
        """The number of the last item of each run."""
        return self.firsts.astype(np.int64) + self.counts - 1

    @property
    def size(self) -> int:
        """Bytes of the encoded sample."""
        return len(self.encoded)

    # -- its items --------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """All items."""
        return Rows(self, 0, self.count)

    def runs(self) -> Iterator[tuple[int, int, int, int]]:
        """Slice, number of the first item, first row and count of each run: a batch's arguments."""
        counts = self.counts.tolist()
        begins = accumulate(counts, initial=0)
        return zip(self.slices.tolist(), self.firsts.tolist(), begins, counts, strict=False)

    def batches(self) -> list[Batch]:
        """The items of each slice."""
        return [Batch(self, *run) for run in self.runs()]

    def octets(self, bytes_at: int) -> Octets:
        """The bytes of a column that begins there."""
        length = _U32.unpack_from(self.encoded, bytes_at - 4)[0]
        return np.frombuffer(self.encoded, np.uint8, length, bytes_at)

    def at(self, encoded: Encoded) -> Sample:
        """The same sample over the same bytes elsewhere."""
        moved = object.__new__(Sample)
        for name in self.__slots__:
            setattr(moved, name, getattr(self, name))
        moved.encoded = encoded
        return moved

    def only(self, wanted: Any) -> Sample:
        """The runs of some slices alone, copied; this sample when it is mostly them.

        Args:
            wanted: For each run, whether it is wanted.
        """
        chosen = np.flatnonzero(wanted)
        ends = np.cumsum(self.counts, dtype=np.int64)
        counts = self.counts[chosen]
        if 2 * int(counts.sum()) >= self.count:
            return self
        # Neighbouring runs are copied together.
        cuts = np.flatnonzero(np.diff(chosen) > 1)
        heads = chosen[np.concatenate(([0], cuts + 1))]
        tails = chosen[np.concatenate((cuts, [len(chosen) - 1]))]
        stretches = [
            Rows(self, begin, end - begin)
            for begin, end in zip(
                (ends[heads] - self.counts[heads]).tolist(), ends[tails].tolist(), strict=True
            )
        ]
        firsts = self.firsts[chosen]
        return Sample(
            encode_joined(
                self.writer, self.serial, self.epoch, self.slices[chosen], firsts, stretches, counts
            )
        )

    def __repr__(self) -> str:
        return (
            f"<Sample {self.serial} of writer {self.writer:x}, epoch {self.epoch}: "
            f"{self.count} items of {self.run_count} slices>"
        )


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
        *_joined([(rows.sender_offsets, rows.senders) for rows in stretches]),
        *_joined([(rows.payload_offsets, rows.payloads) for rows in stretches]),
    )


def encode_item(
    writer: int, serial: int, epoch: int, slice_id: int, first: int, item: Item
) -> bytes:
    """Encode a sample of one item: the way of the lowest latency."""
    sender, item_id, time, payload = item
    name = sender.encode()
    name_size, size = len(name), len(payload)
    numbers = (writer, serial, epoch, 1, slice_id, 1, 1, 1, first, 1, item_id, 1, time)
    return b"".join(
        (
            _ONE.pack(ENCAPSULATION, *numbers, 2, 0, name_size, name_size),
            name,
            b"\0" * (-name_size & 3),
            _TWO_ENDS.pack(2, 0, size, size),
            payload,
            b"\0" * (-size & 3),
        )
    )


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
) -> bytes:
    """Encode a sample from columns; items sorted by slice, offsets from 0."""
    runs, count = len(slices), len(ids)
    sender_size, payload_size = len(senders), len(payloads)
    return b"".join(
        (
            _HEAD.pack(ENCAPSULATION, writer, serial, epoch, runs),
            np.asarray(slices, np.uint32).tobytes(),
            _U32.pack(runs),
            np.asarray(counts, np.uint32).tobytes(),
            _U32.pack(runs),
            b"\0\0\0\0",
            np.asarray(firsts, np.uint64).tobytes(),
            _U32.pack(count),
            b"\0\0\0\0",
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
