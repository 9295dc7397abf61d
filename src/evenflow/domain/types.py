"""The DDS types of the messages: what Cyclone tells the rest of the domain about our bytes.

The classes made here serve the description of a topic (name, members, keys) and whoever wants to
compare our codec with the stock one; no sample passes through them.
"""

from __future__ import annotations

from typing import Any, Final

from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl import types as idl

from evenflow.domain.codec import codec_of
from evenflow.domain.idl_text import SAMPLE
from evenflow.model.sample import Sample
from evenflow.model.wire import Kind

_PRIMITIVES: Final[dict[str, Any]] = {
    "bool": bool,
    "uint8": idl.uint8,
    "uint32": idl.uint32,
    "uint64": idl.uint64,
    "int32": idl.int32,
    "int64": idl.int64,
    "float64": idl.float64,
    "string": str,
}
_SEQUENCE: Final[Any] = idl.sequence
_structs: Final[dict[type[Any], type[IdlStruct]]] = {}


def idl_type(message_type: type[Any]) -> type[IdlStruct]:
    """Return the IDL struct of a message type or of ``Sample``, called ``evenflow::<its name>``.

    Always the same class for the same type: Cyclone compares types by identity first.
    """
    struct = _structs.get(message_type)
    if struct is None:
        struct = _structs[message_type] = _make(message_type)
    return struct


def _make(message_type: type[Any]) -> type[IdlStruct]:
    if message_type is Sample:
        kinds = SAMPLE
    else:
        kinds = {field.name: field.kind for field in codec_of(message_type).fields}
    name = message_type.__name__
    struct: type[IdlStruct] = make_idl_struct(
        name,
        f"evenflow::{name}",
        {member: _member(kind) for member, kind in kinds.items()},
        field_annotations={
            member: {"key": True} if kind.key else {} for member, kind in kinds.items()
        },
    )
    return struct


def _member(kind: Kind) -> Any:
    primitive = _PRIMITIVES[kind.idl]
    return _SEQUENCE[primitive] if kind.sequence else primitive
