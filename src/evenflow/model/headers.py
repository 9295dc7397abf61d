"""Headers of items: a small map from names to bytes, beside the payload.

They say something *about* a payload to whoever passes it on or reads it: a trace context, a content
type, the id of a schema. Most topics have none, and pay nothing: a sample has a block of headers
only if some item of it has some, and then for these items alone.

The block lies in the octets of ``payloads``, behind the last payload, where no offset reaches. A
sample is of a final type that programs know which are not ours: with one more member it would be
another type, which they could neither write nor read. So they still can, and whoever knows nothing
of headers sees the payloads as they are. The block begins at a multiple of 4, and is, little endian
and for ``n`` headers::

    uint32 n                        above 0
    int32  rows[n]                  of each header: its item, by its row in the sample; ascending
    int32  name_offsets[n + 1]      from 0
    int32  value_offsets[n + 1]     from 0
    octet  names[]                  UTF-8, one after the other
    octet  values[]                 one after the other, up to the end of payloads

Columns again, so headers are cut, joined and given to Arrow without a look at single ones. What
comes from the network is checked: offsets, text, and the bounds below; an item has a name once.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evenflow.errors import DecodeError
from evenflow.model.item_headers import (
    HEADER_BYTES,
    MOST_HEADER_BYTES,
    MOST_HEADERS,
    MOST_NAME_BYTES,
    U32,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenflow.model.item_headers import Pairs

Int32s = npt.NDArray[np.int32]

BLOCK_BYTES: Final = 15
"""Bytes a block has besides its headers, at most: their number, two offsets, what aligns it."""

_WEIGHTS: Final = np.random.default_rng(1).integers(0, 1 << 63, MOST_NAME_BYTES, np.uint64) | 1
"""For each octet of a name, so that equal names have equal sums, and others hardly ever."""


class Headers(NamedTuple):
    """The headers of some items, as columns; there is at least one."""

    rows: Int32s
    """Of each header the item that it belongs to, by its row; ascending."""
    name_offsets: Int32s
    """One more than there are headers: offsets into :attr:`names`."""
    names: bytes | memoryview
    """UTF-8, one after the other."""
    value_offsets: Int32s
    """One more than there are headers: offsets into :attr:`values`."""
    values: bytes | memoryview
    """One after the other."""

    @property
    def octets(self) -> int:
        """Bytes that they add to a sample, at most."""
        ends = self.name_offsets[-1] - self.name_offsets[0]
        ends += self.value_offsets[-1] - self.value_offsets[0]
        return int(ends) + HEADER_BYTES * len(self.rows) + BLOCK_BYTES

    def part(self, begin: int, end: int) -> Headers | None:
        """The headers of the items ``begin`` to ``end - 1``, which are then row 0 and so on."""
        first, last = np.searchsorted(self.rows, (begin, end)).tolist()
        if first == last:
            return None
        return Headers(
            self.rows[first:last] - np.int32(begin),
            *_cut(self.name_offsets[first : last + 1], self.names),
            *_cut(self.value_offsets[first : last + 1], self.values),
        )

    def maps(self) -> Iterator[tuple[int, dict[str, bytes]]]:
        """Each item that has headers, by its row, and its headers."""
        names, values = self.name_offsets.tolist(), self.value_offsets.tolist()
        found: dict[str, bytes] = {}
        row = int(self.rows[0])
        for i, of_row in enumerate(self.rows.tolist()):
            if of_row != row:
                yield row, found
                row, found = of_row, {}
            name = str(self.names[names[i] : names[i + 1]], "utf-8")
            found[name] = bytes(self.values[values[i] : values[i + 1]])
        yield row, found

    def of(self, row: int) -> dict[str, bytes]:
        """The headers of one item; empty when it has none."""
        found = self.part(row, row + 1)
        return {} if found is None else next(found.maps())[1]

    def taken(self, rows: npt.NDArray[np.int64]) -> Headers | None:
        """The headers of some items, in that order; the first of them is then row 0."""
        begins, ends = np.searchsorted(self.rows, rows), np.searchsorted(self.rows, rows, "right")
        counts = ends - begins
        which = _ranges(begins, counts)
        if not len(which):
            return None
        return Headers(
            np.repeat(np.arange(len(rows), dtype=np.int32), counts),
            *_picked(self.name_offsets, self.names, which),
            *_picked(self.value_offsets, self.values, which),
        )

    def ends(self, count: int) -> npt.NDArray[np.int64]:
        """Bytes that the headers of the first items add to a sample: of none, of one, and so on."""
        behind = np.searchsorted(self.rows, np.arange(count + 1))
        sizes: npt.NDArray[np.int64] = HEADER_BYTES * behind.astype(np.int64)
        return sizes + self.name_offsets[behind] + self.value_offsets[behind]

    def encode(self) -> bytes:
        """The block that a sample carries."""
        return b"".join(
            (
                U32.pack(len(self.rows)),
                self.rows.astype("<i4", copy=False).tobytes(),
                self.name_offsets.astype("<i4", copy=False).tobytes(),
                self.value_offsets.astype("<i4", copy=False).tobytes(),
                self.names,
                self.values,
            )
        )


def decode_headers(block: bytes | memoryview, count: int) -> Headers:
    """Read and check the block of a sample of so many items; `DecodeError` when it is damaged."""
    headers = view_headers(block)
    rows, names, values = headers.rows, headers.name_offsets, headers.value_offsets
    if not (
        (rows[1:] >= rows[:-1]).all()
        and rows[0] >= 0
        and rows[-1] < count
        and _are_offsets(names, len(headers.names))
        and _are_offsets(values, len(headers.values))
    ):
        raise DecodeError("headers: offsets do not fit their bytes")
    check_headers(headers)
    return headers


def check_headers(headers: Headers) -> None:
    """Hold headers against the bounds, and their names too; `DecodeError` when they do not fit."""
    _check_bounds(headers)
    _check_names(headers)


def view_headers(block: bytes | memoryview) -> Headers:
    """The columns of a block that was checked before."""
    size = len(block)
    n = U32.unpack_from(block)[0] if size >= 4 else 0
    begin = 4 * (1 + n + 2 * (n + 1))
    if not n or begin > size:
        raise DecodeError(f"headers: {n} of them in {size} bytes")
    rows = np.frombuffer(block, np.int32, n, 4)
    names = np.frombuffer(block, np.int32, n + 1, 4 + 4 * n)
    values = np.frombuffer(block, np.int32, n + 1, 8 + 8 * n)
    octets = memoryview(block)[begin:]
    end = max(0, min(int(names[-1]), size - begin))
    return Headers(rows, names, octets[:end], values, octets[end:])


def _are_offsets(offsets: Int32s, size: int) -> bool:
    return bool(offsets[0] == 0 and offsets[-1] == size and (offsets[1:] >= offsets[:-1]).all())


def _check_bounds(headers: Headers) -> None:
    rows, names = headers.rows, np.diff(headers.name_offsets)
    firsts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    ends = np.append(firsts[1:], len(rows))
    sizes = headers.name_offsets.astype(np.int64) + headers.value_offsets
    if (
        (ends - firsts).max() > MOST_HEADERS
        or (sizes[ends] - sizes[firsts]).max() > MOST_HEADER_BYTES
        or names.min() < 1
        or names.max() > MOST_NAME_BYTES
    ):
        raise DecodeError(
            f"headers: an item may have {MOST_HEADERS}, of {MOST_HEADER_BYTES} bytes with their"
            f" names, and a name 1 to {MOST_NAME_BYTES} bytes"
        )


def _check_names(headers: Headers) -> None:
    """Names are text, each by itself, and an item has none twice."""
    begins = headers.name_offsets[:-1]
    octets = np.frombuffer(headers.names, np.uint8)
    try:
        str(headers.names, "utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(f"headers: a name is no text ({error})") from None
    if ((octets[begins] & 0xC0) == 0x80).any():
        raise DecodeError("headers: a name begins within a character")
    places = np.arange(len(octets)) - np.repeat(begins, np.diff(headers.name_offsets))
    sums = np.add.reduceat((octets + np.uint64(1)) * _WEIGHTS[places], begins)
    rows = headers.rows
    for apart in range(1, MOST_HEADERS):
        same_item = rows[apart:] == rows[:-apart]
        if not same_item.any():
            return
        if (same_item & (sums[apart:] == sums[:-apart])).any():
            raise DecodeError("headers: an item has a name twice")


def headers_of(items: Sequence[Pairs | None]) -> Headers | None:
    """The headers of items, in columns; None when there are none."""
    rows = [row for row, pairs in enumerate(items) if pairs for _ in pairs]
    if not rows:
        return None
    pairs = list(chain.from_iterable(one for one in items if one))
    names, values = [name for name, _ in pairs], [value for _, value in pairs]
    return Headers(
        np.array(rows, np.int32),
        _offsets(names),
        b"".join(names),
        _offsets(values),
        b"".join(values),
    )


def repeated_headers(pairs: Pairs, count: int) -> Headers | None:
    """The same headers for so many items."""
    one = headers_of([pairs])
    if one is None or not count:
        return None
    return Headers(
        np.repeat(np.arange(count, dtype=np.int32), len(pairs)),
        _joined_offsets([one.name_offsets] * count),
        bytes(one.names) * count,
        _joined_offsets([one.value_offsets] * count),
        bytes(one.values) * count,
    )


def joined_headers(parts: Iterable[tuple[Headers | None, int]]) -> Headers | None:
    """The headers of stretches of items, one after the other; with each how many items it has."""
    found: list[Headers] = []
    shifts: list[int] = []
    before = 0
    for headers, count in parts:
        if headers is not None:
            found.append(headers)
            shifts.append(before)
        before += count
    if not found:
        return None
    return Headers(
        np.concatenate([one.rows + np.int32(by) for one, by in zip(found, shifts, strict=True)]),
        _joined_offsets([one.name_offsets for one in found]),
        b"".join(one.names for one in found),
        _joined_offsets([one.value_offsets for one in found]),
        b"".join(one.values for one in found),
    )


def _cut(offsets: Int32s, octets: bytes | memoryview) -> tuple[Int32s, memoryview]:
    return offsets - offsets[0], memoryview(octets)[offsets[0] : offsets[-1]]


def _picked(
    offsets: Int32s, octets: bytes | memoryview, which: npt.NDArray[np.int64]
) -> tuple[Int32s, bytes]:
    lengths = np.diff(offsets)[which]
    places = _ranges(offsets[which], lengths)
    ends = np.zeros(len(which) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    return ends, np.frombuffer(octets, np.uint8)[places].tobytes()


def _ranges(firsts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Consecutive numbers from each of some firsts, one range after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    found: npt.NDArray[np.int64] = np.repeat(firsts - (ends - counts), counts)
    return found + np.arange(len(found))


def _offsets(words: Sequence[bytes]) -> Int32s:
    offsets = np.zeros(len(words) + 1, np.int32)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    return offsets


def _joined_offsets(parts: Sequence[Int32s]) -> Int32s:
    offsets = np.zeros(sum(len(one) - 1 for one in parts) + 1, np.int32)
    np.cumsum(np.concatenate([np.diff(one) for one in parts]), out=offsets[1:])
    return offsets
