"""One topic of a query: its place in the domain, in the driver's Python process.

A query may read several topics. It is registered in each of them under its name, and each has its
own positions. What they share is the limit of a micro-batch (:mod:`~.source`).
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import DomainError
from evenflow.model.ids import NOWHERE, Position
from evenflow.slices.consumer.core import LATEST
from evenflow.slices.consumer.follower import REGISTERED_WITHIN_S, Follower
from evenflow.slices.consumer.planning import (
    Counted,
    capped_point,
    counted,
    newest_point,
    position_since,
    reached,
)
from evenflow.slices.consumer.splits import BEGIN, Point, range_between
from evenflow.spark.offsets import Place
from evenflow.spark.progress import Figures, NodeFigures, report_of
from evenflow.spark.query_watch import QueryWatch

if TYPE_CHECKING:
    from evenflow.slices.consumer.core import ConsumerCore
    from evenflow.slices.consumer.reading import Share
    from evenflow.spark.options import Options

AVAILABLE_WITHIN_S: Final = 10.0
"""How long ``availableNow`` waits for nodes to have what publishers have closed."""

LOOK_S: Final = 0.1
"""How long a batch read waits for items that can be read."""
_LOG = logging.getLogger(__name__)


def enter(options: Options, topic: str, *, alone: bool = False) -> Follower:
    """Enter the domain; only the driver process does, so executors need no DDS."""
    logging.basicConfig(level=logging.WARNING)
    follower = Follower(
        topic, options.consumer, options.config, read_timeout_s=options.read_timeout_s
    )
    follower.enter(alone=alone)
    return follower


def kept_shares(options: Options, topic: str) -> list[Share]:
    """What a batch read gets of a topic: what nodes keep, between the places that it names."""
    follower = enter(options, topic)
    try:
        start, end = options.starting, options.ending
        if isinstance(start, str):
            begin = Point(follower.begin(LATEST)) if start == LATEST else BEGIN
        else:
            begin = start.get(topic, BEGIN)
        if options.since is not None:
            begin = Point(position_since(follower, NOWHERE, options.since))
        if isinstance(end, str):
            finish = newest_point(follower, begin, LOOK_S)
        else:
            finish = end.get(topic, BEGIN)
        asked = replace(range_between(begin, finish), headers=options.headers)
        return follower.shares_of(asked)
    finally:
        follower.close()


class TopicStream:
    """A topic as a query reads it, until it is stopped.

    Args:
        options: The query's.
        topic: The topic.
        times_at: Where Spark's task times are served; empty when nobody serves them.

    Raises:
        DomainError: Nobody serves the topic, or another query that runs has this name.
    """

    def __init__(self, options: Options, topic: str, times_at: str) -> None:
        self._options = options
        self._topic = topic
        with ExitStack() as opened:
            self._follower = enter(options, topic, alone=True)
            opened.callback(self._follower.close)
            self._watch = QueryWatch(options, topic, self._follower, times_at)
            opened.callback(self._watch.close)
            self._opened = opened.pop_all()
        self._target: Position | None = None
        self._recalled = False
        """Whether the counts go on where the query's log ends."""
        self._gone = NOWHERE
        """Up to there, what the query's log names is forgotten, and the query goes on without."""
        self._lost = 0
        """How many epochs that is."""
        self._end = BEGIN
        """Where the newest batch ends."""

    def begin(self) -> Place:
        """Where a new query begins."""
        starting, since = self._options.starting, self._options.since
        if isinstance(starting, str):
            position = self._follower.begin(starting)
            self._follower.register(position, tell=False)
            if since is not None:
                position = position_since(self._follower, position, since)
            return self._place(Point(position))
        point = starting.get(self._topic, BEGIN)
        self._register(Place(point))
        return self._place(point)

    def newest(self, start: Place, wait_s: float) -> Point:
        """How far can be read; everything up to ``start`` is in Spark's commit log.

        Spark asks for a new batch only when the one before is in its commit log, but calls
        ``commit`` for it when the next one is planned. An idle stream would so never be committed
        to its end: the question is taken as the commit of everything before ``start``.
        """
        self.commit(start, last=self._target is not None)
        if self._target is None:
            return newest_point(self._follower, start.point, wait_s)
        return capped_point(self._follower, start.point, self._target)

    def at_most(self, start: Point, newest: Point) -> float:
        """No more items than this lie between two points."""
        return self._follower.ask(lambda core: core.items.at_most(start.position, newest.position))

    def counted(self, start: Point, newest: Point, items: int) -> Counted:
        """What lies between two points, for who may take so many items."""
        return counted(self._follower, start, newest, items)

    def place(self, start: Place, end: Point) -> Place:
        """The place at the end of a batch; where it begins when it has no items."""
        self._end = end
        return start if start.point.covers(end) else self._place(end)

    def _place(self, point: Point) -> Place:
        position = point.position
        return Place(point, self._follower.ask(lambda core: core.thinned.up_to(position)))

    def prepare(self) -> None:
        """Fix what is available now."""
        closed = self._follower.closed()
        self._target = reached(self._follower, closed, AVAILABLE_WITHIN_S)
        if not self._target.covers(closed):
            _LOG.warning(
                "topic %s: the query ends before the newest that publishers have closed: nodes do"
                " not have it whole after %g s (see 'evenflow nodes'); the next run reads it",
                self._topic,
                AVAILABLE_WITHIN_S,
            )

    def report(self) -> dict[str, Any]:
        """How far the publishers are, and the figures at the end of the newest batch."""
        closed = self._follower.closed()
        return report_of(closed, self._follower.ask(lambda core: self._figures(core, closed)))

    def _figures(self, core: ConsumerCore, closed: Position) -> Figures:
        planned, position = self._end.planned, self._end.position
        taken = sum(split.items for split in self._end.splits.values())
        return Figures(
            lag_items=max(0, core.items_behind(position) - taken),
            lag_seconds=round(core.seconds_behind(position, time.monotonic()), 3),
            lag_epochs=max(0, position.epochs_behind(closed)),
            thinned=sum(core.thinned.up_to(planned).values()),
            damaged=self._watch.damaged,
            lost=self._lost,
            nodes={
                node: NodeFigures(len(slices), core.epochs_lacking(node, closed))
                for node, slices in sorted(core.owners().items())
                if node
            },
        )

    def shares(self, start: Place, end: Place) -> list[Share]:
        """What is to be read of a batch: a share for each task, the dearest first."""
        self._register(start, end.point.planned)
        asked = range_between(start.point, end.point)
        asked = replace(asked, start=asked.start.merged(self._gone), headers=self._options.headers)
        shares = self._follower.shares_of(asked)
        return self._watch.on_batch_planned(shares)

    def commit(self, end: Place, *, last: bool = True) -> None:
        """A micro-batch is safe: publishers and nodes may forget whole epochs of it."""
        self._register(end)
        self._follower.commit(end.point.position.merged(self._gone), last=last)

    def stop(self) -> None:
        """The query has ended."""
        self._opened.close()

    def _register(self, place: Place, planned: Position | None = None) -> None:
        """Register at a place, unless that has been done.

        Args:
            place: The place.
            planned: The end of a batch that is in the query's own log.
        """
        point = place.point
        if not self._recalled:
            self._recalled = True
            self._follower.ask(lambda core: core.thinned.recall(place.left_out, point.position))
            self._see_loss(point.position)
        position = point.position.merged(self._gone)
        self._follower.register(position, planned or point.planned, tell=False)

    def _see_loss(self, position: Position) -> None:
        """Look whether everything behind the position of the query's log is still kept.

        Raises:
            DomainError: Something is missing, and the query does not say to go on without.
        """
        self._follower.wait(lambda core: core.ledger.version > 0, REGISTERED_WITHIN_S)
        missing = self._follower.ask(lambda core: core.missing(position))
        if not missing:
            return
        what = f"consumer {self._options.consumer!r} of topic {self._topic!r}"
        if self._options.fail_on_loss:
            raise DomainError(what, f"{missing}; or set failOnDataLoss to false to go on without")
        gone = self._follower.ask(lambda core: core.forgotten())
        behind = {w: epoch for w, epoch in gone.items() if epoch > position[w]}
        self._gone = Position(behind)
        self._lost = sum(epoch - position[w] for w, epoch in behind.items())
        _LOG.warning("%s goes on without what is missing: %s", what, missing)
