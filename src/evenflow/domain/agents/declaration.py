"""A type that is declared at run time: a struct of truth values, numbers and text.

A declaration is a name and the fields in their order. It means the IDL struct of that name whose
members are these, final, without a key: a DDS program that was compiled with that struct matches.
Two declarations with one name are two types; a process has one of them at a time
(:mod:`.topics`).

Names come from devices, so they are checked here before DDS sees them. A topic whose name begins
with ``evenflow/`` is one of our channels, and one with ``DCPS`` is DDS's own: no agent may write
there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evenflow.errors import TypeRefused

KINDS: Final = {
    "bool": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f32": "f",
    "f64": "d",
}
"""Kinds of numbers, and how ``struct`` calls them."""
TEXT: Final = "text"
MOST_FIELDS: Final = 64
MOST_TEXT: Final = 1_024
"""The longest bound of a text."""
RESERVED: Final = ("evenflow/", "DCPS")

Value = bool | int | float | str

_PART: Final = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_TYPE: Final = re.compile(rf"{_PART}(::{_PART}){{0,3}}")
_FIELD: Final = re.compile(_PART)
_TOPIC: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}")


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """One field of a declared type."""

    name: str
    kind: str
    """One of `KINDS`, or `TEXT`."""
    bound: int = 0
    """Of a text: most bytes in UTF-8; 0: as many as fit."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A type declared at run time.

    Raises:
        TypeRefused: A name, a kind or a number that cannot be.
    """

    name: str
    """As DDS knows the type: ``Reading``, or ``sensors::Reading``."""
    fields: tuple[DeclaredField, ...]

    def __post_init__(self) -> None:
        if fault := self._fault():
            raise TypeRefused(self.name, fault)

    def _fault(self) -> str:
        if not _TYPE.fullmatch(self.name):
            return "a type's name is letters, digits and '_', up to four parts joined by '::'"
        if not 1 <= len(self.fields) <= MOST_FIELDS:
            return f"{len(self.fields)} fields: a type has 1 to {MOST_FIELDS}"
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            return "two fields have one name"
        return next(filter(None, map(_field_fault, self.fields)), "")


def _field_fault(field: DeclaredField) -> str:
    if not _FIELD.fullmatch(field.name):
        return f"field {field.name!r}: a name is letters, digits and '_', at most 64"
    if field.kind != TEXT and field.kind not in KINDS:
        return f"field {field.name}: kind {field.kind!r} is none of {', '.join([*KINDS, TEXT])}"
    if not 0 <= field.bound <= MOST_TEXT or (field.bound and field.kind != TEXT):
        return f"field {field.name}: bound {field.bound}; a text has one up to {MOST_TEXT}"
    return ""


def topic_fault(name: str) -> str:
    """What is wrong with the name of an agent's topic, in words; or nothing."""
    if not _TOPIC.fullmatch(name):
        return "a topic's name is 1 to 100 letters, digits, '_', '-', '.' or '/'"
    if name.startswith(RESERVED):
        return f"names that begin with {' or '.join(RESERVED)} are taken"
    return ""
