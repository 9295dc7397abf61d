"""The bytes of a message: plain CDR, little endian, XCDR version 1.

A message type is compiled once into a :class:`Codec`, a list of fields that know how to append
themselves to a buffer and how to read themselves back. The bytes are exactly those of the standard
encoding of the same IDL struct, so any DDS program can read and write them: after a header of four
bytes every value stands at a multiple of its size, counted from the end of the header; a string is
its length with the closing zero, the UTF-8 bytes and the zero; a sequence is its length and its
elements. The sample is filled up with zeros to a multiple of four.

Decoding trusts nothing: every length is held against the bytes that are there before anything is
made from it, and whatever does not fit is a :class:`~evenflow.errors.DecodeError` that names type
and field. Numbers in a sequence go through one call of ``struct``; no Python code runs per number.

:class:`~evenflow.model.sample.Sample` is its own codec.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct, unpack_from
from struct import error as StructError  # noqa: N812
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from evenflow.domain.shape import fault_of
from evenflow.errors import DecodeError
from evenflow.model.batch import ENCAPSULATION
from evenflow.model.bounds import MOST_TERM
from evenflow.model.wire import Kind, Message

M = TypeVar("M", bound=Message)

Put = Callable[[bytearray, Any], None]
"""Appends a value to an encoded message."""
Get = Callable[[bytes, int], tuple[Any, int]]
"""Reads the value at an offset, and says where the next one may begin."""

_ORIGIN: Final = len(ENCAPSULATION)
"""Alignment counts from here."""
_FORMATS: Final = {
    "bool": "B",
    "uint8": "B",
    "uint32": "I",
    "uint64": "Q",
    "int64": "q",
    "float64": "d",
}
_U32: Final = Struct("<I")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its name, and its way into and out of the bytes."""

    name: str
    kind: Kind
    put: Put
    get: Get


class Codec(Generic[M]):
    """Encodes and decodes the messages of one type."""

    __slots__ = ("_keys", "fields", "message_type")

    def __init__(self, message_type: type[M], fields: tuple[Field, ...]) -> None:
        self.message_type = message_type
        self.fields = fields
        self._keys = tuple(field for field in fields if field.kind.key)

    @property
    def keyed(self) -> bool:
        """Whether the type has key fields: one DDS instance for each value of them."""
        return bool(self._keys)

    def encode(self, message: M) -> bytes:
        """Encode a message; :class:`ValueError` when a value does not fit its field."""
        out = bytearray(ENCAPSULATION)
        for field in self.fields:
            value = getattr(message, field.name)
            try:
                field.put(out, value)
            except (StructError, TypeError, AttributeError) as error:
                kind = f"sequence<{field.kind.idl}>" if field.kind.sequence else field.kind.idl
                name = f"{self.message_type.__name__}.{field.name}"
                raise ValueError(f"{name}: {value!r} is no {kind} ({error})") from None
        out += bytes(-len(out) & 3)
        return bytes(out)

    def decode(self, encoded: bytes, newest_term: int = MOST_TERM) -> M:
        """Decode a message; :class:`DecodeError` when it is damaged or foreign.

        Args:
            encoded: Its bytes.
            newest_term: A message with a newer term is foreign.
        """
        message = self.message_type(*self._values(encoded, self.fields))
        fault = fault_of(message, newest_term)
        if fault:
            raise self._damage(encoded, fault)
        return message

    def decode_key(self, encoded: bytes) -> tuple[Any, ...]:
        """Decode a sample of the key fields alone, which DDS gives for an instance that is gone."""
        return tuple(self._values(encoded, self._keys))

    def key_of(self, message: M) -> tuple[Any, ...]:
        """Return the key fields of a message."""
        return tuple(getattr(message, field.name) for field in self._keys)

    def _values(self, encoded: bytes, expected: tuple[Field, ...]) -> list[Any]:
        # The last two bytes of the header are options: other writers put their padding there.
        if encoded[:2] != ENCAPSULATION[:2] or len(encoded) < _ORIGIN:
            raise self._damage(encoded, f"header {encoded[:4].hex()} is no little-endian plain CDR")
        at = _ORIGIN
        values = []
        for field in expected:
            try:
                value, at = field.get(encoded, at)
            except (StructError, ValueError) as error:
                raise self._damage(encoded, f"{field.name}: {error}") from None
            values.append(value)
        if not 0 <= len(encoded) - at <= 3:
            raise self._damage(encoded, f"{len(encoded) - at} bytes after the last field")
        return values

    def _damage(self, encoded: bytes, reason: str) -> DecodeError:
        return DecodeError(f"{self.message_type.__name__}: {reason}", size=len(encoded))


_codecs: Final[dict[type[Message], Codec[Any]]] = {}


def codec_of(message_type: type[M]) -> Codec[M]:
    """Return the codec of a message type, made once from the wire kinds of its fields."""
    codec: Codec[M] | None = _codecs.get(message_type)
    if codec is None:
        hints = get_type_hints(message_type, include_extras=True)
        names = message_type.__dataclass_fields__
        codec = Codec(message_type, tuple(_field(name, hints[name]) for name in names))
        _codecs[message_type] = codec
    return codec


def encode(message: Message) -> bytes:
    """Encode a message of any type."""
    return codec_of(type(message)).encode(message)


def _field(name: str, annotation: Any) -> Field:
    python_type, kind = get_args(annotation)
    return Field(name, kind, *_way_of(kind, python_type))


def _way_of(kind: Kind, python_type: Any) -> tuple[Put, Get]:
    if kind.idl == "string":
        return (_put_texts, _get_texts) if kind.sequence else (_put_text, _get_text)
    if kind.sequence:
        octets = python_type is bytes
        return (_put_octets, _get_octets) if octets else _numbers(_FORMATS[kind.idl])
    if kind.idl == "bool":
        return _put_bool, _get_bool
    return _number(_FORMATS[kind.idl])


def _number(code: str) -> tuple[Put, Get]:
    form = Struct(f"<{code}")
    size = form.size

    def put(out: bytearray, value: Any) -> None:
        out += bytes((_ORIGIN - len(out)) % size)
        out += form.pack(value)

    def get(encoded: bytes, at: int) -> tuple[Any, int]:
        at += (_ORIGIN - at) % size
        return form.unpack_from(encoded, at)[0], at + size

    return put, get


def _numbers(code: str) -> tuple[Put, Get]:
    size = Struct(f"<{code}").size

    def put(out: bytearray, value: Any) -> None:
        _put_length(out, len(value))
        if value:
            out += bytes((_ORIGIN - len(out)) % size)
            out += Struct(f"<{len(value)}{code}").pack(*value)

    def get(encoded: bytes, at: int) -> tuple[Any, int]:
        count, at = _get_length(encoded, at, size)
        if not count:
            return (), at
        at += (_ORIGIN - at) % size
        return unpack_from(f"<{count}{code}", encoded, at), at + count * size

    return put, get


def _put_length(out: bytearray, length: int) -> None:
    out += bytes(-len(out) & 3)
    out += _U32.pack(length)


def _get_length(encoded: bytes, at: int, size: int) -> tuple[int, int]:
    at += -at & 3
    (length,) = _U32.unpack_from(encoded, at)
    at += 4
    if length * size > len(encoded) - at:
        raise ValueError(f"{length} elements announced, {len(encoded) - at} bytes left")
    return length, at


def _put_octets(out: bytearray, value: Any) -> None:
    _put_length(out, len(value))
    out += value


def _get_octets(encoded: bytes, at: int) -> tuple[Any, int]:
    length, at = _get_length(encoded, at, 1)
    return encoded[at : at + length], at + length


def _put_bool(out: bytearray, value: Any) -> None:
    out.append(1 if value else 0)


def _get_bool(encoded: bytes, at: int) -> tuple[Any, int]:
    if at >= len(encoded) or encoded[at] > 1:
        raise ValueError("neither true nor false")
    return encoded[at] == 1, at + 1


def _put_text(out: bytearray, value: Any) -> None:
    # Names from the operating system may hold what UTF-8 cannot, and a string in CDR ends at its
    # first zero: better a "?" than an error.
    text = value.encode("utf-8", "replace").replace(b"\0", b"?")
    _put_length(out, len(text) + 1)
    out += text
    out.append(0)


def _get_text(encoded: bytes, at: int) -> tuple[Any, int]:
    length, at = _get_length(encoded, at, 1)
    end = at + length - 1
    if length == 0 or encoded[end] != 0:
        raise ValueError("a string without its closing zero")
    return str(encoded[at:end], "utf-8"), end + 1


def _put_texts(out: bytearray, value: Any) -> None:
    _put_length(out, len(value))
    for text in value:
        _put_text(out, text)


def _get_texts(encoded: bytes, at: int) -> tuple[Any, int]:
    # The shortest string takes 5 bytes, and all but the last begin at a multiple of 4.
    count, at = _get_length(encoded, at, 5)
    texts = []
    for _ in range(count):
        text, at = _get_text(encoded, at)
        texts.append(text)
    return tuple(texts), at
