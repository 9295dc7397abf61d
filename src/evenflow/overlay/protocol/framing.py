"""How the overlay's messages look on a TCP connection: bounded, checked frames (section I-A).

A frame is a length, a checksum, a type and the fields of one message::

    u32 length of all that follows | u32 CRC-32 of all that follows it | u8 type | fields

A message is a frozen dataclass; its annotations say how each field is written. There are few kinds:
whole numbers below 2**62, text, octets, yes or no, coordinates, other dataclasses, and tuples
of these. All is little endian. Reading is strict: a length beyond the limit, a checksum that does
not fit, an unknown type, a field that is cut off, text that is not UTF-8, a coordinate outside the
unit square, octets left over, or values that the message itself refuses end in a `DecodeError`, and
in nothing else. So what arrives damaged or from a stranger costs the connection and no more.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from evenflow.errors import DecodeError, EvenflowError
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

LARGEST_FRAME = 8 << 20
"""Octets of the largest frame, its length field excepted."""

LARGEST_TUPLE = 1 << 20
"""Entries of the longest tuple in a message."""

LARGEST_NUMBER = 1 << 62
"""Room above remains, so that sums of two do not overflow anywhere."""

_HEAD = struct.Struct("<II")
_KIND = struct.Struct("<B")
_NUMBER = struct.Struct("<q")
_PLACE = struct.Struct("<dd")
_SHORT = struct.Struct("<H")
_LONG = struct.Struct("<I")


class Cursor:
    """A place in the octets that are being read."""

    __slots__ = ("at", "octets")

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.at = 0

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        """Read the next values of a fixed form."""
        end = self.at + form.size
        if end > len(self.octets):
            raise DecodeError("it is cut off", size=len(self.octets))
        values = form.unpack_from(self.octets, self.at)
        self.at = end
        return values

    def take(self, count: int) -> bytes:
        """Read the next octets."""
        end = self.at + count
        if end > len(self.octets):
            raise DecodeError("it is cut off", size=len(self.octets))
        found = self.octets[self.at : end]
        self.at = end
        return found


def _write_text(out: bytearray, value: str) -> None:
    encoded = value.encode()
    out += _SHORT.pack(len(encoded))
    out += encoded


def _read_text(cursor: Cursor) -> str:
    (count,) = cursor.unpack(_SHORT)
    return cursor.take(count).decode()


def _write_octets(out: bytearray, value: bytes) -> None:
    out += _LONG.pack(len(value))
    out += value


def _read_octets(cursor: Cursor) -> bytes:
    (count,) = cursor.unpack(_LONG)
    return cursor.take(count)


def _write_number(out: bytearray, value: int) -> None:
    out += _NUMBER.pack(value)


def _read_number(cursor: Cursor) -> int:
    number: int = cursor.unpack(_NUMBER)[0]
    if not 0 <= number <= LARGEST_NUMBER:
        raise DecodeError(f"{number} is not from 0 to 2**62", size=len(cursor.octets))
    return number


def _write_flag(out: bytearray, value: bool) -> None:  # noqa: FBT001 - a field, not a switch
    out += _KIND.pack(value)


def _read_flag(cursor: Cursor) -> bool:
    (value,) = cursor.unpack(_KIND)
    if value > 1:
        raise DecodeError(f"{value} is neither yes nor no", size=len(cursor.octets))
    return bool(value)


def _write_place(out: bytearray, value: Coordinate) -> None:
    out += _PLACE.pack(value.x, value.y)


def _read_place(cursor: Cursor) -> Coordinate:
    x, y = cursor.unpack(_PLACE)
    if not (0 <= x <= 1 and 0 <= y <= 1):  # also false for what is not a number
        raise DecodeError(f"({x}, {y}) is outside the unit square", size=len(cursor.octets))
    return Coordinate(x, y)


_PLAIN: dict[type, tuple[Any, Any]] = {
    int: (_write_number, _read_number),
    str: (_write_text, _read_text),
    bytes: (_write_octets, _read_octets),
    bool: (_write_flag, _read_flag),
    Coordinate: (_write_place, _read_place),
}


def _codec(kind: Any) -> tuple[Callable[[bytearray, Any], None], Callable[[Cursor], Any]]:
    """Return how a value of an annotated kind is written and read."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if get_origin(kind) is tuple:
        inner, rest = get_args(kind)
        assert rest is Ellipsis
        return _tuple_codec(*_codec(inner))
    assert is_dataclass(kind), f"{kind} has no place in a message"
    return _record_codec(kind)


def _tuple_codec(
    write: Callable[[bytearray, Any], None], read: Callable[[Cursor], Any]
) -> tuple[Callable[[bytearray, Any], None], Callable[[Cursor], Any]]:
    def write_all(out: bytearray, values: tuple[Any, ...]) -> None:
        out += _LONG.pack(len(values))
        for value in values:
            write(out, value)

    def read_all(cursor: Cursor) -> tuple[Any, ...]:
        (count,) = cursor.unpack(_LONG)
        # Every entry has an octet at least, so a false count cannot make us reserve memory.
        if count > min(LARGEST_TUPLE, len(cursor.octets) - cursor.at):
            raise DecodeError(f"a list of {count} entries does not fit", size=len(cursor.octets))
        return tuple([read(cursor) for _ in range(count)])

    return write_all, read_all


def _record_codec(
    kind: Any,
) -> tuple[Callable[[bytearray, Any], None], Callable[[Cursor], Any]]:
    # Some modules import the name for type checking alone.
    hints = get_type_hints(kind, localns={"Coordinate": Coordinate})
    names = [field.name for field in fields(kind)]
    codecs = [_codec(hints[name]) for name in names]
    writers = [(name, codec[0]) for name, codec in zip(names, codecs, strict=True)]
    readers = [codec[1] for codec in codecs]

    def write(out: bytearray, value: Any) -> None:
        for name, write_field in writers:
            write_field(out, getattr(value, name))

    def read(cursor: Cursor) -> Any:
        return kind(*[read_field(cursor) for read_field in readers])

    return write, read


class Codec:
    """Reads and writes the messages of a fixed list of types; the place in the list is the code."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds
        self._codes = {kind: code for code, kind in enumerate(kinds)}
        self._codecs = [_record_codec(kind) for kind in kinds]

    def encode(self, message: Any) -> bytes:
        """Return a message's type and fields."""
        code = self._codes[type(message)]
        out = bytearray(_KIND.pack(code))
        self._codecs[code][0](out, message)
        return bytes(out)

    def decode(self, octets: bytes) -> Any:
        """Return the message that the octets hold, exactly."""
        cursor = Cursor(octets)
        (code,) = cursor.unpack(_KIND)
        if code >= len(self.kinds):
            raise DecodeError(f"there is no message type {code}", size=len(octets))
        try:
            message = self._codecs[code][1](cursor)
        except DecodeError:
            raise
        except (EvenflowError, ValueError) as error:
            name = self.kinds[code].__name__
            raise DecodeError(f"{name}: {error}", size=len(octets)) from None
        if cursor.at != len(octets):
            raise DecodeError(f"{len(octets) - cursor.at} octets are left over", size=len(octets))
        return message


def frame(octets: bytes) -> bytes:
    """Return a frame for a connection."""
    if len(octets) + 4 > LARGEST_FRAME:
        raise DecodeError(f"a frame has at most {LARGEST_FRAME} octets", size=len(octets))
    return _HEAD.pack(len(octets) + 4, zlib.crc32(octets)) + octets


class Deframer:
    """Cuts a stream of octets into the contents of frames, as they arrive."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, octets: bytes) -> Iterator[bytes]:
        """Yield what each complete frame holds; raise `DecodeError` when the stream is damaged.

        After an error nothing that follows can be trusted: close the connection.
        """
        held = self._held
        held += octets
        at = 0
        try:
            while len(held) - at >= _HEAD.size:
                length, checksum = _HEAD.unpack_from(held, at)
                if not 4 < length <= LARGEST_FRAME:
                    raise DecodeError(f"a frame of {length} octets", size=len(held))
                if len(held) - at < 4 + length:
                    break
                content = bytes(held[at + _HEAD.size : at + 4 + length])
                if zlib.crc32(content) != checksum:
                    raise DecodeError("its checksum does not fit", size=length)
                at += 4 + length
                yield content
        finally:
            del held[:at]
