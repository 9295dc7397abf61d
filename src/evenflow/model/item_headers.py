"""The headers of one item: their bounds, and the block that carries them.

A mobile node encodes items one by one, and loads no NumPy. The block is that of a sample of one
item; :mod:`evenflow.model.headers` describes it, and has the columns of many items.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from struct import Struct, pack, unpack_from
from types import MappingProxyType
from typing import Final

from evenflow.errors import DecodeError

Pairs = tuple[tuple[bytes, bytes], ...]
"""The headers of one item as they travel: names, in UTF-8, and values."""

NO_HEADERS: Final[Mapping[str, bytes]] = MappingProxyType({})

MOST_HEADERS: Final = 64
"""Headers of one item."""
MOST_NAME_BYTES: Final = 255
MOST_HEADER_BYTES: Final = 16 << 10
"""Bytes of all names and values of one item; a W3C baggage alone may have 8 KiB."""
HEADER_BYTES: Final = 12
"""Bytes a header adds to its sample besides name and value: its row and two offsets."""

U32: Final = Struct("<I")


def encode_pairs(pairs: Pairs) -> bytes:
    """The block of one item; empty when it has no headers."""
    if not pairs:
        return b""
    names, values = [name for name, _ in pairs], [value for _, value in pairs]
    offsets = (accumulate(map(len, words), initial=0) for words in (names, values))
    n = len(pairs)
    head = pack(f"<I{n}i{2 * (n + 1)}i", n, *[0] * n, *next(offsets), *next(offsets))
    return b"".join((head, *names, *values))


def check_block(block: bytes) -> None:
    """Check a block that says it is of one item; `DecodeError` when it is damaged, or too large."""
    n = U32.unpack_from(block)[0] if len(block) >= U32.size else 0
    begin = 4 * (1 + n + 2 * (n + 1))
    if not 1 <= n <= MOST_HEADERS or begin > len(block):
        raise DecodeError(f"headers: {n} of them in {len(block)} bytes")
    rows, offsets = unpack_from(f"<{n}i", block, 4), unpack_from(f"<{2 * n + 2}i", block, 4 + 4 * n)
    name_ends, value_ends = offsets[: n + 1], offsets[n + 1 :]
    size = len(block) - begin
    if (
        any(rows)
        or name_ends[0]
        or value_ends[0]
        or any(one > other for ends in (name_ends, value_ends) for one, other in pairwise(ends))
        or name_ends[-1] + value_ends[-1] != size
        or size > MOST_HEADER_BYTES
    ):
        raise DecodeError("headers: offsets do not fit their bytes, or an item's bounds")
    names = [block[begin + one : begin + other] for one, other in pairwise(name_ends)]
    if not all(1 <= len(name) <= MOST_NAME_BYTES for name in names) or len(set(names)) < n:
        raise DecodeError("headers: a name of no length, or too long, or twice")
    try:
        for name in names:
            str(name, "utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(f"headers: a name is no text ({error})") from None
