"""Frames: how messages follow one another on a TCP connection, bounded and with a checksum.

A frame is a length, a checksum and the bytes of one message, little endian::

    u32 length of all that follows | u32 CRC-32 of the message | message

A length beyond the limit or a checksum that does not fit is a `DecodeError`. What a message is made
of is the business of `evenflow.overlay.protocol.codec`.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FRAME = 8 << 20
"""Bytes of the largest frame, its length field excepted."""

_HEAD = struct.Struct("<II")
_CHECKSUM_BYTES = 4
_LENGTH_BYTES = 4


def frame(content: bytes) -> bytes:
    """Return a frame for a connection."""
    length = len(content) + _CHECKSUM_BYTES
    if length > LARGEST_FRAME:
        raise DecodeError(f"a frame has at most {LARGEST_FRAME} bytes", size=len(content))
    return _HEAD.pack(length, zlib.crc32(content)) + content


class Deframer:
    """Cuts a stream of bytes into the contents of frames, as they arrive."""

    __slots__ = ("_received",)

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of each complete frame; raise `DecodeError` on a damaged stream.

        After an error nothing that follows can be trusted: close the connection.
        """
        received = self._received
        received += data
        at = 0
        try:
            while len(received) - at >= _HEAD.size:
                length, checksum = _HEAD.unpack_from(received, at)
                if not _CHECKSUM_BYTES < length <= LARGEST_FRAME:
                    raise DecodeError(f"a frame of {length} bytes", size=len(received))
                end = at + _LENGTH_BYTES + length
                if len(received) < end:
                    break
                content = bytes(received[at + _HEAD.size : end])
                if zlib.crc32(content) != checksum:
                    raise DecodeError("its checksum does not fit", size=length)
                at = end
                yield content
        finally:
            del received[:at]
