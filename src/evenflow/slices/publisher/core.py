"""The rules of a publisher, without clock, thread or socket (DPSLB thesis, 3.1 to 3.3).

**Numbers.** The items of one writer are numbered per slice from 1 when they are sealed into samples
(:mod:`evenflow.slices.publisher.sealing`). A sealed sample is retained until it is committed, and
given to the shell to be written to the owner of its slices
(:mod:`evenflow.slices.publisher.routing`). Whether that write succeeds, and whether it went to the
right node, does not matter for correctness: nodes find what they lack by the numbers and ask for
it.

**Epochs** are progress: what is in an epoch that was announced is part of the stream
(:mod:`evenflow.slices.publisher.epochs`).

**Fencing** keeps nodes that have lost a slice from committing it
(:mod:`evenflow.slices.publisher.fencing`).

**Served topics** have no application at the nodes; consumers read from the nodes and commit epochs.
An item cannot be read before its epoch is closed, so it waits for company until the epoch ends,
unless there is enough for a sample before. The nodes' own commits do not count. What all registered
consumers have committed is forgotten, and ``EpochClose.committed`` tells the nodes to forget it
too, so there is one judge of what must be kept: the publisher whose items they are.

An entry that makes no sense (a slice that does not exist or is named twice, a number that was never
published) is ignored and counted; the other entries of its message count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    EpochClose,
    MapPage,
    Progress,
    ReplayAnswer,
    ReplayRequest,
)
from evenflow.slices.actions import Send
from evenflow.slices.consumer.registry import Consumers
from evenflow.slices.publisher.entries import entries_of, is_even
from evenflow.slices.publisher.epochs import Epochs
from evenflow.slices.publisher.fencing import Fencing
from evenflow.slices.publisher.routing import Routing
from evenflow.slices.publisher.sealing import Limits, SealedSample, Sealing

if TYPE_CHECKING:
    from evenflow.model.batch import Int32s, Int64s
    from evenflow.slices.outbox.journal import Journal
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.entries import Entries
    from evenflow.slices.publisher.gathering import AssignColumns, Row
    from evenflow.slices.publisher.retention import Lacking, Newly
    from evenflow.slices.spill import Spill

MAIN_CONSUMER: Final = ""
"""The consumer group whose commits let the publisher forget: the nodes' own application."""


@dataclass(slots=True)
class Counts:
    """What happened since the start."""

    published: int = 0
    """Items accepted."""
    committed: int = 0
    """Items committed."""
    stale_commits: int = 0
    """Commit entries of an older term, refused."""
    stale_requests: int = 0
    """Replay entries of an older term, refused."""
    impossible: int = 0
    """Entries about a slice or a number that does not exist, ignored."""
    other_consumer: int = 0
    """Commits of another consumer group, ignored."""
    foreign: int = 0
    """Messages for another writer or topic, or with columns of unequal length; ignored."""


@dataclass(frozen=True, slots=True)
class Committed:
    """These items of slices are committed now and were not before."""

    newly: Newly
    node: str
    """The node, or the consumer of a served topic, whose commit was accepted."""


@dataclass(frozen=True, slots=True)
class Resend:
    """Write retained samples, or what is wanted of them, to a node that lacks it."""

    node: str
    lacking: tuple[Lacking, ...]


Reaction = Send | Resend | Committed


class PublisherCore:
    """One writer of one topic. ``now`` is any clock that does not go back.

    Args:
        topic: The topic.
        writer: The writer.
        slice_count: How many slices there are.
        limits: When items are sealed, and how much is kept.
        assign: Gives items their slices that come without one.
        served: Consumers read the topic from serving nodes.
        spill: Takes what memory has no room for.
        journal: Writes everything down, within its own bound.
    """

    def __init__(
        self,
        topic: str,
        writer: int,
        slice_count: int,
        limits: Limits,
        *,
        assign: AssignColumns,
        served: bool = False,
        spill: Spill | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.topic = topic
        self.writer = writer
        self.slice_count = slice_count
        self.limits = limits
        self.routing = Routing(topic, slice_count)
        self.sealing = Sealing(
            writer,
            slice_count,
            limits,
            routing=self.routing,
            assign=assign,
            served=served and limits.linger_s > 0,
            spill=spill,
            journal=journal,
        )
        self.retention = self.sealing.retention
        self.counts = Counts()
        self.committed_before = 0
        """Items that earlier lives of the writer got committed."""
        self.last_commit: float | None = None
        """When a commit was last accepted."""
        self.consumers = Consumers() if served else None
        self.epochs = Epochs(topic, writer, slice_count, self.sealing, limits.epoch_s)
        self.fencing = Fencing(slice_count)

    @property
    def epoch(self) -> int:
        """The epoch that new items go into."""
        return self.sealing.epoch

    # -- items in ----------------------------------------------------------------------------------

    @property
    def uncommitted(self) -> int:
        """Items accepted and not committed."""
        return self.counts.published - self.counts.committed

    @property
    def kept(self) -> int:
        """Bytes of everything uncommitted, what waits included."""
        return self.sealing.kept

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes may be kept."""
        return self.sealing.kept + size <= self.sealing.room

    def fills(self, count: int, size: int) -> bool:
        """Whether some items more are enough, with what waits, to be sealed."""
        return self.sealing.fills(count, size)

    def offer(self, row: Row, size: int) -> bool:
        """Accept one item, if it has nothing to do but wait; otherwise see :meth:`add`."""
        if not self.sealing.gathering.offer(row, size):
            return False
        self.counts.published += 1
        return True

    def add(self, row: Row, size: int) -> None:
        """Accept one item; say :meth:`opened` when it is the first that waits."""
        self.counts.published += 1
        self.sealing.gathering.append(row, size)

    def add_table(self, table: Table, slices: Int32s, size: int) -> None:
        """Accept many items, which nobody may change until they are sealed."""
        self.counts.published += len(table)
        self.sealing.gathering.add(table, slices, size)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be sealed."""
        return not self.sealing.gathering.count

    def opened(self, now: float) -> None:
        """The first item waits from now on."""
        self.sealing.opened(now)
        self.epochs.item_accepted(now)

    # -- samples out -------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When ``seal_due`` or ``end_epoch`` is due next; None when there is nothing to do."""
        due = (self.sealing.deadline(), self.epochs.deadline())
        return min((at for at in due if at is not None), default=None)

    def seal_due(self, now: float) -> list[SealedSample]:
        """Seal what has gathered, if it has waited long enough."""
        due = self.sealing.deadline()
        return self.sealing.seal(now) if due is not None and due <= now else []

    def seal(self, now: float) -> list[SealedSample]:
        """Seal everything that waits."""
        return self.sealing.seal(now)

    # -- epochs ------------------------------------------------------------------------------------

    def epoch_due(self, now: float) -> bool:
        """Whether it is time to end the epoch, or to repeat what is uncommitted."""
        return self.epochs.is_due(now)

    def end_epoch(self, now: float) -> list[SealedSample]:
        """End the current epoch, if it has items; ``close_epoch`` announces it."""
        sealed = self.seal(now)
        self.epochs.end(self.counts.published)
        return sealed

    def close_epoch(self, now: float, *, closing: bool = False) -> EpochClose | None:
        """Announce what is uncommitted of the ended epochs; nothing when that would be no news.

        Args:
            now: The time.
            closing: Say that no more items come. Announced even when all is committed.
        """
        committed = 0 if self.consumers is None else self.counts.committed
        return self.epochs.close(now, closing=closing, committed_items=committed)

    # -- messages in -------------------------------------------------------------------------------

    def handle(self, message: Commit | ReplayRequest | MapPage, now: float) -> list[Reaction]:
        """React to a node, or to the balancer."""
        if isinstance(message, MapPage):
            if self.routing.apply(message):
                self.sealing.on_routes_changed()
            return []
        addressed = message.topic == self.topic and message.writer == self.writer
        if not addressed or not is_even(message):
            self.counts.foreign += 1
            return []
        if isinstance(message, Commit):
            return self._commit(message, now)
        return self._replay(message)

    def handle_consumer(self, message: ConsumerCommit | Progress, now: float) -> list[Reaction]:
        """Hear of the consumers of a served topic; forget what all of them have committed."""
        consumers = self.consumers
        if consumers is None or message.topic != self.topic:
            return []
        if isinstance(message, Progress):
            consumers.learn(message.consumers)
            return []
        consumers.commit(message)
        epoch = consumers.floor(self.writer)
        if epoch > self.epochs.ended:
            self.counts.impossible += 1
            return []
        if epoch <= self.epochs.committed:
            return []
        self.epochs.committed = epoch
        self.last_commit = now
        newly = self.retention.commit_epoch(epoch)
        self.counts.committed += newly.items
        return [Committed(newly, message.consumer)] if len(newly.slices) else []

    def on_consumer_gone(self, topic: str, name: str) -> None:
        """The process of a consumer is gone; it stays registered."""
        if self.consumers is not None and topic == self.topic:
            self.consumers.on_process_gone(name)

    def term(self, slice_id: int) -> int:
        """The highest term of ownership met for a slice."""
        return self.fencing.term(slice_id)

    def _entries(self, message: Commit | ReplayRequest) -> Entries:
        entries = entries_of(message, self.slice_count)
        self.counts.impossible += len(message.slices) - len(entries.slices)
        return entries

    def _commit(self, message: Commit, now: float) -> list[Reaction]:
        if message.consumer != MAIN_CONSUMER or self.consumers is not None:
            self.counts.other_consumer += 1
            return []
        entries = self._entries(message)
        possible = entries.numbers <= self.retention.newest[entries.slices]
        self.counts.impossible += len(possible) - int(possible.sum())
        entries = entries.where(possible)
        admitted = self.fencing.admit(entries.slices, entries.terms)
        stale = entries.slices[~admitted].tolist()
        self.counts.stale_commits += len(stale)
        reactions: list[Reaction] = []
        if admitted.any():
            self.last_commit = now
            newly = self.retention.commit(entries.slices[admitted], entries.numbers[admitted])
            self.counts.committed += newly.items
            if len(newly.slices):
                reactions.append(Committed(newly, message.node))
        if stale:
            # A stale owner that cannot hear the balancer learns it from us.
            empty = np.zeros(0, np.int64)
            reactions.append(Send(self._answer(message.node, 0, empty, stale), to=message.node))
        return reactions

    def _replay(self, message: ReplayRequest) -> list[Reaction]:
        entries = self._entries(message)
        admitted = self.fencing.admit(entries.slices, entries.terms)
        refused = entries.slices[~admitted].tolist()
        self.counts.stale_requests += len(refused)
        asked = entries.where(admitted)
        if self.routing.learn(asked.slices, asked.terms, message.node):
            self.sealing.on_routes_changed()
        answer = self._answer(message.node, message.request, asked.slices, refused)
        reactions: list[Reaction] = [Send(answer, to=message.node)]
        limits = {"room": message.room, "epoch": message.epoch}
        lacking = self.retention.lacking(asked.slices, asked.numbers, **limits)
        if lacking:
            reactions.append(Resend(message.node, tuple(lacking)))
        return reactions

    def _answer(
        self, node: str, request: int, accepted: Int64s, refused: list[int]
    ) -> ReplayAnswer:
        return ReplayAnswer(
            topic=self.topic,
            writer=self.writer,
            node=node,
            request=request,
            slices=tuple(accepted.tolist()),
            floor=tuple(self.retention.floors[accepted].tolist()),
            last=tuple(self.retention.newest[accepted].tolist()),
            refused=tuple(refused),
            refused_terms=self.fencing.terms(refused),
        )
