"""Units: items that an outbox has all or none of, under a number that their publisher gives.

A program that repeats its work after a crash, as Spark does, numbers what it publishes. The items
of a unit and its number are written down together, before any of them is sent; so whoever opens the
outbox later knows whether the unit is in it, and if it is, it will be sent.

What is published without a number and is too much for once is cut into *chunks*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenflow.errors import UsageError
from evenflow.model.sample import ITEM_BYTES, RUN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.batch import Int32s, Int64s
    from evenflow.slices.outbox.outbox import Outbox
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.intake import Intake


class Unit(NamedTuple):
    """Items with their slices, and the number under which they are one."""

    number: int
    table: Table
    slices: Int32s
    size: int


def unit_of(
    number: int, columns: tuple[Any, Any, Any, Any], intake: Intake, outbox: Outbox, memory: int
) -> Unit | None:
    """Make a unit of columns; None when the outbox has it, or a later one.

    Args:
        number: Its number.
        columns: Payloads, senders, ids, times.
        intake: Makes items of them.
        outbox: Where it will be.
        memory: Most bytes of what is not yet written.
    """
    if number <= outbox.newest_unit:
        return None
    table = intake.table(*columns)
    if not len(table):
        return Unit(number, table, np.zeros(0, np.int32), 0)
    size = int((table.lengths() + (ITEM_BYTES + RUN_BYTES)).sum())
    largest = min(outbox.journal.largest, memory)
    if size > largest:
        raise UsageError(
            f"a unit of {size} bytes is larger than {largest}: raise publisher.retention_bytes and"
            " publisher.outbox_bytes, or publish less at once"
        )
    return Unit(number, table, intake.slices(table, {}), size)


def chunks(sizes: Int64s, share: int) -> Iterator[tuple[int, int, int]]:
    """Cut items of these sizes into runs of at most ``share`` bytes, or of one item.

    Yields:
        Where a run starts and ends, and its bytes.
    """
    ends = np.cumsum(sizes)
    start = before = 0
    while start < len(sizes):
        end = max(int(np.searchsorted(ends, before + share, side="right")), start + 1)
        yield start, end, int(ends[end - 1]) - before
        start, before = end, int(ends[end - 1])
