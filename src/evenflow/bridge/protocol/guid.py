"""The GUID of a device: 96 bits, given or derived from its name.

Derived means: the first twelve bytes of the SHA-256 of the name in UTF-8. SHA-256, because it is
the one hash that every device has, for its key. Written as 24 hexadecimal digits.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

GUID_BYTES: Final = 12
MOST_DEVICE_NAME: Final = 64
"""Bytes of a device's name."""

_HEX: Final = re.compile(r"[0-9a-f]{24}")


def guid_of(name: str) -> bytes:
    """The GUID of a device that was given none."""
    return sha256(name.encode()).digest()[:GUID_BYTES]


def guid_text(guid: bytes) -> str:
    """A GUID, for people and for the domain."""
    return guid.hex()


def parse_guid(text: str) -> bytes:
    """A GUID from its 24 hexadecimal digits; :class:`ValueError` when it is none."""
    if not _HEX.fullmatch(text.lower()):
        raise ValueError(f"{text[:40]!r} is no GUID: 24 hexadecimal digits")
    return bytes.fromhex(text)
