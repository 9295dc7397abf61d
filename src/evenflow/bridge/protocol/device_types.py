"""The type of a device's topic: a struct of numbers, truth values and bounded text.

A device declares its type once (``SET_TYPE``) and then sends values in the declared order, big
endian and without padding: a bool is one byte, a number as many as its type has, a text its length
in one byte and its UTF-8 bytes. The bridge makes the DDS type of the same name and members, so
whoever knows that type reads it.

For people, and in the records that bridges keep of one another's devices, a type is one line::

    Temperature(celsius f64, room text32)

Fields of fixed size that stand together are packed by one call of ``struct``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Final

from evenflow.domain.agents.declaration import KINDS as FORMATS
from evenflow.domain.agents.declaration import TEXT, Value
from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS: Final = (*FORMATS, TEXT)
"""All kinds; on the wire a kind is its place in this list, from 1."""
MOST_FIELDS: Final = 32
MOST_TEXT: Final = 255
"""Bytes of a text."""
MOST_NAME: Final = 64
"""Bytes of the name of a field."""
MOST_TYPE_NAME: Final = 128

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TYPE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(::[A-Za-z][A-Za-z0-9_]*)*")
_LINE: Final = re.compile(r"(?P<name>[^()]+)\((?P<fields>[^()]*)\)")


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a device's type."""

    name: str
    kind: str
    """One of `KINDS`."""
    most: int = 0
    """Bytes that a text may have; 0 for all other kinds."""

    def __str__(self) -> str:
        return f"{self.name} {self.kind}{self.most or ''}"


@dataclass(frozen=True)
class DeviceType:
    """A struct; made by :func:`device_type` or :func:`parse_type`, which check it."""

    name: str
    """As in IDL: ``Temperature`` or ``plant::Temperature``."""
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.fields))})"

    @cached_property
    def _groups(self) -> tuple[tuple[Struct | None, tuple[Field, ...]], ...]:
        """Fields that are packed together; texts stand alone."""
        found: list[tuple[Struct | None, tuple[Field, ...]]] = []
        for is_text, some in groupby(self.fields, lambda field: field.kind == "text"):
            group = tuple(some)
            if is_text:
                found.extend((None, (field,)) for field in group)
            else:
                form = ">" + "".join(FORMATS[field.kind] for field in group)
                found.append((Struct(form), group))
        return tuple(found)

    def pack(self, values: Sequence[Value]) -> bytes:
        """The bytes of a sample; :class:`ValueError` when a value does not fit its field."""
        if len(values) != len(self.fields):
            raise ValueError(f"{self.name} has {len(self.fields)} fields, not {len(values)}")
        out, at = bytearray(), 0
        for form, fields in self._groups:
            some = values[at : at + len(fields)]
            at += len(fields)
            if form is None:
                out += _pack_text(fields[0], some[0])
                continue
            try:
                out += form.pack(*some)
            except (StructError, OverflowError) as error:
                raise ValueError(f"{self.name}: {some!r}: {error}") from None
        return bytes(out)

    def unpack(self, data: bytes, at: int = 0) -> tuple[Value, ...]:
        """The values of a sample; :class:`DecodeError` when the bytes are none of this type."""
        values: list[Value] = []
        for form, fields in self._groups:
            if form is None:
                text, at = _unpack_text(fields[0], data, at)
                values.append(text)
                continue
            if len(data) - at < form.size:
                raise DecodeError(f"{self.name}: too short", size=len(data))
            values.extend(form.unpack_from(data, at))
            at += form.size
        if at != len(data):
            raise DecodeError(f"{self.name}: {len(data) - at} bytes too many", size=len(data))
        return tuple(values)


def _pack_text(field: Field, value: Value) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{field.name}: {value!r} is no text")  # noqa: TRY004 - one kind of error
    encoded = value.encode("utf-8", "surrogatepass")
    if len(encoded) > field.most or "\0" in value:
        raise ValueError(f"{field.name}: {len(encoded)} bytes of text, at most {field.most}")
    return bytes((len(encoded),)) + encoded


def _unpack_text(field: Field, data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at] if at < len(data) else at + 1
    if end > len(data) or end - at - 1 > field.most:
        raise DecodeError(f"{field.name}: a text that does not fit", size=len(data))
    try:
        text = str(data[at + 1 : end], "utf-8")
    except UnicodeDecodeError:
        raise DecodeError(f"{field.name}: no UTF-8", size=len(data)) from None
    if "\0" in text:
        raise DecodeError(f"{field.name}: a zero in a text", size=len(data))
    return text, end


# -- making ----------------------------------------------------------------------------------------


def device_type(name: str, fields: Sequence[Field]) -> DeviceType:
    """A checked type; :class:`ValueError` says what is wrong with it."""
    if len(name) > MOST_TYPE_NAME or not _TYPE_NAME.fullmatch(name):
        raise ValueError(f"{name[:80]!r} is no name of a type")
    if not 1 <= len(fields) <= MOST_FIELDS:
        raise ValueError(f"{name}: {len(fields)} fields, not 1 to {MOST_FIELDS}")
    if len({field.name for field in fields}) != len(fields):
        raise ValueError(f"{name}: two fields of one name")
    for field in fields:
        if len(field.name) > MOST_NAME or not _IDENTIFIER.fullmatch(field.name):
            raise ValueError(f"{field.name[:80]!r} is no name of a field")
        if field.kind not in KINDS:
            raise ValueError(f"{field.name}: unknown kind {field.kind!r}; known are {KINDS}")
        if (field.kind == "text") != (1 <= field.most <= MOST_TEXT):
            raise ValueError(f"{field.name}: a text has 1 to {MOST_TEXT} bytes, others none")
    return DeviceType(name, tuple(fields))


def parse_type(line: str) -> DeviceType:
    """A type from its line; :class:`ValueError` when it is none."""
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"{line[:80]!r} is no type: write Name(field kind, ...)")
    return device_type(match["name"].strip(), [_field(one) for one in match["fields"].split(",")])


def _field(text: str) -> Field:
    name, _, kind = text.strip().partition(" ")
    kind = kind.strip()
    if kind.startswith("text"):
        most = kind.removeprefix("text") or str(MOST_TEXT)
        return Field(name, "text", int(most) if most.isdecimal() and len(most) < 4 else 0)
    return Field(name, kind)
