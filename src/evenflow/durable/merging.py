"""The archive and the live stream as one: each item once, in the order of its numbers.

The archive has everything, a moment later; the serving nodes have the newest, until the archiver
has it too. A reader takes rows of both as they come and goes by their numbers alone:

- from the *archive*, every row whose number is above the newest of its writer and slice;
- from a *node*, only the rows that come next, without a hole. Behind a hole there may be items that
  the nodes have forgotten, which then are in the archive, or soon will be.

So it does not matter who is ahead, whether the archiver writes something twice, or how often a node
is asked. A reader that begins in the middle takes the first row that the archive shows it of a
writer and slice as the beginning; the nodes may only begin a stream with number 1.

``position`` says from where on a node is best asked. Nothing but speed depends on it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenflow.model.ids import Position
from evenflow.slices.consumer.header_column import alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt


class Merging:
    """How far a reader is in every slice and writer."""

    def __init__(self) -> None:
        self._newest: dict[tuple[int, int], int] = {}
        self.position = Position()
        """The newest epoch of each writer up to which everything has come, as far as we know."""
        self.repeated = 0
        """Rows that had come before."""
        self.early = 0
        """Rows that came from a node before their predecessors, and were left for later."""

    def archived(self, rows: pa.Table, end: Position) -> pa.Table:
        """Return the rows of a bundle that are new, and count them as seen."""
        found = self._take(rows)
        self.position = self.position.merged(end)
        return found

    def live(self, parts: Iterable[pa.RecordBatch], end: Position) -> pa.Table | None:
        """Return the rows of the nodes up to a position that come next; None when there are none.

        The position is reached by the writers of which no row had to be left for later.
        """
        early: set[int] = set()
        tables = [self._take(pa.Table.from_batches([part]), early) for part in parts]
        self.position = self.position.merged(end.without(early))
        return pa.concat_tables(alike(tables)) if tables else None

    def _take(self, table: pa.Table, early: set[int] | None = None) -> pa.Table:
        """Return the rows that are new; of nodes also note whose rows are left for later."""
        slices = table.column("slice").to_numpy()
        writers = table.column("writer").to_numpy()
        numbers = table.column("number").to_numpy()
        kept = []
        for begin, end in _stretches(slices, writers, numbers):
            place = (int(slices[begin]), int(writers[begin]))
            first, last = int(numbers[begin]), int(numbers[end - 1])
            known = self._newest.get(place, 0)
            if early is not None and first > known + 1:
                self.early += end - begin
                early.add(place[1])
                continue
            skip = min(end - begin, max(0, known - first + 1))
            self.repeated += skip
            if skip < end - begin:
                kept.append(table.slice(begin + skip, end - begin - skip))
                self._newest[place] = last
        return pa.concat_tables(kept) if kept else table.slice(0, 0)


def _stretches(
    slices: npt.NDArray[np.int32], writers: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield the rows of one slice and writer with consecutive numbers: begin and end of each."""
    if not len(slices):
        return
    breaks = (
        (np.diff(slices) != 0) | (writers[1:] != writers[:-1]) | (np.diff(numbers) != 1)
    ).nonzero()[0] + 1
    edges = [0, *breaks.tolist(), len(slices)]
    yield from pairwise(edges)
