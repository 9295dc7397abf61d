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
NumPy and Arrow take as they are. If some items have headers, these lie behind the last payload
(:mod:`evenflow.model.headers`). Where only some slices are wanted of a sample, :meth:`Sample.only`
copies their rows out; nothing between a publisher and Spark touches single items.
"""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import DecodeError
from evenflow.model.batch import ENCAPSULATION, Batch, Encoded, Rows
from evenflow.model.bounds import MOST_NUMBER, MOST_SLICES
from evenflow.model.encoding import HEAD, TWO_ENDS, U32, encode_joined
from evenflow.model.headers import decode_headers, view_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.batch import Int32s, Int64s, Octets
    from evenflow.model.headers import Headers

_SLICES_AT: Final = HEAD.size


class Sample:
    """Items of one writer and epoch; a view into one encoded sample."""

    __slots__ = ("count", "encoded", "epoch", "headers_at", "ids_at", "payloads_at", "run_count",
                 "senders_at", "serial", "times_at", "writer")  # fmt: skip

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
    headers_at: int
    """Where the headers begin; 0: no item has any."""

    def __init__(self, encoded: Encoded) -> None:
        """Decode and check a sample; :class:`DecodeError` when it is damaged."""
        self.encoded = encoded
        try:
            head, self.writer, self.serial, self.epoch, self.run_count = HEAD.unpack_from(encoded)
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
            self.headers_at = 0
            self.senders_at = self._check_words(self.times_at + 8 * count)
            end = self.senders_at + U32.unpack_from(encoded, self.senders_at - 4)[0]
            self.payloads_at = self._check_words(end + (-end & 3), True)  # noqa: FBT003
            end = self.payloads_at + U32.unpack_from(encoded, self.payloads_at - 4)[0]
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
        found = U32.unpack_from(self.encoded, at)[0]
        if found != count:
            raise DecodeError(f"sample: a column of {found} where {count} were announced")

    def _check_words(self, at: int, are_last: bool = False) -> int:  # noqa: FBT001, FBT002
        """Check an offsets column and the bytes behind it; return where the bytes begin.

        Behind the last words there may be headers.
        """
        count = self.count
        if count == 1:
            entries, start, end, length = TWO_ENDS.unpack_from(self.encoded, at)
            sound = entries == 2 and start == 0 and end == length
        else:
            self._expect(at, count + 1)
            offsets = np.frombuffer(self.encoded, np.int32, count + 1, at + 4)
            length = U32.unpack_from(self.encoded, at + 4 + 4 * (count + 1))[0]
            sound = bool(
                offsets[0] == 0 and offsets[-1] == length and (offsets[1:] >= offsets[:-1]).all()
            )
        bytes_at: int = at + 8 + 4 * (count + 1)
        if not sound and are_last:
            sound = self._has_headers(at, bytes_at, length)
        if not sound or bytes_at + length > len(self.encoded):
            raise DecodeError("sample: offsets do not fit their bytes")
        return bytes_at

    def _has_headers(self, at: int, bytes_at: int, length: int) -> bool:
        """Whether offsets fit words with headers behind; `DecodeError` if these are damaged."""
        self._expect(at, self.count + 1)
        offsets = np.frombuffer(self.encoded, np.int32, self.count + 1, at + 4)
        used = int(offsets[-1])
        if offsets[0] or used >= length or (offsets[1:] < offsets[:-1]).any():
            return False
        self.headers_at = bytes_at + used + (-used & 3)
        block = memoryview(self.encoded)[self.headers_at : bytes_at + length]
        decode_headers(block, self.count)
        return True

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

    @property
    def headers(self) -> Headers | None:
        """The headers of all items; None when none has any."""
        if not self.headers_at:
            return None
        end = self.payloads_at + U32.unpack_from(self.encoded, self.payloads_at - 4)[0]
        return view_headers(memoryview(self.encoded)[self.headers_at : end])

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
        length = U32.unpack_from(self.encoded, bytes_at - 4)[0]
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
