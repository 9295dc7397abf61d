"""What lies within the bounds of a slice and writer: the batches themselves, or how many items.

A consumer that may take only so many items asks how many there are before it plans. The answer is
exact: it comes from the batches that a reader would be given. It is bounded by what was asked: of
each writer a node stops at the end of the epoch in which it alone has more than the consumer may
take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.slices.consumer.counts import Run

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable

    from evenflow.model.batch import Batch
    from evenflow.slices.consumer.splits import Bounds


def within(batches: deque[Batch], bounds: Bounds) -> Iterable[Batch]:
    """Of a slice and writer, in order, what lies within bounds."""
    if not batches:
        return ()
    first, last = batches[0], batches[-1]
    start, end, after, upto = bounds
    if start < first.epoch and last.epoch <= end and after < first.first and upto is None:
        return batches
    return _cut(batches, bounds)


def _cut(batches: Iterable[Batch], bounds: Bounds) -> Iterable[Batch]:
    start, end, after, upto = bounds
    for batch in batches:
        # Numbers ascend with epochs: one that ends a slice ends it in its last epoch.
        if batch.epoch > end or (upto is not None and max(batch.first, after + 1) > upto):
            break
        if batch.epoch > start and batch.last > after:
            yield batch.between(after + 1, batch.last if upto is None else upto)


def first_since(batches: Iterable[Batch], time: int) -> int | None:
    """The epoch of the first batch that has an item of a time or later."""
    return next((batch.epoch for batch in batches if int(batch.times.max()) >= time), None)


def count_runs(tracks: Iterable[tuple[deque[Batch], Bounds]], most: int) -> list[Run]:
    """Count what lies within bounds, of one writer, slice by slice.

    Args:
        tracks: The batches of each slice, and its bounds.
        most: What lies behind the epoch in which so many items are reached may be left out.
    """
    runs: list[Run] = []
    for batches, bounds in tracks:
        count = epoch = 0
        for batch in within(batches, bounds):
            if count > most and batch.epoch > epoch:
                break
            epoch = batch.epoch
            count += batch.count
            runs.append(Run(batch.writer, epoch, batch.slice, batch.first, batch.count))
    runs.sort(key=lambda run: run.epoch)
    count = 0
    for place, run in enumerate(runs):
        if count > most and run.epoch > runs[place - 1].epoch:
            return runs[:place]
        count += run.items
    return runs
