"""The bytes of a declared type's values: CDR by a plan that is compiled once for the type.

Numbers that follow one another are one call of ``struct``; what they need to be aligned is part of
its format. Where a run of numbers begins after a text its alignment is known only then, so a run
has a format for each of the eight places where it may begin, made when it is first needed.

Written is XCDR version 1, little endian. Read is whatever a writer may send for the type: version 1
or 2 (in which eight bytes stand at a multiple of four), of either byte order. Decoding trusts
nothing: what does not fit is a :class:`~evenflow.errors.DecodeError`.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Final

from evenflow.domain.agents.declaration import KINDS, TEXT
from evenflow.errors import DecodeError
from evenflow.model.batch import ENCAPSULATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenflow.domain.agents.declaration import Declaration, Value

_ORIGIN: Final = len(ENCAPSULATION)
_ENCODINGS: Final = {
    b"\x00\x00": (">", 8),
    b"\x00\x01": ("<", 8),
    b"\x00\x06": (">", 4),
    b"\x00\x07": ("<", 4),
}
"""Byte order and largest alignment, by the beginning of a sample."""


class Plan:
    """How the values of one declared type become bytes, and bytes become values."""

    __slots__ = ("_declaration", "_layouts", "_writing")

    def __init__(self, declaration: Declaration) -> None:
        self._declaration = declaration
        self._layouts = {
            header: _Layout(declaration, order, most)
            for header, (order, most) in _ENCODINGS.items()
        }
        self._writing = self._layouts[ENCAPSULATION[:2]]

    def encode(self, values: Sequence[Value]) -> bytes:
        """Encode one value for each field; :class:`ValueError` when they are not such values."""
        try:
            return self._writing.encode(values)
        except (StructError, OverflowError, TypeError, AttributeError) as error:
            raise ValueError(f"{self._declaration.name}: {error}") from None

    def decode(self, encoded: bytes) -> tuple[Value, ...]:
        """Decode a sample; :class:`DecodeError` when it is damaged or foreign."""
        layout = self._layouts.get(encoded[:2])
        if layout is None or len(encoded) < _ORIGIN:
            raise self._damage(encoded, f"header {encoded[:4].hex()} is no plain CDR")
        try:
            return layout.decode(encoded)
        except (StructError, ValueError) as error:
            raise self._damage(encoded, str(error)) from None

    def _damage(self, encoded: bytes, reason: str) -> DecodeError:
        return DecodeError(f"{self._declaration.name}: {reason}", size=len(encoded))


class _Layout:
    """A declared type in one encoding: runs of numbers, and texts."""

    __slots__ = ("_bounds", "_count", "_length", "_steps")

    def __init__(self, declaration: Declaration, order: str, most: int) -> None:
        self._count = len(declaration.fields)
        self._length = Struct(f"{order}I")
        self._bounds = [field.bound for field in declaration.fields]
        self._steps = tuple(_steps(declaration, order, most))

    def encode(self, values: Sequence[Value]) -> bytes:
        if len(values) != self._count:
            raise TypeError(f"{len(values)} values for {self._count} fields")
        parts = [ENCAPSULATION]
        at = 0
        for run, first, last in self._steps:
            if run is not None:
                form = run.at(at & 7)
                part = form.pack(*values[first:last])
            else:
                part = bytes(-at & 3) + self._text(values[first], self._bounds[first])
            parts.append(part)
            at += len(part)
        parts.append(bytes(-at & 3))
        return b"".join(parts)

    def _text(self, value: Value, bound: int) -> bytes:
        # A string in CDR ends at its first zero.
        text = value.encode("utf-8", "replace").replace(b"\0", b"?")  # type: ignore[union-attr]
        if bound and len(text) > bound:
            raise TypeError(f"a text of {len(text)} bytes where at most {bound} fit")
        return self._length.pack(len(text) + 1) + text + b"\0"

    def decode(self, encoded: bytes) -> tuple[Value, ...]:
        values: list[Value] = []
        at = _ORIGIN
        for run, first, _ in self._steps:
            if run is not None:
                form = run.at((at - _ORIGIN) & 7)
                values += form.unpack_from(encoded, at)
                at += form.size
            else:
                text, at = self._read_text(encoded, at + (-at & 3), self._bounds[first])
                values.append(text)
        if not 0 <= len(encoded) - at <= 3:
            raise ValueError(f"{len(encoded) - at} bytes after the last field")
        return tuple(values)

    def _read_text(self, encoded: bytes, at: int, bound: int) -> tuple[str, int]:
        (length,) = self._length.unpack_from(encoded, at)
        end = at + 4 + length
        if not length or end > len(encoded) or encoded[end - 1]:
            raise ValueError(f"a text of {length} bytes without its closing zero")
        if bound and length > bound + 1:
            raise ValueError(f"a text of {length - 1} bytes where at most {bound} fit")
        return str(encoded[at + 4 : end - 1], "utf-8"), end


class _Run:
    """Numbers that follow one another."""

    __slots__ = ("_codes", "_forms", "_most", "_order")

    def __init__(self, codes: str, order: str, most: int) -> None:
        self._codes = codes
        self._order = order
        self._most = most
        self._forms: list[Struct | None] = [None] * 8

    def at(self, place: int) -> Struct:
        """The format of the run where it begins so far behind a multiple of eight."""
        form = self._forms[place]
        if form is None:
            form = self._forms[place] = Struct("".join(self._format(place)))
        return form

    def _format(self, place: int) -> Iterator[str]:
        yield self._order
        at = place
        for code in self._codes:
            size = Struct(f"<{code}").size
            gap = -at % min(size, self._most)
            yield f"{gap}x{code}" if gap else code
            at += gap + size


def _steps(
    declaration: Declaration, order: str, most: int
) -> Iterator[tuple[_Run | None, int, int]]:
    """The runs (None: a text), with the fields from first to before last."""
    codes, first = "", 0
    for number, field in enumerate(declaration.fields):
        if field.kind != TEXT:
            codes += KINDS[field.kind]
            continue
        if codes:
            yield _Run(codes, order, most), first, number
        yield None, number, number + 1
        codes, first = "", number + 1
    if codes:
        yield _Run(codes, order, most), first, len(declaration.fields)
