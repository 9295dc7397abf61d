"""What an outbox keeps beyond a cut, as samples of a new writer.

A writer that was cut ends at some number of each slice. What it keeps beyond was never given to
anybody, and is published by a new writer: in the same order, numbered from 1 in each slice. Epochs
keep their numbers; only their order matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.model.batch import offsets_of
from evenflow.model.sample import Sample, encode_sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.batch import Batch, Int64s


def rehomed(samples: Iterable[Sample], cuts: Int64s, writer: int) -> list[Sample]:
    """The items of samples, in the order of their serial numbers, beyond a number of each slice."""
    newest = np.zeros(len(cuts), np.int64)
    found: list[Sample] = []
    for sample in samples:
        batches = [
            batch.between(int(cuts[batch.slice]) + 1, batch.last)
            for batch in sample.batches()
            if batch.last > cuts[batch.slice]
        ]
        if batches:
            found.append(_encoded(writer, len(found) + 1, sample.epoch, batches, newest))
    return found


def _encoded(writer: int, serial: int, epoch: int, batches: list[Batch], newest: Int64s) -> Sample:
    slices = np.array([batch.slice for batch in batches])
    counts = np.array([batch.count for batch in batches])
    items = [item for batch in batches for item in batch]
    names = [item.sender.encode() for item in items]
    encoded = encode_sample(
        writer,
        serial,
        epoch,
        slices,
        counts,
        newest[slices] + 1,
        np.array([item.id for item in items], np.int64),
        np.array([item.time for item in items], np.int64),
        offsets_of([len(name) for name in names]),
        b"".join(names),
        offsets_of([len(item.payload) for item in items]),
        b"".join(item.payload for item in items),
    )
    newest[slices] += counts
    return Sample(encoded)
