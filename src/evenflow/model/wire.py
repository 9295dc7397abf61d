"""Wire kinds: how a field of a message travels in the domain.

A message is a frozen dataclass whose fields are annotated with one of the aliases below. To the
type checker ``U32`` is plain ``int``; to :mod:`evenflow.domain.codec` it is the IDL type
``uint32``. Messages so stay free of any DDS import and have one definition for the cores, the codec
and the DDS type. Where a type can hold more than makes sense, the alias has the bound.
"""

from __future__ import annotations

from dataclasses import Field, dataclass
from typing import Annotated, Any, ClassVar, Protocol

from evenflow.model.bounds import (
    MOST_BALANCER,
    MOST_NUMBER,
    MOST_POINTS,
    MOST_SLICES,
    MOST_TERM,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """The IDL type of a field: a primitive, a string, or a sequence of one of them."""

    idl: str
    """IDL name of the primitive: ``uint8 uint32 uint64 int64 float64 bool string``."""
    sequence: bool = False
    """Whether the field is ``sequence<idl>``."""
    key: bool = False
    """Whether the field is part of the DDS key of its topic."""
    most: int | None = None
    """The largest value that makes sense, where that is less than the type can hold."""
    is_term: bool = False
    """Whether it is a term: no larger than the reader's clock allows, either."""


Bool = Annotated[bool, Kind("bool")]
U8 = Annotated[int, Kind("uint8")]
U32 = Annotated[int, Kind("uint32")]
U64 = Annotated[int, Kind("uint64")]
I64 = Annotated[int, Kind("int64")]
F64 = Annotated[float, Kind("float64")]
Text = Annotated[str, Kind("string")]
KeyText = Annotated[str, Kind("string", key=True)]
KeyU32 = Annotated[int, Kind("uint32", key=True)]
KeyU64 = Annotated[int, Kind("uint64", key=True)]

Octets = Annotated[bytes, Kind("uint8", sequence=True)]
"""``sequence<octet>``, held as ``bytes`` (or any buffer)."""
U8s = Annotated[tuple[int, ...], Kind("uint8", sequence=True)]
U32s = Annotated[tuple[int, ...], Kind("uint32", sequence=True)]
I64s = Annotated[tuple[int, ...], Kind("int64", sequence=True)]
U64s = Annotated[tuple[int, ...], Kind("uint64", sequence=True)]
F64s = Annotated[tuple[float, ...], Kind("float64", sequence=True)]
Texts = Annotated[tuple[str, ...], Kind("string", sequence=True)]

SliceId = Annotated[int, Kind("uint32", most=MOST_SLICES - 1)]
Number = Annotated[int, Kind("uint64", most=MOST_NUMBER)]
"""A sequence number, an epoch, or a count."""
Numbers = Annotated[tuple[int, ...], Kind("uint64", sequence=True, most=MOST_NUMBER)]
Term = Annotated[int, Kind("uint64", most=MOST_TERM, is_term=True)]
Terms = Annotated[tuple[int, ...], Kind("uint64", sequence=True, most=MOST_TERM, is_term=True)]
CommitNumber = Annotated[int, Kind("uint64", most=1 << 62)]
"""Of a consumer's commits: nanoseconds of a clock at its start, and a count."""
CommitNumbers = Annotated[tuple[int, ...], Kind("uint64", sequence=True, most=1 << 62)]
BalancerNumber = Annotated[int, Kind("uint64", most=MOST_BALANCER)]
SliceIds = Annotated[tuple[int, ...], Kind("uint32", sequence=True, most=MOST_SLICES - 1)]
SliceCount = Annotated[int, Kind("uint32", most=MOST_SLICES)]
PointCount = Annotated[int, Kind("uint32", most=MOST_POINTS)]
"""Points of a bridge on the circle."""
KeyPage = Annotated[int, Kind("uint32", key=True, most=MOST_SLICES)]


class Message(Protocol):
    """What travels in the domain: a dataclass whose fields are annotated with wire kinds."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
