"""Units: items that an outbox has all or none of, under a number that their publisher gives.

A program that repeats its work after a crash, as Spark does, numbers what it publishes. The items
of a unit and its number are written down together, before any of them is sent; so whoever opens the
outbox later knows whether the unit is in it, and if it is, it will be sent.

What is published without a number and is too much for once is cut into *chunks*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evenflow.errors import UsageError
from evenflow.model.encoding import ITEM_BYTES, RUN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.batch import Int32s, Int64s
    from evenflow.slices.outbox.outbox import Outbox
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.intake import Intake

CHUNK_SHARE: Final = 4
"""Many items are accepted in chunks of this fraction of the retention."""
LARGEST_CHUNK: Final = 64 << 20


class Unit(NamedTuple):
    """Items with their slices, and the number under which they are one."""

    number: int
    table: Table
    slices: Int32s
    size: int


def unit_of(
    number: int, columns: tuple[Any, ...], intake: Intake, outbox: Outbox, memory: int
) -> Unit | None:
    """Make a unit of columns; None when the outbox has it, or a later one.

    Args:
        number: Its number.
        columns: Payloads, senders, ids, times, headers.
        intake: Makes items of them.
        outbox: Where it will be.
        memory: Most bytes of what is not yet written.
    """
    if number <= outbox.newest_unit:
        return None
    table = intake.table(*columns)
    if not len(table):
        return Unit(number, table, np.zeros(0, np.int32), 0)
    size = table_bytes(table)
    largest = min(outbox.journal.largest, memory)
    if size > largest:
        raise UsageError(
            f"a unit of {size} bytes is larger than {largest}: raise publisher.retention_bytes and"
            " publisher.outbox_bytes, or publish less at once"
        )
    return Unit(number, table, intake.slices(table, {}), size)


def table_sizes(table: Table) -> Int64s:
    """Bytes that each item takes, at most."""
    return table.lengths() + (ITEM_BYTES + RUN_BYTES)


def table_bytes(table: Table) -> int:
    """Bytes that items take together, at most."""
    return int(table_sizes(table).sum()) if len(table) else 0


def chunks(
    table: Table, slices: Int32s, sizes: Int64s, retention: int
) -> Iterator[tuple[int, Table, Int32s, int]]:
    """Cut items of these sizes into runs of a part of the retention, or of one item.

    Yields:
        Where a run starts, its items, their slices, and their bytes.
    """
    share = min(retention // CHUNK_SHARE, LARGEST_CHUNK)
    ends = np.cumsum(sizes)
    start = before = 0
    while start < len(table):
        end = max(int(np.searchsorted(ends, before + share, side="right")), start + 1)
        yield start, table.rows(start, end), slices[start:end], int(ends[end - 1]) - before
        start, before = end, int(ends[end - 1])
