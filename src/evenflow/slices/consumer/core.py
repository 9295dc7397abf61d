"""The rules of a consumer of a served topic: how far it may read, where, and what it commits.

A consumer works in batches: it fixes an end position, reads everything in ``(start, end]`` from the
nodes that own the slices, and commits ``end`` when its work is safe. It may die at any moment and
plan the same batch again from its own log: nothing of it was forgotten, because it was not
committed.

The end is, for every writer, the smallest epoch that all owners of slices have whole. It may be out
of date when it is used, and need not be exact: a node asked for an epoch that it does not have
whole says so, and the reader asks again or elsewhere. It must only never go back. A writer that is
silent is waited for. While its cut is being prepared nothing more of it is planned; the cut is the
end of it, and when everybody has committed that, the writer is no longer named.

A consumer plans nothing before the ledger names it under a number of its present life: then it is
registered, on the balancer's disk, and is asked before a writer is cut. Nor does it while an owner
of slices does not name it: it may have been released, and hear no balancer.

Two processes with one name would commit, and so make everybody forget, what the other has not read.
Commits of a name are numbered: everybody goes by the highest number, and a consumer that hears a
higher one than its own is *superseded* and has to stop. Before its first commit a consumer only
takes note of the number and goes on above it. When its process is gone the number is forgotten, so
the clock of a later life need not be ahead of the earlier one's.

A consumer without a log of its own finds its position in the domain. Nodes keep the newest commit
of a consumer whose process is gone, and contradict a copy when they have the consumer before them;
it begins at the newest copy that nobody contradicts.
"""

from __future__ import annotations

from typing import Final

from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutAnswer,
    EpochClose,
    Ledger,
    MapPage,
    Progress,
    WriterCut,
)
from evenflow.model.slice_map import SliceMap
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.consumer.epoch_items import EpochItems
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.consumer.registry.copies import BALANCER, is_expired
from evenflow.slices.consumer.returning import expired_words, missing_words
from evenflow.slices.consumer.splits import Point
from evenflow.slices.consumer.thinned import ThinnedCounts
from evenflow.slices.heard_balancers import HeardBalancers
from evenflow.slices.ledger_view import LedgerView

EARLIEST: Final = "earliest"
"""Begin with the oldest item that is kept."""
LATEST: Final = "latest"
"""Begin with what comes from now on."""


class ConsumerCore:
    """One consumer of one topic.

    Args:
        topic: The topic.
        name: Name of the consumer.
        number: Where the numbers of its commits begin, unless it hears a higher one: the time.
        keeps: Whether the topic keeps more than what is not committed.
    """

    def __init__(self, topic: str, name: str, number: int, *, keeps: bool = False) -> None:
        self.topic = topic
        self.name = name
        self.others = Consumers()
        """All consumers that were heard of, this one in earlier lives included."""
        self.map = SliceMap()
        self._balancers = HeardBalancers(topic, f"consumer {name}")
        self.progress: dict[str, Progress] = {}
        self._keeps = keeps
        self.expired: CommitCopy | None = None
        """What the balancer says of this consumer when it has expired."""
        self.superseded = False
        """Another process commits under this name and began later."""
        self._number = number
        self._spoken = False
        self._seen_by: set[str] = set()
        """Nodes for which this consumer, in an earlier life, is still there."""
        self.ledger = LedgerView()
        self._first = 0
        """The number of the first commit of this life."""
        self._planned: dict[int, int] = {}
        """For each writer the furthest that may have been planned."""
        self.items = EpochItems()
        self.thinned = ThinnedCounts()

    # -- events -----------------------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Send]:
        """Take in what the domain shows; return what there is to say to it."""
        match event:
            case MapPage():
                self.map.apply(event)
                return self._hear(event.version, now)
            case Progress():
                self.progress[event.node] = event
                self.others.learn(event.consumers)
            case Ledger():
                if self.ledger.on_ledger(event):
                    self.others.learn(event.consumers)
                return self._hear(event.version, now)
            case WriterCut():
                self.ledger.on_cut(event)
            case EpochClose():
                self.ledger.revive(event)
                self.items.on_close(event, now)
                self.thinned.on_close(event)
            case ConsumerCommit():
                self.others.commit(event)
                self._compare(event)
            case CommitCopy():
                self._on_copy(event)
            case NodeGone():
                self.progress.pop(event.node, None)
                self._seen_by.discard(event.node)
            case _:
                raise TypeError(f"a consumer cannot handle {type(event).__name__}")
        return []

    def _hear(self, version: int, now: float) -> list[Send]:
        return [] if self._balancers.hear(version, now) else self._balancers.object(now)

    def _compare(self, commit: ConsumerCommit) -> None:
        if commit.consumer == self.name and commit.number > self._number:
            if self._spoken:
                self.superseded = True
            else:
                self._number = commit.number

    def _on_copy(self, copy: CommitCopy) -> None:
        self.others.recall(copy)
        if copy.consumer == self.name and copy.node == BALANCER:
            self.expired = copy if is_expired(copy) else None
        if copy.consumer == self.name and not self._spoken:
            self._number = max(self._number, copy.number)
            (self._seen_by.discard if copy.away else self._seen_by.add)(copy.node)

    # -- coming back ------------------------------------------------------------------------------

    @property
    def may_be_remembered(self) -> bool:
        """Whether a node is still to tell what this consumer said last in an earlier life."""
        if self._seen_by:
            return True  # that life has just ended: they have not noticed yet
        if self.ledger.consumers.get(self.name) == 0:
            return False  # it is declared, and has never run
        return self.is_registered and self.others.newest(self.name) is None

    @property
    def is_registered(self) -> bool:
        """Whether the domain keeps items for this consumer, from an earlier life of it or this."""
        return self.name in self.others.names()

    @property
    def is_new(self) -> bool:
        """Whether this consumer never ran before: it is not registered, or only declared."""
        return not self.is_registered or self.ledger.consumers.get(self.name) == 0

    def remembered(self) -> tuple[Position, Position] | None:
        """This consumer's position at the end of an earlier life, and the batch it had planned.

        What is remembered may be a little old. What was forgotten since, it had committed like all
        others: it was registered all the time.
        """
        newest = self.others.newest(self.name)
        if newest is None or newest.ended:
            return None
        position = Position.of(newest.writers, newest.epochs).merged(self.forgotten())
        planned = Position.of(newest.planned_writers, newest.planned_epochs)
        return position, NOWHERE if position.covers(planned) else planned

    # -- planning ---------------------------------------------------------------------------------

    def owners(self) -> dict[str, tuple[int, ...]]:
        """The slices of every node, ``""`` owns what nobody does; nothing without a whole map."""
        return self.map.by_node() if self.map.is_complete else {}

    def lacking(self) -> str:
        """What keeps the topic from being read; empty when nothing does."""
        owners = self.owners()
        if not owners:
            return "nobody has assigned its slices: start 'evenflow balancer'"
        if "" in owners:
            return "some of its slices have no node: start 'evenflow node --serve'"
        silent = sorted(owners.keys() - self.progress.keys())
        if silent:
            return f"node {silent[0]} does not serve: start nodes with 'evenflow node --serve'"
        return ""

    @property
    def is_confirmed(self) -> bool:
        """Whether this consumer may plan: it is registered, or it never speaks."""
        if not self._spoken:
            return True
        return self.ledger.consumers.get(self.name, -1) >= self._first

    @property
    def is_kept_for(self) -> bool:
        """Whether every owner of slices says that items are kept for this consumer.

        One that has expired may not hear so; new publishers keep nothing for it.
        """
        named = (self.progress.get(node) for node in self.owners())
        return not self._spoken or all(told and self.name in told.consumers for told in named)

    def latest(self, start: Position) -> Position:
        """The newest position that can be read whole; never behind ``start``."""
        if self.lacking() or not self.is_confirmed or not self.is_kept_for:
            return start
        owners = self.owners()
        claims = [
            Position.of(told.writers, told.epochs)
            for node, told in self.progress.items()
            if node in owners
        ]
        claimed = {writer for claim in claims for writer in claim}
        whole = {}
        for writer in claimed:
            if not self.ledger.is_frozen(writer) and not self.ledger.is_over(writer):
                cut = self.ledger.cut(writer)
                least = min(claim[writer] for claim in claims)
                whole[writer] = least if cut is None else min(least, cut.epoch)
        # Who has ended is left out when every node knows it: they tell a balancer that does not.
        named = {writer for told in self.progress.values() for writer in told.writers}
        over = [w for w in start if self.ledger.is_over(w) and w not in named]
        found = start.without(over).merged(whole)
        self.note_planned(found)
        return found

    def note_planned(self, end: Position) -> None:
        """This consumer may read up to there, in this life or by its own log."""
        for writer, epoch in end.items():
            if epoch > self._planned.get(writer, 0):
                self._planned[writer] = epoch
        for writer in [w for w in self._planned if w not in end and self.ledger.is_over(w)]:
            del self._planned[writer]

    def cut_answers(self) -> list[CutAnswer]:
        """What this consumer says of writers whose cut is being prepared."""
        if not self._spoken or not self.is_confirmed:
            return []
        return [
            CutAnswer(
                self.topic, writer, term, self.name, consumer=True, reason="", slices=(),
                owner_terms=(), have=(), last=(), uncertain=0,
                epoch=self._planned.get(writer, 0), close_slices=(), close_last=(),
            )
            for writer, term in self.ledger.preparing().items()
        ]  # fmt: skip

    def point(self, start: Point) -> Point:
        """The newest point that can be read whole; never behind ``start``."""
        newest = start.advanced(self.latest(start.position))
        named = {writer for told in self.progress.values() for writer in told.writers}
        left = {}
        for writer, split in newest.splits.items():
            cut = self.ledger.cut(writer)
            over = self.ledger.is_over(writer) and writer not in named
            # A stream that was given up ends before the split: there is no rest of that epoch.
            if not over and (cut is None or cut.epoch >= split.epoch):
                left[writer] = split
        return Point(newest.position, left)

    def bounded(self, start: Point, newest: Point, items: int) -> Point:
        """A point up to a second one; what lies behind it is no matter to who takes so many."""
        enough = self.items.enough(start.planned, newest.position, items)
        return Point(enough, newest.splits)

    def limited(self, start: Position, end: Position, items: int) -> Position:
        """A position between two, about this many items behind the first and at least one epoch."""
        return self.items.limited(start, end, items)

    def forgotten(self) -> Position:
        """For each writer the epoch up to which everything is forgotten."""
        return Position({writer: close.committed for writer, close in self.items.closes.items()})

    def missing(self, position: Position) -> str:
        """What a consumer that is not registered would never get behind a position, in words."""
        if self.expired is not None:
            return expired_words(self.expired, self.forgotten())
        gone = {w: epoch for w, epoch in self.forgotten().items() if epoch > position[w]}
        if not position or self.is_registered or not gone:
            return ""
        newest = self.others.newest(self.name)
        released = newest.number if newest is not None and newest.ended else None
        return missing_words(position, gone, released)

    def earliest(self) -> Position:
        """For each writer the epoch up to which everything may be forgotten."""
        return self.forgotten() if self._keeps else self.others.position().merged(self.forgotten())

    def closed(self) -> Position:
        """The newest closed epoch of every writer that has not ended."""
        ledger = self.ledger
        return Position({w: c.epoch for w, c in self.items.closes.items() if not ledger.is_over(w)})

    def epochs_lacking(self, node: str, closed: Position) -> int:
        """How many closed epochs a node has not whole yet, of the writer furthest ahead."""
        told = self.progress.get(node)
        has = NOWHERE if told is None else Position.of(told.writers, told.epochs)
        return max(0, has.merged(self.forgotten()).epochs_behind(closed))

    def seconds_behind(self, position: Position, now: float) -> float:
        """How long the oldest closed epoch behind a position has waited; 0 when there is none."""
        return max(0.0, now - self.items.waiting_since(position, self.closed()))

    def items_behind(self, position: Position) -> int:
        """About how many closed items lie behind a position: the lag."""
        return sum(
            self.items.between(writer, max(position[writer], close.committed), close.epoch)
            for writer, close in self.items.closes.items()
            if not self.ledger.is_over(writer)
        )

    # -- committing -------------------------------------------------------------------------------

    def commit(
        self, position: Position, planned: Position = NOWHERE, *, ended: bool = False
    ) -> ConsumerCommit:
        """What to tell everybody when all up to a position is processed.

        Args:
            position: The position.
            planned: The end of the next batch, when it shall be remembered.
            ended: Nothing has to be kept for this consumer any more.
        """
        self._number += 1
        self._first = self._first if self._spoken else self._number
        self._spoken = True
        self.note_planned(position)
        self.note_planned(planned)
        self.thinned.settle(position)
        self.items.settle(position)
        for writer in [w for w in self.items.writers() if self.ledger.is_over(w)]:
            self.items.forget(writer)
            self.thinned.forget(writer)
        return ConsumerCommit(
            self.topic, self.name, self._number, *position.columns(), ended, *planned.columns()
        )
