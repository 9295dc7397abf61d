"""The rules of a publisher, without clock, thread or socket (DPSLB thesis, 3.1 to 3.3).

**Numbers.** The items of one writer are numbered per slice from 1 when they are sealed into samples
(:mod:`evenflow.slices.publisher.sealing`). A sealed sample is retained until it is committed, and
given to the shell to be written to the owner of its slices
(:mod:`evenflow.slices.publisher.sending.routing`). Whether that write succeeds, and whether it went
to the right node, does not matter: nodes find what they lack by the numbers and ask for it.

**Epochs** are progress: what is in an epoch that was announced is part of the stream
(:mod:`evenflow.slices.publisher.epochs`).

**Fencing** keeps nodes that have lost a slice from committing it
(:mod:`evenflow.slices.publisher.fencing`).

**Served topics** are read by consumers, who commit epochs; the nodes' own commits do not count. An
item cannot be read before its epoch is closed, so it waits for company until then. What is
forgotten, and when, is in :mod:`evenflow.slices.publisher.keeping.forgetting`; nothing is before
the ledger was heard, which names the registered consumers.

**The end.** A publisher that nobody heard for long may find that its stream was cut. Then it goes
on as another writer (:mod:`evenflow.slices.publisher.renewal`); one with an outbox, which has one
writer at a time, when everything up to the cut is committed. One whose end is no longer known
cannot say what was processed: it stops (:attr:`PublisherCore.refused`) and keeps what it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import (
    Beat,
    Commit,
    ConsumerCommit,
    EpochClose,
    Ledger,
    MapPage,
    Progress,
    ReplayRequest,
    RoomWanted,
    WriterCut,
)
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.heard_balancers import HeardBalancers
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.publisher.entries import is_even
from evenflow.slices.publisher.epochs import Epochs
from evenflow.slices.publisher.exchange import Committed, Counts, Exchange, Reaction, Resend
from evenflow.slices.publisher.fencing import Fencing
from evenflow.slices.publisher.keeping.forgetting import Forgetting
from evenflow.slices.publisher.keeping.former_writers import FormerWriter, FormerWriters
from evenflow.slices.publisher.renewal import Ending, Renewal, refusal
from evenflow.slices.publisher.sealing import Limits, SealedSample, Sealing
from evenflow.slices.publisher.sending.routing import Routing

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config.spans import Keep
    from evenflow.model.batch import Int32s
    from evenflow.slices.outbox.journal import Journal
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.gathering import AssignColumns, Row
    from evenflow.slices.publisher.retention import Retention
    from evenflow.slices.spill import Spill

Heard = Commit | ReplayRequest | RoomWanted | MapPage | Beat | Ledger | WriterCut

__all__ = ["Committed", "Counts", "PublisherCore", "Reaction", "Resend"]


class PublisherCore:
    """One writer of one topic. ``now`` is any clock that does not go back.

    Args:
        topic: The topic.
        writer: The writer.
        slice_count: How many slices there are.
        limits: When items are sealed, and how much is kept.
        assign: Gives items their slices that come without one.
        served: Consumers read the topic from serving nodes.
        keep: How much of a served topic is kept beyond what is committed.
        spill: Takes what memory has no room for.
        journal: Writes everything down, within its own bound.
        new_writer: Names another writer, when this one was ended. Without it the publisher stops.
        patience: How long commits from beyond a cut are waited for, before that.
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
        keep: Keep | None = None,
        spill: Spill | None = None,
        journal: Journal | None = None,
        new_writer: Callable[[], int] | None = None,
        patience: float = 0.0,
    ) -> None:
        self.topic, self.writer, self.slice_count = topic, writer, slice_count
        self.limits = limits
        self.routing = Routing(topic, slice_count)
        self.sealing = Sealing(
            writer, slice_count, limits, routing=self.routing, assign=assign,
            served=served and limits.linger_s > 0, spill=spill, journal=journal,
        )  # fmt: skip
        self.counts = Counts()
        self.balancers = HeardBalancers(topic, f"publisher {writer:016x}")
        self.committed_before = 0
        """Items that earlier lives of the writer got committed."""
        self.ledger = LedgerView()
        self._ending = Ending(self.ledger, new_writer, served=served, patience=patience)
        self.refused = ""
        """Why this publisher cannot go on; empty when it can."""
        self.consumers = Consumers() if served else None
        self.epochs = Epochs(topic, writer, slice_count, self.sealing, limits.epoch_s)
        self.former_writers = FormerWriters()
        self.forgetting = Forgetting(
            self.epochs, self.sealing, self.counts, self.consumers, self.ledger,
            self.former_writers, keep,
        )  # fmt: skip
        self._exchange = self._exchange_of(Fencing(slice_count))

    def _exchange_of(self, fencing: Fencing) -> Exchange:
        kept, served = self.retention, self.consumers is not None
        return Exchange(
            self.topic, self.writer, kept, fencing, self.counts, self.balancers, served=served
        )

    @property
    def retention(self) -> Retention:
        """What is published and not committed, under the present id."""
        return self.sealing.retention

    def keeps(self, serial: int) -> bool:
        """Whether a sample is published and not committed."""
        return self.sealing.retention.has(serial)

    @property
    def fencing(self) -> Fencing:
        """The terms met under the present id."""
        return self._exchange.fencing

    @property
    def last_commit(self) -> float | None:
        """When a commit was last accepted."""
        return self._exchange.last_commit

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
        return self.sealing.kept + size <= self.sealing.room or self.forgetting.make_room(size)

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
        """When samples, an epoch, a cut or a former writer are due; None for nothing to do."""
        former = (one.due for one in self.former_writers.values())
        due = (self.sealing.deadline(), self.epochs.deadline(), self._ending.due, *former)
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
        self.epochs.end(self.counts.published, self.counts.thinned)
        return sealed

    def close_epoch(self, now: float, *, closing: bool = False) -> EpochClose | None:
        """Announce what is uncommitted of the ended epochs; nothing when that would be no news.

        Args:
            now: The time.
            closing: Say goodbye, if everything is committed.
        """
        forgetting, thinned = self.forgetting, self.counts.thinned
        if closing and forgetting.is_over:
            return None
        goodbye = closing and not self.uncommitted and not forgetting.keeps
        committed = 0 if self.consumers is None else forgetting.forgotten_items
        return self.epochs.close(now, thinned, closing=goodbye, committed_items=committed)

    def leave(self) -> None:
        """This publisher leaves: its history is the nodes', if everything is committed."""
        if not self.uncommitted:
            self.forgetting.end_history()

    # -- messages in -------------------------------------------------------------------------------

    def handle(self, message: Heard, now: float) -> list[Reaction]:
        """React to a node, or to the balancer."""
        if isinstance(message, Commit | ReplayRequest):
            return self._on_node(message, now)
        if message.topic != self.topic:
            return []
        if isinstance(message, RoomWanted):
            self.forgetting.on_room_wanted(now)
            return []
        if isinstance(message, MapPage) and self.routing.apply(message):
            self.sealing.on_routes_changed()
        if not isinstance(message, WriterCut) and not self.balancers.hear(message.version, now):
            return list(self.balancers.object(now))
        return self._on_ledger(message, now) if isinstance(message, Ledger | WriterCut) else []

    def _on_node(self, message: Commit | ReplayRequest, now: float) -> list[Reaction]:
        exchange = self._addressed(message.writer) if message.topic == self.topic else None
        if exchange is None or not is_even(message):
            self.counts.foreign += 1
            return []
        if isinstance(message, Commit):
            return exchange.commit(message, now)
        reactions, changed = exchange.replay(message, self.routing)
        if changed:
            self.sealing.on_routes_changed()
        return reactions

    def _addressed(self, writer: int) -> Exchange | None:
        if writer == self.writer:
            return self._exchange
        former = self.former_writers.get(writer)
        return None if former is None else former.exchange

    def handle_consumer(self, message: ConsumerCommit | Progress, now: float) -> list[Reaction]:
        """Hear of the consumers of a served topic; forget what all of them have committed."""
        mine = message.topic == self.topic
        return self.forgetting.hear(message, self._exchange, now) if mine else []

    def on_consumer_gone(self, topic: str, name: str) -> None:
        """The process of a consumer is gone; it stays registered."""
        if self.consumers is not None and topic == self.topic:
            self.consumers.on_process_gone(name)

    # -- the end of a stream -----------------------------------------------------------------------

    def _on_ledger(self, message: Ledger | WriterCut, now: float) -> list[Reaction]:
        reactions: list[Reaction] = []
        if isinstance(message, WriterCut):
            # Of others' ends only this one's own matter here.
            if self._addressed(message.writer) and max((0, *message.slices)) < self.slice_count:
                self.ledger.on_cut(message)
        elif self.ledger.on_ledger(message) or message.version == self.ledger.version:
            reactions += self.forgetting.on_listed(message.consumers, self._exchange, now)
        reactions += self.former_writers.forget_cleared(self.ledger, now)
        return reactions + self.follow_cut(now)

    def follow_cut(self, now: float) -> list[Reaction]:
        """Go on as another writer, when this one was cut and it is time to.

        One with an outbox is only told that it may (:attr:`is_to_renew`).
        """
        ending, has_journal = self._ending, self.sealing.has_journal
        if self.refused or not ending.is_complete(self.writer):
            return []
        self.forgetting.end_history()
        if ending.is_unknown(self.writer):
            self.refused = refusal(self.writer, self.uncommitted, in_outbox=has_journal)
        if self.refused or ending.cut(self.writer) is None:
            return []
        waited = ending.look(self.writer, now)
        if has_journal:
            return ending.hold(self._exchange, self.epochs, now)
        if not waited:
            return []
        self.seal(now)  # kept; whoever lacks it will ask
        return self.renew(self.plan_renewal(), now)

    @property
    def is_to_renew(self) -> bool:
        """Whether the stream was cut, and everything up to the cut is committed."""
        return not self.refused and self._ending.is_reached(self._exchange)

    def plan_renewal(self) -> Renewal:
        """How to go on as another writer behind the cut, when everything is sealed."""
        return self._ending.plan(self._exchange, self.sealing.serial)

    def renew(self, plan: Renewal, now: float) -> list[Reaction]:
        """Go on as another writer with what lies beyond the cut."""
        last_epoch = self.epochs.ended if self.consumers is None else plan.epoch
        items = self.counts.committed + self.former_writers.uncommitted + plan.old.items
        self.former_writers[self.writer] = FormerWriter(
            self.topic, self._exchange, last_epoch, items, self.forgetting.let_go(plan.epoch), now,
            leaves_quietly=self.forgetting.keeps,
        )  # fmt: skip
        self._exchange.retention = plan.old
        self.writer = plan.writer
        self.sealing.renew(plan.writer, plan.new)
        self.epochs.renew(plan.writer, plan.bases, plan.epoch, now)
        self.forgetting.begin_anew(plan.epoch)
        self._exchange = self._exchange_of(plan.fencing)
        return self.former_writers.forget_cleared(self.ledger, now)
