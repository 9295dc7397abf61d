"""What is wanted of one sample: usually all of it, so that its columns are taken as they are.

A node chooses batches, each of one slice. Those of one sample stand together, in the order of its
rows, and become one :class:`Piece`. When all of the sample is wanted, what there is to say of its
runs is what the sample's head says, and no single run is looked at.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evenflow.model.batch import Rows
from evenflow.model.encoding import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenflow.model.batch import Batch, Int64s
    from evenflow.model.sample import Sample

_SAMPLE: Final = attrgetter("sample")
_COUNT: Final = attrgetter("count")
_ZERO: Final = np.zeros(1, np.int64)
FEW_RUNS: Final = 8
"""The head of a sample of fewer runs costs more to take as columns than run by run."""


class Piece:
    """Rows of one sample, in their order: runs of which each is of one slice.

    Args:
        sample: The sample.
        runs: What is wanted of it.
    """

    __slots__ = ("begins", "count", "ends", "octets", "runs", "sample")

    def __init__(self, sample: Sample, runs: list[Batch]) -> None:
        self.sample = sample
        self.runs = runs
        self.count: int = sum(map(_COUNT, runs))
        """Rows of all runs."""
        self.begins, self.ends = self._bounds()
        """The first row of each stretch, and the one behind its last. Neighbouring runs are one
        stretch."""
        self.octets = self._octets()
        """About the bytes of these rows."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all runs of the sample as they are."""
        return self.count == self.sample.count and len(self.runs) == self.sample.run_count

    def _bounds(self) -> tuple[Int64s, Int64s]:
        if self.count == self.sample.count:
            return _ZERO, np.array((self.count,))
        begins = np.array([run.begin for run in self.runs])
        ends = begins + np.array([run.count for run in self.runs])
        apart = begins[1:] != ends[:-1]
        return begins[np.append(True, apart)], ends[np.append(apart, True)]

    def _octets(self) -> int:
        sample = self.sample
        if self.count == sample.count:
            return sample.size
        rows = sample.rows
        sizes = (
            offsets[self.ends] - offsets[self.begins]
            for offsets in (rows.sender_offsets, rows.payload_offsets)
        )
        return sum(int(size.sum()) for size in sizes) + ITEM_BYTES * self.count

    def stretches(self) -> Sequence[Rows]:
        """The rows, those of neighbouring runs together."""
        if len(self.runs) == 1:
            return self.runs
        bounds = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        return [Rows(self.sample, begin, end - begin) for begin, end in bounds]

    def places(self) -> Int64s:
        """Where in the sample each row is."""
        return ranges(self.begins, self.ends - self.begins)


class Runs(NamedTuple):
    """The runs of some rows, as columns."""

    slices: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.uint64]
    """The number of the first item of each run."""
    counts: npt.NDArray[np.uint32]


def pieces_of(batches: Iterable[Batch]) -> Iterator[Piece]:
    """Join batches of one sample that stand together; no row may be there twice."""
    for sample, runs in groupby(batches, _SAMPLE):
        yield Piece(sample, list(runs))


def runs_of(pieces: Iterable[Piece]) -> Runs:
    """The runs of some pieces, one after the other."""
    parts: list[Runs] = []
    for by_head, group in groupby(pieces, _by_head):
        if by_head:
            parts += (Runs(s.slices, s.firsts, s.counts) for s in map(_SAMPLE, group))
        else:
            runs = [run for piece in group for run in piece.runs]
            parts.append(
                Runs(
                    np.array([run.slice for run in runs], np.uint32),
                    np.array([run.first for run in runs], np.uint64),
                    np.array([run.count for run in runs], np.uint32),
                )
            )
    return Runs(*map(np.concatenate, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]


def _by_head(piece: Piece) -> bool:
    return len(piece.runs) >= FEW_RUNS and piece.is_whole


def ranges(firsts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Int64s:
    """Consecutive numbers from each of some firsts, one range after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    return np.repeat(firsts.astype(np.int64) - (ends - counts), counts) + np.arange(rows)
