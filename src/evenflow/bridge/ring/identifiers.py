"""Identifiers: where bridges and devices are on the circle (C-DDSB, section 3.1).

A GUID has 96 bits. An identifier is the first ``bits`` bits of its BLAKE2b, so identifiers are
spread evenly however GUIDs were chosen. A bridge stands on the circle several times, at its
*points*: its first point is its own identifier, as in the paper; the others are those of its GUID
with the number of the point behind it. With one point each the ring is the paper's.

A bridge is known by its name, and its GUID follows from that, as that of a device does which was
given none: so whoever knows who is there knows the ring.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 64
"""Bits of an identifier; a figure of the paper has 6."""
GUID_BYTES: Final = 12
POINTS: Final = 128
"""Points of a bridge, unless it is set otherwise."""

Identifiers = NDArray[np.uint64]
Placing = Callable[[str, int], Identifiers]
"""Where a bridge of this name with so many points stands, its first point first."""


def guid_of(name: str) -> bytes:
    """The GUID of a bridge, or of a device that was given none."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=GUID_BYTES).digest()


def identifier_of(guid: bytes, bits: int = BITS) -> int:
    """Where a GUID is on a circle of 2 ** ``bits`` identifiers."""
    return int.from_bytes(blake2b(guid, digest_size=8).digest()) >> (BITS - bits)


def identifiers_of(guids: list[bytes], bits: int = BITS) -> Identifiers:
    """The same of many."""
    digests = b"".join([blake2b(guid, digest_size=8).digest() for guid in guids])
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64) >> np.uint64(BITS - bits)


def hashed(bits: int = BITS) -> Placing:
    """Bridges stand where their GUIDs say."""

    @lru_cache(maxsize=4_096)
    def place(name: str, points: int) -> Identifiers:
        guid = guid_of(name)
        numbered = [guid + number.to_bytes(4) for number in range(1, points)]
        return identifiers_of([guid, *numbered], bits)

    return place
