"""Epochs that a consumer takes in parts, so that a batch has no more items than it may have.

A position says which epochs are taken whole. A :class:`Split` says which part of one more epoch is
taken: of that epoch, items count in the order of their slices, and within a slice by their numbers,
and a split is a place in that order. Slices and numbers of an item are the same for everybody, and
a node needs nothing but the split to tell which of its items lie before it. So what lies between
two points is the same whoever serves it, as it is between two positions.

A split is the consumer's own affair. What it commits is the position: an epoch that is taken in
part is kept whole, at publishers and nodes, until the rest is taken. What it has *planned* is the
whole epoch: a writer's stream is not cut before it.

Between the epochs of a position and the split epoch there is no item: a split is made where items
were counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.model.ids import NOWHERE, Position
from evenflow.slices.consumer.ticket import Range, Split

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BEGIN", "Bounds", "Point", "Split", "bounds_of", "range_between", "whole_end"]


@dataclass(frozen=True, slots=True)
class Point:
    """How far a consumer is: some epochs whole, and of each writer perhaps a part of the next."""

    position: Position = NOWHERE
    """All of these epochs is taken."""
    splits: Mapping[int, Split] = field(default_factory=dict)
    """By writer, what is taken of an epoch behind those."""

    @property
    def planned(self) -> Position:
        """The epochs of which anything is taken."""
        return self.position.merged({w: split.epoch for w, split in self.splits.items()})

    def covers(self, other: Point) -> bool:
        """Whether nothing of the other lies beyond this one."""
        return self.position.covers(other.position) and all(
            self.position[w] >= split.epoch or (w in self.splits and self.splits[w] >= split)
            for w, split in other.splits.items()
        )

    def advanced(self, newest: Position) -> Point:
        """The same at newer epochs; a split epoch is kept until all of it can be taken."""
        left = {w: split for w, split in self.splits.items() if newest[w] < split.epoch}
        return Point(newest, left)


BEGIN: Final = Point()
"""Before the first item of every writer."""


def range_between(start: Point, end: Point) -> Range:
    """What lies between two points, of no slices yet."""
    moved = {
        w: epoch
        for w, epoch in end.planned.items()
        if w not in end.splits or end.splits[w] != start.splits.get(w)
    }
    return Range(
        (),
        start.position,
        Position(moved),
        {},
        {w: split for w, split in start.splits.items() if w in moved},
        {w: split for w, split in end.splits.items() if w in moved},
    )


class Bounds(NamedTuple):
    """Of one writer and slice: epochs in ``(start, end]`` with numbers in ``(after, upto]``."""

    start: int
    end: int
    after: int
    upto: int | None
    """None: all numbers."""


def bounds_of(asked: Range, slice_id: int, writer: int, start: int, end: int) -> Bounds:
    """What is asked for of one slice and writer, between two epochs."""
    after, upto = asked.after.get((slice_id, writer), 0), None
    if not (asked.taken or asked.upto):
        return Bounds(start, end, after, upto)
    taken, most = asked.taken.get(writer), asked.upto.get(writer)
    if taken is not None:
        if slice_id < taken.slice:
            start = max(start, taken.epoch)
        elif slice_id == taken.slice:
            after = max(after, taken.number)
    if most is not None and end >= most.epoch:
        if slice_id > most.slice:
            end = most.epoch - 1
        elif slice_id == most.slice:
            upto = most.number
    return Bounds(start, end, after, upto)


def whole_end(asked: Range, writer: int, start: int, end: int) -> int:
    """Up to which epoch between two all there is of a writer is asked for."""
    split = asked.upto.get(writer)
    return end if split is None or end < split.epoch else max(start, split.epoch - 1)
