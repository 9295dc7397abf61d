"""The rules of a publisher, without clock, thread or socket (DPSLB thesis, 3.1 to 3.3).

**Numbers.** The items of one writer are numbered per slice from 1, in batches
(:mod:`evenflow.slices.publisher.batching`). A sealed batch is retained until it is committed, and
given to the shell to be written. Whether that write succeeds does not matter for correctness: nodes
find what they lack by the numbers and ask for it.

**Epochs** are progress: what is in an epoch that was announced is part of the stream
(:mod:`evenflow.slices.publisher.epochs`).

**Fencing** keeps nodes that have lost a slice from committing it
(:mod:`evenflow.slices.publisher.fencing`).

**Served topics** have no application at the nodes; consumers read from the nodes and commit epochs.
An item cannot be read before its epoch is closed, so it waits for company until the epoch ends,
unless there is enough for a batch before. The nodes' own commits do not count. What all registered
consumers have committed is forgotten, and ``EpochClose.committed`` tells the nodes to forget it
too, so there is one judge of what must be kept: the publisher whose items they are.

An entry that makes no sense (a slice that does not exist, a number that was never published) is
ignored and counted; the other entries of its message count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    EpochClose,
    Progress,
    ReplayAnswer,
    ReplayRequest,
)
from evenflow.slices.actions import Resend, Send
from evenflow.slices.consumer.registry import Consumers
from evenflow.slices.publisher.batching import Batching, Limits, SealedBatch
from evenflow.slices.publisher.epochs import Epochs
from evenflow.slices.publisher.fencing import Fencing

if TYPE_CHECKING:
    from evenflow.model.batch import Encoded, Int32s, Item
    from evenflow.slices.publisher.columns import Columns, Table
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
    """These items of a slice are committed now and were not before."""

    slice: int
    first: int
    last: int
    node: str
    """The node, or the consumer of a served topic, whose commit was accepted."""


Reaction = Send | Resend | Committed


class PublisherCore:
    """One writer of one topic. ``now`` is any clock that does not go back."""

    def __init__(
        self,
        topic: str,
        writer: int,
        slice_count: int,
        limits: Limits,
        *,
        served: bool = False,
        spill: Spill | None = None,
    ) -> None:
        self.topic = topic
        self.writer = writer
        self.slice_count = slice_count
        self.limits = limits
        self._batching = Batching(writer, slice_count, limits, served=served, spill=spill)
        self.retention = self._batching.retention
        self.counts = Counts()
        self.last_commit: float | None = None
        """When a commit was last accepted."""
        self.consumers = Consumers() if served else None
        self.epochs = Epochs(topic, writer, slice_count, self._batching, limits.epoch_s)
        self._fencing = Fencing(slice_count)

    @property
    def epoch(self) -> int:
        """The epoch that new items go into."""
        return self._batching.epoch

    # -- items in ----------------------------------------------------------------------------------

    @property
    def uncommitted(self) -> int:
        """Items accepted and not committed."""
        return self.counts.published - self.counts.committed

    @property
    def kept(self) -> int:
        """Bytes of everything uncommitted, what waits included."""
        return self._batching.kept

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes may be kept."""
        return self._batching.has_room(size)

    def gathers(self, count: int, size: int) -> bool:
        """Whether ``count`` items of ``size`` bytes together are few enough to wait for more."""
        return self._batching.gathers(count, size)

    def add(self, slice_id: int, item: Item, now: float) -> list[SealedBatch]:
        """Accept one item; return the batches that are sealed by it."""
        self._accept(1, now)
        return self._batching.add(slice_id, item, now)

    def add_columns(self, slice_id: int, columns: Columns, now: float) -> list[SealedBatch]:
        """Accept many items of one slice; they are sealed at once, after what was waiting."""
        self._accept(len(columns.ids), now)
        return self._batching.add_columns(slice_id, columns)

    def add_table(self, table: Table, slices: Int32s, size: int, now: float) -> list[SealedBatch]:
        """Accept items of any slices, few enough to wait; nobody may change them any more."""
        self._accept(len(table), now)
        return self._batching.add_table(table, slices, size)

    def _accept(self, count: int, now: float) -> None:
        self.counts.published += count
        self.epochs.item_accepted(now)

    # -- batches out -------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When ``seal_due`` or ``end_epoch`` is due next; None when there is nothing to do."""
        due = (self._batching.deadline(), self.epochs.deadline())
        return min((at for at in due if at is not None), default=None)

    def seal_due(self, now: float) -> list[SealedBatch]:
        """Seal the open batches whose linger is over."""
        return self._batching.seal_due(now)

    def flush(self) -> list[SealedBatch]:
        """Seal everything that waits."""
        return self._batching.flush()

    # -- epochs ------------------------------------------------------------------------------------

    def epoch_due(self, now: float) -> bool:
        """Whether it is time to end the epoch, or to repeat what is uncommitted."""
        return self.epochs.is_due(now)

    def end_epoch(self) -> list[SealedBatch]:
        """End the current epoch, if it has items; ``close_epoch`` announces it."""
        sealed = self.flush()
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

    def handle(self, message: Commit | ReplayRequest, now: float) -> list[Reaction]:
        """React to a node."""
        columns = (message.slices, message.terms, _numbers(message))
        addressed = message.topic == self.topic and message.writer == self.writer
        if not addressed or len({len(column) for column in columns}) > 1:
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
        reactions: list[Reaction] = []
        for slice_id in self.retention.dirty():
            upto = self.retention.last_in(slice_id, epoch)
            count = self.retention.commit(slice_id, upto)
            self.counts.committed += count
            if count:
                reactions.append(Committed(slice_id, upto - count + 1, upto, message.consumer))
        return reactions

    def on_consumer_gone(self, topic: str, name: str) -> None:
        """The process of a consumer is gone; it stays registered."""
        if self.consumers is not None and topic == self.topic:
            self.consumers.on_process_gone(name)

    def term(self, slice_id: int) -> int:
        """The highest term of ownership met for a slice."""
        return self._fencing.term(slice_id)

    def _commit(self, message: Commit, now: float) -> list[Reaction]:
        if message.consumer != MAIN_CONSUMER or self.consumers is not None:
            self.counts.other_consumer += 1
            return []
        reactions: list[Reaction] = []
        stale: list[int] = []
        for slice_id, term, upto in zip(message.slices, message.terms, message.upto, strict=True):
            if slice_id >= self.slice_count or upto > self.retention.newest(slice_id):
                self.counts.impossible += 1
            elif not self._fencing.admit(slice_id, term):
                self.counts.stale_commits += 1
                stale.append(slice_id)
            else:
                self.last_commit = now
                count = self.retention.commit(slice_id, upto)
                self.counts.committed += count
                if count:
                    reactions.append(Committed(slice_id, upto - count + 1, upto, message.node))
        if stale:
            # A stale owner that cannot hear the balancer learns it from us.
            reactions.append(Send(self._answer(message.node, 0, [], stale), to=message.node))
        return reactions

    def _replay(self, message: ReplayRequest) -> list[Reaction]:
        accepted: list[int] = []
        refused: list[int] = []
        batches: list[Encoded] = []
        for slice_id, term, have in zip(message.slices, message.terms, message.have, strict=True):
            if slice_id >= self.slice_count:
                self.counts.impossible += 1
            elif not self._fencing.admit(slice_id, term):
                self.counts.stale_requests += 1
                refused.append(slice_id)
            else:
                accepted.append(slice_id)
                batches += [batch.encoded for batch in self.retention.after(slice_id, have)]
        answer = self._answer(message.node, message.request, accepted, refused)
        reactions: list[Reaction] = [Send(answer, to=message.node)]
        if batches:
            reactions.append(Resend(message.node, tuple(batches)))
        return reactions

    def _answer(
        self, node: str, request: int, accepted: list[int], refused: list[int]
    ) -> ReplayAnswer:
        return ReplayAnswer(
            topic=self.topic,
            writer=self.writer,
            node=node,
            request=request,
            slices=tuple(accepted),
            floor=tuple(self.retention.floor(s) for s in accepted),
            last=tuple(self.retention.newest(s) for s in accepted),
            refused=tuple(refused),
            refused_terms=self._fencing.terms(refused),
        )


def _numbers(message: Commit | ReplayRequest) -> tuple[int, ...]:
    return message.upto if isinstance(message, Commit) else message.have
