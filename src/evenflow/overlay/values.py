"""What everything that is sent or stored is made of: immutable values, checked when they are read.

A `Value` is written as a MessagePack array of its fields (`msgspec`), without their names. Reading
checks every field against its annotation: a missing or surplus field, another type, a number or a
text out of bounds is refused before an object exists. A rule over several fields stands in the
class's ``__post_init__``.

A `Sendable` is a value that travels alone: the name of its class comes first in the array.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

LARGEST_NUMBER = 1 << 62
"""Room above remains, so that sums of two do not overflow anywhere."""

LONGEST_TEXT = 65_535
"""Characters of the longest name or reason."""

Natural = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
"""A count, a time in nanoseconds, a sequence, a term."""

HIGHEST_LEVEL: Final = 3
Level = Annotated[int, Meta(ge=0, le=HIGHEST_LEVEL)]
"""A resilience level; 0: none, a topic that is not there is not made."""

Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
"""A name, an address, a reason."""

UnitFloat = Annotated[float, Meta(ge=0, le=1)]
"""A number of the unit interval; not-a-number is none."""


class Value(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An immutable value that is checked when it is read."""


class Sendable(Value, frozen=True, tag=True):
    """A value that says what it is."""
