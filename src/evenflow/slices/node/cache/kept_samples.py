"""Which samples a node's tracks keep in memory, and how much that is.

The items of a slice are views into the samples they came with, so a sample stays in memory as long
as one of its rows is kept, with all the bytes it has. That is what counts: whole samples. A slice
that waits for a missing number can so keep samples of many slices in memory whose other rows are
long processed; :attr:`KeptSamples.sparse` says when it is worth copying out what is still needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.sample import Sample
    from evenflow.slices.node.cache.track import Track

SPARSE: Final = 4
"""Samples are sparse when they have more than this many rows for each that is kept."""


class KeptSamples:
    """Counts the rows that are kept of each sample. Samples on disk are no burden of memory."""

    __slots__ = ("_after_copying", "_rows", "_rows_in_memory", "rows", "size")

    def __init__(self) -> None:
        self.size = 0
        """Bytes of all samples of which something is kept, wherever they lie."""
        self.rows = 0
        """Rows that are kept."""
        self._rows: dict[Sample, int] = {}
        self._rows_in_memory = 0
        """Rows of all samples in memory, kept or not."""
        self._after_copying = (0, 0)
        """Rows that were kept, and rows in memory, after the last copying."""

    def keep(self, sample: Sample, rows: int) -> None:
        """Rows of a sample are needed."""
        self.rows += rows
        before = self._rows.get(sample)
        if before is not None:
            self._rows[sample] = before + rows
            return
        self._rows[sample] = rows
        self.size += len(sample.encoded)
        if type(sample.encoded) is bytes:
            self._rows_in_memory += sample.count

    def release(self, sample: Sample, rows: int) -> None:
        """Rows that were kept are needed no longer."""
        self.rows -= rows
        left = self._rows[sample] - rows
        if left:
            self._rows[sample] = left
            return
        del self._rows[sample]
        self.size -= len(sample.encoded)
        if type(sample.encoded) is bytes:
            self._rows_in_memory -= sample.count

    @property
    def sparse(self) -> bool:
        """Whether copying out what is kept would free most of the memory.

        After :meth:`copied_out` not before there is half as much or twice as much as then, so that
        copying costs little for each row, whatever it achieves.
        """
        rows, in_memory = self._after_copying
        few = self._rows_in_memory > SPARSE * self.rows
        return few and (2 * self.rows < rows or self._rows_in_memory > 2 * in_memory)

    def copied_out(self) -> None:
        """What is kept was copied out of sparse samples."""
        self._after_copying = (self.rows, self._rows_in_memory)


def slices_kept(tracks: Iterable[Track]) -> dict[Sample, list[int]]:
    """The samples of which these tracks keep something, with the slices that they keep of each."""
    kept: dict[Sample, list[int]] = {}
    for track in tracks:
        for batch in track.ready:
            kept.setdefault(batch.sample, []).append(batch.slice)
        for batch in track.out_of_order.values():
            kept.setdefault(batch.sample, []).append(batch.slice)
    return kept


def only_slices(sample: Sample, slices: list[int]) -> Sample:
    """The runs of some slices of a sample; itself when it is mostly them."""
    if len(slices) == sample.run_count:
        return sample
    return sample.only(np.isin(sample.slices, slices))


def copy_out(kept: KeptSamples, tracks: Iterable[Track]) -> None:
    """Copy what is kept out of samples in memory of which less than half is kept."""
    holding = [track for track in tracks if track.ready or track.out_of_order]
    copies = {}
    for sample, slices in slices_kept(holding).items():
        if type(sample.encoded) is bytes:
            copy = only_slices(sample, slices)
            if copy is not sample:
                copies[sample] = {batch.slice: batch for batch in copy.batches()}
    for track in holding:
        track.move(copies)
    kept.copied_out()
