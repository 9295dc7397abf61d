"""How many items there are, and where a batch ends that may have only so many of them.

Nodes count (:mod:`evenflow.slices.node.serving.counting`); a consumer adds up what they say. A
limit is exact: while more than that can be read, a batch has as many items as the limit says. Each
writer has its share of it, as large as its share of what can be read, so that none is left behind.
Where a share ends inside an epoch, the epoch is split (:mod:`~.splits`).
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from evenflow.errors import DecodeError
from evenflow.model.checked_json import CheckedJson, SliceNumber, Whole, encode_json, fits
from evenflow.model.ids import Position
from evenflow.slices.consumer.splits import Point, Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Run(NamedTuple):
    """Consecutive items of one writer, epoch and slice."""

    writer: Whole
    epoch: Whole
    slice: SliceNumber
    first: Whole
    """The number of the first item."""
    items: Whole


K = TypeVar("K")
_RUNS: Final = CheckedJson("counts", list[Run])
_ORDER: Final = attrgetter("epoch", "slice", "first")


def encode_runs(runs: list[Run]) -> bytes:
    """Write counts as JSON."""
    return encode_json(runs)


def decode_runs(encoded: bytes) -> list[Run]:
    """Read counts; `DecodeError` when these are none."""
    runs = _RUNS.decode(encoded)
    for run in runs:
        fits("counts", max(run))
        if not run.items or not run.first:
            raise DecodeError("counts: a run without items, or one that begins with number 0")
    return runs


def limited(start: Point, newest: Point, runs: Iterable[Run], items: int) -> Point:
    """The point that lies so many items behind a first one; a second one if there are fewer.

    Args:
        start: The first point.
        newest: The second one: splits that it has are of the first, and nothing can be read there.
        runs: Everything between the two; of a writer that has more than so many items, everything
            up to the end of the epoch in which it has.
        items: How many.
    """
    by_writer: dict[int, list[Run]] = {}
    for run in runs:
        by_writer.setdefault(run.writer, []).append(run)
    there = {writer: sum(run.items for run in of) for writer, of in by_writer.items()}
    if sum(there.values()) <= items:
        return newest
    position, splits = dict(newest.position), dict(newest.splits)
    for writer, share in shares_of(there, items).items():
        if share == there[writer]:
            continue
        position[writer], split = start.position[writer], start.splits.get(writer)
        if share:
            position[writer], split = _behind(position[writer], split, by_writer[writer], share)
        if split is not None:
            splits[writer] = split
    return Point(Position(position), splits)


def shares_of(there: Mapping[K, int], items: int) -> dict[K, int]:
    """Divide a number of items among some by what each has; fewer than there are in all."""
    total = sum(there.values())
    shares = {one: items * count // total for one, count in there.items()}
    rest = items - sum(shares.values())
    # It is less than one for each. Who is owed most comes first.
    owed = sorted(there, key=lambda one: -(items * there[one] % total))
    for one in owed[:rest]:
        shares[one] += 1
    return shares


def _behind(
    whole: int, before: Split | None, runs: list[Run], items: int
) -> tuple[int, Split | None]:
    """Of one writer, what so many items are: whole epochs, and a part of the next one.

    Args:
        whole: The epoch behind which they begin.
        before: What was taken of the first of them.
        runs: More items than that.
        items: How many.
    """
    for epoch, group in groupby(sorted(runs, key=_ORDER), attrgetter("epoch")):
        of_epoch = list(group)
        taken = before.items if before is not None and before.epoch == epoch else 0
        for run in of_epoch:
            if items < run.items or (items == run.items and run is not of_epoch[-1]):
                return whole, Split(epoch, run.slice, run.first + items - 1, taken + items)
            items -= run.items
            taken += run.items
        whole = epoch
        if not items:
            break
    return whole, None
