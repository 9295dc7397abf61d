"""The DDS type of a declaration: what Cyclone tells the rest of the domain about its bytes.

The classes made here describe a topic (name and members); no sample passes through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl

from evenflow.domain.agents.declaration import TEXT

if TYPE_CHECKING:
    from cyclonedds.idl import IdlStruct

    from evenflow.domain.agents.declaration import Declaration, DeclaredField

_NUMBERS: Final[dict[str, Any]] = {
    "bool": bool,
    "i8": idl.int8,
    "i16": idl.int16,
    "i32": idl.int32,
    "i64": idl.int64,
    "u8": idl.uint8,
    "u16": idl.uint16,
    "u32": idl.uint32,
    "u64": idl.uint64,
    "f32": idl.float32,
    "f64": idl.float64,
}
_BOUNDED_TEXT: Final[Any] = idl.bounded_str


def dds_type(declaration: Declaration) -> type[IdlStruct]:
    """Make the IDL struct of a declaration; a new class with every call."""
    struct: type[IdlStruct] = make_idl_struct(
        declaration.name.rpartition("::")[2],
        declaration.name,
        {field.name: _member(field) for field in declaration.fields},
        # The class would otherwise get a constructor, in which not every name can be an argument.
        dataclassify=False,
    )
    return struct


def _member(field: DeclaredField) -> Any:
    if field.kind != TEXT:
        return _NUMBERS[field.kind]
    return _BOUNDED_TEXT[field.bound] if field.bound else str
