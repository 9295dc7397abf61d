"""How frames follow one another on a stream of bytes: a length, then MessagePack.

::

    u32 length, big endian | MessagePack array, its first element the name of the frame

A reader holds what came as bytes, and makes a frame of it only when it is asked for one, so a
connection holds what was sent to it and not its many times larger image in memory. It is `full`
when it has at least one whole frame and more bytes than it shall hold: who feeds it then stops. A
frame that has begun is always let in, up to the largest size; so nobody waits for ever.

What comes first from a client that nobody knows yet has a smaller bound.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.errors import PeerError
from evenflow.mobile.link.frames import MOST_FRAME, FromGateway, FromNode

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Frame, Limits

FROM_NODE: Final = msgspec.msgpack.Decoder(FromNode)
FROM_GATEWAY: Final = msgspec.msgpack.Decoder(FromGateway)

_ENCODER: Final = msgspec.msgpack.Encoder()
_LENGTH: Final = struct.Struct(">I")


class BadFrame(PeerError):
    """A frame that must not be taken; nothing after it can be trusted.

    Attributes:
        reason: What is wrong with it.
        oversized: Whether it is too large; otherwise it cannot be understood.
    """

    def __init__(self, reason: str, *, oversized: bool = False) -> None:
        self.reason = reason
        self.oversized = oversized
        super().__init__(reason)


def encode(frame: Frame) -> bytes:
    """Return a frame as it is on the wire; raise `ValueError` when it is larger than any may be."""
    buffer = bytearray(_LENGTH.size)
    _ENCODER.encode_into(frame, buffer, _LENGTH.size)
    length = len(buffer) - _LENGTH.size
    if length > MOST_FRAME:
        raise ValueError(f"a frame has at most {MOST_FRAME} bytes, this one has {length}")
    _LENGTH.pack_into(buffer, 0, length)
    return bytes(buffer)


class FrameReader:
    """Takes bytes as they come, gives frames as they are wanted.

    Args:
        decoder: What is expected from the other side.
        limits: How large frames may be, and how much is held.
    """

    __slots__ = ("_at", "_held", "_limit", "_limits", "decoder")

    def __init__(self, decoder: msgspec.msgpack.Decoder[Frame], limits: Limits) -> None:
        self.decoder = decoder
        self._limits = limits
        self._limit = min(limits.first_frame_bytes, limits.frame_bytes)
        self._held = bytearray()
        self._at = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that came and were not taken."""
        return len(self._held) - self._at

    @property
    def full(self) -> bool:
        """Whether nothing more should be fed before a frame is taken."""
        held = self.held_bytes
        if held <= self._limits.received_bytes:
            return False
        length: int = _LENGTH.unpack_from(self._held, self._at)[0]
        return held >= _LENGTH.size + length or length > self._limit

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self._held += data

    def next(self) -> Frame | None:
        """Return the next frame, None if it is not all there; raise `BadFrame`."""
        if self.held_bytes < _LENGTH.size:
            return None
        length: int = _LENGTH.unpack_from(self._held, self._at)[0]
        if length > self._limit:
            raise BadFrame(
                f"a frame of {length} bytes, at most {self._limit} are taken", oversized=True
            )
        begin = self._at + _LENGTH.size
        if len(self._held) - begin < length:
            return None
        with memoryview(self._held) as view:
            frame = self._decoded(view[begin : begin + length])
        self._limit = self._limits.frame_bytes
        self._at = begin + length
        if self._at == len(self._held):
            self._held = bytearray()
            self._at = 0
        elif self._at > self._limits.received_bytes:
            del self._held[: self._at]
            self._at = 0
        return frame

    def _decoded(self, content: memoryview) -> Frame:
        try:
            with content:
                return self.decoder.decode(content)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise BadFrame(f"a frame that does not fit: {error}"[:300]) from None
