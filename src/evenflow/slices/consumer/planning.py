"""Plans the next batch of a consumer that has a log of its own: from a point to a point.

How far it may read is the core's word. Where a batch may have only so many items, the nodes are
asked how many there are (:mod:`~.counts`), and the last epochs of a batch are split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenflow.model.ids import NOWHERE, Position
from evenflow.slices.consumer.counts import Run, limited, shares_of
from evenflow.slices.consumer.reading import count_share, first_epochs
from evenflow.slices.consumer.splits import Point, range_between
from evenflow.slices.consumer.ticket import Range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.slices.consumer.follower import Follower


def newest_point(follower: Follower, start: Point, wait_s: float) -> Point:
    """The newest point that can be read; waits a moment for one beyond ``start``."""
    follower.wait(lambda core: not start.covers(core.point(start)), wait_s)
    return follower.ask(lambda core: core.point(start))


def capped_point(follower: Follower, start: Point, most: Position) -> Point:
    """The newest point that can be read and lies within a position; never behind ``start``."""
    newest = follower.ask(lambda core: core.point(start))
    position = newest.position.capped(most).merged(start.position.capped(newest.position))
    left = {
        w: split
        for w, split in start.splits.items()
        if w in newest.splits or position[w] < split.epoch <= newest.position[w]
    }
    return Point(position, left)


def reached(follower: Follower, position: Position, seconds: float) -> Position:
    """Wait until a position can be read, or the time is up; the newest one that can."""
    follower.wait(lambda core: core.latest(NOWHERE).covers(position), seconds)
    return follower.ask(lambda core: core.latest(NOWHERE))


def position_since(follower: Follower, start: Position, time_us: int) -> Position:
    """The position behind which items of a time or later begin; never behind the first one.

    Of each writer it is before the first epoch that has such an item, so items may be older. Of a
    writer that has none, it is the newest that can be read.
    """
    newest = follower.ask(lambda core: core.latest(start))
    shares = follower.shares_of(Range((), start, newest, {}))
    first: dict[int, int] = {}
    for found in (one for share in shares for one in first_epochs(share, time_us)):
        for writer, epoch in found.items():
            first[writer] = min(epoch, first.get(writer, epoch))
    return newest.capped({w: first.get(w, epoch + 1) - 1 for w, epoch in newest.items()})


class Counted(NamedTuple):
    """What can be read behind a point."""

    start: Point
    newest: Point
    runs: Sequence[Run]

    @property
    def items(self) -> int:
        """How many there are."""
        return sum(run.items for run in self.runs)


def counted(follower: Follower, start: Point, newest: Point, items: int) -> Counted:
    """Count what can be read, for who may take so many items.

    Raises:
        ReadFailed: Nobody says how many there are.
    """
    bounded = follower.ask(lambda core: core.bounded(start, newest, items))
    shares = follower.shares_of(range_between(start, bounded))
    return Counted(start, bounded, [run for one in shares for run in count_share(one, items)])


def limited_points(found: Mapping[str, Counted], items: int) -> dict[str, Point]:
    """Where the next batch of some topics ends that may have so many items in all."""
    there = {topic: one.items for topic, one in found.items()}
    if sum(there.values()) <= items:
        return {topic: one.newest for topic, one in found.items()}
    return {
        topic: limited(found[topic].start, found[topic].newest, found[topic].runs, share)
        for topic, share in shares_of(there, items).items()
    }
