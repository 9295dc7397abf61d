"""What a task reads of each slice, counted in the executor and told when the task is through.

Spark knows how long a task ran, but not what it read; the task itself does. It counts items and
payload bytes by slice, a run of rows at a time, and at its end gives the sums, with its place in
Spark's own numbering, to the node it has read from, which passes them on into the domain: executors
are no part of it. Should nobody take them, that task teaches the balancer nothing, and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark import TaskContext

from evenflow.model.messages import SliceReads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    Counts = np.ndarray[Any, np.dtype[np.int64]]


QUERY_ID: Final = "sql.streaming.queryId"
"""Spark's own name of the property that tells a task its query."""
OFFSET_BYTES: Final = 4


class Meter:
    """Counts items and payload bytes by slice."""

    def __init__(self) -> None:
        self._items: Counts = np.zeros(0, np.int64)
        self._octets: Counts = np.zeros(0, np.int64)

    def count(self, batch: pa.RecordBatch) -> None:
        """Count what is in a record batch."""
        if not batch.num_rows:
            return
        slices = batch.column("slice").to_numpy()
        payloads = batch.column("payload")
        offsets = np.frombuffer(
            payloads.buffers()[1], np.int32, len(slices) + 1, OFFSET_BYTES * payloads.offset
        )
        # Rows of a slice stand together, as in samples: what is counted is runs, and they are few.
        changes = np.flatnonzero(slices[1:] != slices[:-1]) + 1
        bounds = np.concatenate(([0], changes, [len(slices)]))
        of = slices[bounds[:-1]]
        size = max(len(self._items), int(of.max()) + 1)
        self._items = _grown(self._items, size)
        self._octets = _grown(self._octets, size)
        np.add.at(self._items, of, np.diff(bounds))
        np.add.at(self._octets, of, np.diff(offsets[bounds].astype(np.int64)))

    def reads(self) -> dict[int, tuple[int, int]]:
        """Items and bytes of every slice that had any."""
        found = np.flatnonzero(self._items)
        rows = zip(found, self._items[found], self._octets[found], strict=True)
        return {int(slice_id): (int(items), int(octets)) for slice_id, items, octets in rows}


def _grown(counts: Counts, size: int) -> Counts:
    return np.pad(counts, (0, size - len(counts)))


def metered(
    batches: Iterator[pa.RecordBatch],
    topic: str,
    consumer: str,
    damaged: Callable[[], int],
    tell: Callable[[SliceReads], None],
) -> Iterator[pa.RecordBatch]:
    """Pass record batches on; when the last one is gone, tell what was in them.

    Args:
        batches: What the task reads.
        topic: Of this topic.
        consumer: For this query.
        damaged: Gives how many payloads could not be decoded.
        tell: Passes on what was read.
    """
    meter = Meter()
    for batch in batches:
        meter.count(batch)
        yield batch
    context, reads = TaskContext.get(), meter.reads()
    if context is None or not reads:
        return
    tell(
        SliceReads(
            topic,
            consumer,
            context.getLocalProperty(QUERY_ID) or "",
            context.stageId(),
            context.taskAttemptId(),
            tuple(reads),
            tuple(items for items, _ in reads.values()),
            tuple(octets for _, octets in reads.values()),
            damaged(),
        )
    )
