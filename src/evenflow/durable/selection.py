"""Which items are wanted: by slice, sender and time.

A selection is asked twice: of an entry of the index, whether the bundle may have such items, and of
the rows of a bundle, which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from evenflow.durable.index import Entry

T = TypeVar("T")


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

    def may_be_in(self, entry: Entry) -> bool:
        """Say whether a bundle may have items that are wanted."""
        return (
            _meet(self.slices, entry.slices)
            and _meet(self.senders, entry.senders)
            and (self.oldest is None or entry.newest >= self.oldest)
            and (self.newest is None or entry.oldest <= self.newest)
        )

    def of(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are wanted."""
        if self.slices is not None:
            rows = rows.filter(pc.is_in(rows["slice"], pa.array(sorted(self.slices), pa.int32())))
        if self.senders is not None:
            rows = rows.filter(pc.is_in(rows["sender"], pa.array(sorted(self.senders))))
        if self.oldest is not None:
            rows = rows.filter(pc.greater_equal(_times(rows), self.oldest))
        if self.newest is not None:
            rows = rows.filter(pc.less_equal(_times(rows), self.newest))
        return rows

    def narrowed(self, other: Selection) -> Selection:
        """Return what both select."""
        return Selection(
            _both(self.slices, other.slices),
            _both(self.senders, other.senders),
            max((t for t in (self.oldest, other.oldest) if t is not None), default=None),
            min((t for t in (self.newest, other.newest) if t is not None), default=None),
        )


ALL: Final = Selection()


def _times(rows: pa.Table) -> pa.ChunkedArray:
    return rows["time"].cast(pa.int64())


def _meet(wanted: frozenset[T] | None, listed: tuple[T, ...] | None) -> bool:
    return wanted is None or listed is None or not wanted.isdisjoint(listed)


def _both(one: frozenset[T] | None, other: frozenset[T] | None) -> frozenset[T] | None:
    return one if other is None else other if one is None else one & other
