"""Items, and how an application sees them: consecutive rows of a sample.

An item is ``(sender, id, time, payload, headers)``. Items travel as columns in a
:class:`~evenflow.model.sample.Sample`, which holds items of many slices. :class:`Rows` are some
consecutive rows of a sample, and a :class:`Batch` is those of one slice: consecutive items of one
writer and one slice. Both are views: nothing of a sample is copied until single items are asked
for, by iteration or as lists (``senders``, ``payloads``, ``headers``). Who works on whole columns
takes ``payload_buffer`` with ``payload_offsets``, and the same of senders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evenflow.errors import UsageError
from evenflow.model.item_headers import NO_HEADERS

if TYPE_CHECKING:
    from evenflow.model.given_headers import GivenHeaders
    from evenflow.model.headers import Headers
    from evenflow.model.payload import Payload
    from evenflow.model.sample import Sample

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Octets = npt.NDArray[np.uint8]
Encoded = bytes | memoryview
"""A sample: in memory, or where it was spilled to."""

ENCAPSULATION: Final = b"\x00\x01\x00\x00"
"""CDR header: plain CDR, little endian, no options."""

_I32: Final = Struct("<i")
_I64: Final = Struct("<q")


class Item(NamedTuple):
    """One item, as an application sees it."""

    sender: str
    id: int
    time: int
    """Microseconds since 1970."""
    payload: bytes
    headers: Mapping[str, bytes] = NO_HEADERS
    """What is said about the payload; mostly nothing."""


class Rows:
    """Consecutive rows of a sample, whatever their slices; columns are views into its bytes."""

    __slots__ = ("begin", "count", "sample")

    def __init__(self, sample: Sample, begin: int, count: int) -> None:
        self.sample = sample
        self.begin = begin
        """The first row, from 0."""
        self.count = count

    @property
    def ids(self) -> Int64s:
        """The senders' own numbers."""
        sample = self.sample
        return np.frombuffer(sample.encoded, np.int64, self.count, sample.ids_at + 8 * self.begin)

    @property
    def times(self) -> Int64s:
        """Microseconds since 1970."""
        sample = self.sample
        return np.frombuffer(sample.encoded, np.int64, self.count, sample.times_at + 8 * self.begin)

    @property
    def sender_offsets(self) -> Int32s:
        """``count + 1`` offsets into :attr:`sender_buffer`."""
        return self._offsets(self.sample.senders_at)

    @property
    def sender_buffer(self) -> Octets:
        """The senders' names, UTF-8, one after the other (of the whole sample); a view."""
        return self.sample.octets(self.sample.senders_at)

    @property
    def senders(self) -> list[str]:
        """The sender of each item."""
        encoded = self.sample.encoded
        ends = pairwise((self.sender_offsets + self.sample.senders_at).tolist())
        return [str(encoded[begin:end], "utf-8", "replace") for begin, end in ends]

    @property
    def payload_offsets(self) -> Int32s:
        """``count + 1`` offsets into :attr:`payload_buffer`."""
        return self._offsets(self.sample.payloads_at)

    @property
    def payload_buffer(self) -> Octets:
        """The payloads, one after the other (of the whole sample); a view."""
        return self.sample.octets(self.sample.payloads_at)

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each item."""
        encoded = self.sample.encoded
        ends = pairwise((self.payload_offsets + self.sample.payloads_at).tolist())
        return [bytes(encoded[begin:end]) for begin, end in ends]

    @property
    def headers(self) -> list[Mapping[str, bytes]]:
        """The headers of each item; an empty map where it has none."""
        columns = self.header_columns
        maps = {} if columns is None else dict(columns.maps())
        return [maps.get(row) or {} for row in range(self.count)]

    @property
    def header_columns(self) -> Headers | None:
        """The headers of these items, as columns; None when they have none."""
        found = self.sample.headers
        if found is None or self.count == self.sample.count:
            return found
        return found.part(self.begin, self.begin + self.count)

    @property
    def payload_size(self) -> int:
        """Bytes of payload of these items."""
        # By struct: asked for each batch, and NumPy takes five times as long for two numbers.
        encoded, at = self.sample.encoded, self._offsets_at(self.sample.payloads_at)
        (end,) = _I32.unpack_from(encoded, at + 4 * self.count)
        return int(end - _I32.unpack_from(encoded, at)[0])

    @property
    def first_time(self) -> int:
        """The time of the first item."""
        sample = self.sample
        return int(_I64.unpack_from(sample.encoded, sample.times_at + 8 * self.begin)[0])

    def _offsets(self, bytes_at: int) -> Int32s:
        at = self._offsets_at(bytes_at)
        return np.frombuffer(self.sample.encoded, np.int32, self.count + 1, at)

    def _offsets_at(self, bytes_at: int) -> int:
        return bytes_at - 4 - 4 * (self.sample.count + 1) + 4 * self.begin

    def plain(self) -> tuple[Encoded, Encoded, list[int], Encoded, list[int], Encoded]:
        """The columns as plain bytes, with lengths for offsets: the quick way for few items.

        Returns:
            Ids, times, lengths of senders, senders, lengths of payloads, payloads.
        """
        sample = self.sample
        encoded = sample.encoded
        ids_at, times_at = sample.ids_at + 8 * self.begin, sample.times_at + 8 * self.begin
        senders, payloads = sample.senders_at, sample.payloads_at
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

    def are_of(self, senders: Iterable[bytes]) -> npt.NDArray[np.bool_]:
        """Which of these items are of some senders; names are compared where their length fits."""
        offsets, names = self.sender_offsets, self.sender_buffer
        lengths = np.diff(offsets)
        found = np.zeros(self.count, np.bool_)
        for sender in senders:
            fitting = np.flatnonzero(lengths == len(sender))
            places = offsets[fitting][:, None] + np.arange(len(sender))
            found[fitting] |= (names[places] == np.frombuffer(sender, np.uint8)).all(axis=1)
        return found

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Item]:
        sample = self.sample
        encoded = sample.encoded
        ids, times = self.ids.tolist(), self.times.tolist()
        senders = (self.sender_offsets + sample.senders_at).tolist()
        payloads = (self.payload_offsets + sample.payloads_at).tolist()
        headers = self.header_columns
        maps = {} if headers is None else dict(headers.maps())
        for i in range(self.count):
            yield Item(
                str(encoded[senders[i] : senders[i + 1]], "utf-8", "replace"),
                ids[i],
                times[i],
                bytes(encoded[payloads[i] : payloads[i + 1]]),
                maps.get(i) or {},
            )


class Batch(Rows):
    """Consecutive items of one writer and one slice, numbered from ``first``."""

    __slots__ = ("first", "replies", "slice")

    def __init__(self, sample: Sample, slice_id: int, first: int, begin: int, count: int) -> None:
        self.sample = sample
        self.slice = slice_id
        self.first = first
        """Sequence number of the first item."""
        self.begin = begin
        self.count = count
        self.replies: list[tuple[int, Payload, GivenHeaders | None]] | None = None
        """Rows and what is answered to them; None when nobody would send it."""

    @property
    def writer(self) -> int:
        """The publisher's writer."""
        return self.sample.writer

    @property
    def epoch(self) -> int:
        """The epoch that the items belong to."""
        return self.sample.epoch

    @property
    def last(self) -> int:
        """Sequence number of the last item."""
        return self.first + self.count - 1

    def reply(self, row: int, payload: Payload, headers: GivenHeaders | None = None) -> None:
        """Answer the sender of an item; sent when the application is through with the batch.

        Args:
            row: The item, by its place in the batch, from 0.
            payload: Bytes, a string (sent as UTF-8) or a mapping (sent as JSON).
            headers: What is said about it: names with bytes or strings (sent as UTF-8).

        Raises:
            UsageError: The batch is not in the hands of a node's application.
        """
        if self.replies is None:
            raise UsageError("a reply is made by a node's application, in on_new_data(batch)")
        if not 0 <= row < self.count:
            raise UsageError(f"row {row} of a batch of {self.count} items")
        self.replies.append((row, payload, headers))

    def between(self, first: int, last: int) -> Batch:
        """The items numbered ``first`` to ``last``, as far as they are in this batch."""
        first = max(first, self.first)
        last = min(last, self.last)
        if first == self.first and last == self.last:
            return self
        if first > last:
            raise ValueError(f"no item between {first} and {last} in {self!r}")
        begin = self.begin + first - self.first
        return Batch(self.sample, self.slice, first, begin, last - first + 1)

    def __repr__(self) -> str:
        return (
            f"<Batch writer {self.writer:x} slice {self.slice} epoch {self.epoch} "
            f"items {self.first}..{self.last}>"
        )


def offsets_of(lengths: Sequence[int]) -> Int32s:
    """Offsets of runs of the given lengths: one more than there are runs, the first 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
