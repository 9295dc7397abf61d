"""Of the items of a range, those that a reader wants: by sender and time.

Whole columns of a sample are looked at, and what is left of a batch are batches again: runs of
consecutive numbers. So a reader whose stream breaks off asks for the rest as always. Slices are not
looked at here: who wants some of them asks for these alone.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.model.batch import Batch
    from evenflow.model.sample import Sample
    from evenflow.model.selection import Selection

    Mask = npt.NDArray[np.bool_]

_SAMPLE: Final = attrgetter("sample")


def chosen(batches: list[Batch], wanted: Selection) -> list[Batch]:
    """What is wanted of some batches, in their order; those of a sample stand together."""
    if wanted.senders is None and wanted.oldest is None and wanted.newest is None:
        return batches
    names = None if wanted.senders is None else [one.encode() for one in sorted(wanted.senders)]
    return [
        part for group in groupby(batches, _SAMPLE) for part in _of_sample(*group, wanted, names)
    ]


def _of_sample(
    sample: Sample, batches: Iterable[Batch], wanted: Selection, names: list[bytes] | None
) -> Iterator[Batch]:
    rows = sample.rows
    mask = np.ones(sample.count, np.bool_)
    if wanted.oldest is not None:
        mask &= rows.times >= wanted.oldest
    if wanted.newest is not None:
        mask &= rows.times <= wanted.newest
    if names is not None and mask.any():
        mask &= rows.are_of(names)
    for batch in batches:
        yield from _runs(batch, mask[batch.begin : batch.begin + batch.count])


def _runs(batch: Batch, mask: Mask) -> Iterator[Batch]:
    if mask.all():
        yield batch
        return
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield batch.between(batch.first + begin, batch.first + end - 1)
