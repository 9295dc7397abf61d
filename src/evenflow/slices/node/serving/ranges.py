"""What a node has of a range: its batches in order, how many items, and since when.

All of it is over slices that are held here, and what is wanted of each writer: whoever asks has
made sure that it is whole.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from evenflow.model.ids import Position
from evenflow.slices.consumer.splits import bounds_of
from evenflow.slices.node.serving.counting import count_runs, first_since, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenflow.model.batch import Batch
    from evenflow.slices.consumer.counts import Run
    from evenflow.slices.consumer.splits import Bounds
    from evenflow.slices.consumer.ticket import Range
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.cache.track import Track

    Held = Mapping[int, HeldSlice]


class Wanted(NamedTuple):
    """What is asked for of a writer."""

    writer: int
    start: int
    """The epoch behind which it begins."""
    end: int
    """The last one."""


def in_order(held: Held, asked: Range, wanted: Iterable[Wanted]) -> list[Batch]:
    """The batches of a range; those of a sample together, samples of a writer in their order."""
    return [batch for part in wanted for batch in _by_sample(held, asked, part)]


def _by_sample(held: Held, asked: Range, part: Wanted) -> Iterator[Batch]:
    samples: defaultdict[int, list[Batch]] = defaultdict(list)
    for _, track, bounds in _tracks(held, asked, part):
        serial = 0
        for batch in within(track.ready, bounds):
            # Serial numbers ascend with those of the items; if not, the items' own count.
            if batch.sample.serial > serial:
                serial = batch.sample.serial
            samples[serial].append(batch)
    return chain.from_iterable(samples[serial] for serial in sorted(samples))


def runs_of(held: Held, asked: Range, wanted: Iterable[Wanted], most: int) -> list[Run]:
    """How many items there are, by writer, epoch and slice; of each writer about ``most``."""
    return [
        run
        for part in wanted
        for run in count_runs(
            [(track.ready, bounds) for _, track, bounds in _tracks(held, asked, part)], most
        )
    ]


def epochs_since(held: Held, asked: Range, wanted: Iterable[Wanted], time: int) -> Position:
    """By writer, the first epoch that has an item of a time or later."""
    found: dict[int, int] = {}
    for part in wanted:
        for writer, track, bounds in _tracks(held, asked, part):
            epoch = first_since(within(track.ready, bounds), time)
            if epoch is not None:
                found[writer] = min(epoch, found.get(writer, epoch))
    return Position(found)


def _tracks(held: Held, asked: Range, part: Wanted) -> Iterator[tuple[int, Track, Bounds]]:
    for slice_id in sorted(frozenset(asked.slices)):
        track = held[slice_id].tracks.get(part.writer)
        if track is not None and track.ready:
            yield part.writer, track, bounds_of(asked, slice_id, *part)
