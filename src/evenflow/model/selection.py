"""Which items are wanted: by slice, sender and time.

Nodes are asked with it for a part of what they keep, and the store for a part of an archive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import msgspec

T = TypeVar("T")
_Time = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
SelectionJson = tuple[
    list[Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]] | None,
    list[str] | None,
    _Time | None,
    _Time | None,
]
"""A selection as JSON has it: slices, senders, oldest, newest."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted; by default, all."""

    slices: frozenset[int] | None = None
    """Items of these slices; None: of all."""
    senders: frozenset[str] | None = None
    """Items of these senders; None: of all."""
    oldest: int | None = None
    """Items of this time or later, microseconds since 1970."""
    newest: int | None = None
    """Items of this time or earlier."""

    def narrowed(self, other: Selection) -> Selection:
        """Return what both select."""
        return Selection(
            _both(self.slices, other.slices),
            _both(self.senders, other.senders),
            max((t for t in (self.oldest, other.oldest) if t is not None), default=None),
            min((t for t in (self.newest, other.newest) if t is not None), default=None),
        )

    def to_json(self) -> SelectionJson:
        """Write it with plain types."""
        slices = None if self.slices is None else sorted(self.slices)
        senders = None if self.senders is None else sorted(self.senders)
        return slices, senders, self.oldest, self.newest

    @classmethod
    def of_json(cls, found: SelectionJson) -> Selection:
        """Read what was JSON and has been checked."""
        slices, senders, oldest, newest = found
        return cls(
            None if slices is None else frozenset(slices),
            None if senders is None else frozenset(senders),
            oldest,
            newest,
        )


ALL: Final = Selection()


def _both(one: frozenset[T] | None, other: frozenset[T] | None) -> frozenset[T] | None:
    return one if other is None else other if one is None else one & other
