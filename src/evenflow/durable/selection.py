"""What is wanted of an archive.

A selection is asked twice: of an entry of the index, whether the bundle may have such items, and of
the rows of a bundle, which they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from evenflow.durable.index import Entry
    from evenflow.model.selection import Selection

T = TypeVar("T")


def may_be_in(wanted: Selection, entry: Entry) -> bool:
    """Say whether a bundle may have items that are wanted."""
    return (
        _meet(wanted.slices, entry.slices)
        and _meet(wanted.senders, entry.senders)
        and (wanted.oldest is None or entry.newest >= wanted.oldest)
        and (wanted.newest is None or entry.oldest <= wanted.newest)
    )


def selected(wanted: Selection, rows: pa.Table) -> pa.Table:
    """Return the rows that are wanted."""
    if wanted.slices is not None:
        rows = rows.filter(pc.is_in(rows["slice"], pa.array(sorted(wanted.slices), pa.int32())))
    if wanted.senders is not None:
        rows = rows.filter(pc.is_in(rows["sender"], pa.array(sorted(wanted.senders))))
    if wanted.oldest is not None:
        rows = rows.filter(pc.greater_equal(_times(rows), wanted.oldest))
    if wanted.newest is not None:
        rows = rows.filter(pc.less_equal(_times(rows), wanted.newest))
    return rows


def _times(rows: pa.Table) -> pa.ChunkedArray:
    return rows["time"].cast(pa.int64())


def _meet(wanted: frozenset[T] | None, listed: tuple[T, ...] | None) -> bool:
    return wanted is None or listed is None or not wanted.isdisjoint(listed)
