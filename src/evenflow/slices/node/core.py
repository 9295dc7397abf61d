"""The processing node without sockets, clocks or threads.

A node holds slices, keeps the items of its slices until its application has processed them, commits
what is processed, asks publishers for what is missing, and obeys the balancer's orders. What always
holds:

1. *One owner a term.* A slice is Available here only under a term that the balancer gave to this
   node.
2. *In order, once.* The application gets the items of a writer and slice in order of their numbers,
   and none of them twice while this node lives.
3. *Nothing uncertain.* After a takeover nothing of a writer is delivered before that writer has
   said how far the slice is committed, and by being asked it refuses the former owner's commits.
4. *Frozen is frozen.* Between the acknowledgement of FREEZE and a new term nothing of the slice is
   delivered here.

Four parts do the work: :class:`~evenflow.slices.node.writers.Writers` knows the publishers and
what is here of their items, :class:`~evenflow.slices.node.delivery.Delivery` what the application
has in hand, :class:`~evenflow.slices.node.ownership.Ownership` which slices are this node's and
under which terms, :class:`~evenflow.slices.node.orders.Orders` what the balancer wants. This module
puts them together and adds what concerns the node as a whole: its lease, its reports, and the time.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evenflow.model.messages import (
    Beat,
    CacheChunk,
    EpochClose,
    Ledger,
    MapPage,
    NodeReport,
    Order,
    Refusal,
    ReplayAnswer,
    WriterCut,
)
from evenflow.model.slice_map import page_count, page_slices
from evenflow.slices.actions import Send, WriterGone
from evenflow.slices.node.application.keeping import StateKeeping
from evenflow.slices.node.condition import Condition
from evenflow.slices.node.delivery import Delivery
from evenflow.slices.node.endings import Endings
from evenflow.slices.node.failures import Failures
from evenflow.slices.node.lease import Lease
from evenflow.slices.node.orders import Orders
from evenflow.slices.node.ownership import Ownership, loads_of
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.writers import Writers
from evenflow.slices.terms import balancer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.batch import Batch
    from evenflow.model.sample import Sample
    from evenflow.slices.ledger_view import KnownCuts
    from evenflow.slices.node.application.states import Task
    from evenflow.slices.spill import Spill

NO_FAULTS: Final[Mapping[int, str]] = MappingProxyType({})
BALANCER_SILENT = 2.0
"""Seconds without a beat after which a leaving node no longer waits for the balancer."""
FOLLOWS = 1.0
"""Seconds without a beat after which a node no longer says that it follows a balancer."""


class NodeCore:
    """One node and one topic."""

    def __init__(
        self,
        topic: str,
        node: str,
        slice_count: int,
        settings: NodeSettings,
        now: float,
        *,
        host: str = "",
        pid: int = 0,
        layout: str = "",
        spill: Spill | None = None,
        condition: Condition | None = None,
    ) -> None:
        self.topic = topic
        self.node = node
        self.settings = settings
        self.leaving = False
        self.damaged = 0
        """Samples that could not be decoded, as the shell counts them."""
        self._spill = spill
        self.writers = Writers(topic, node, slice_count, settings, spill)
        self.cache, self.serving = self.writers.cache, self.writers.serving
        failures = Failures(settings.retries, settings.retry_pause)
        self.delivery = Delivery(self.cache, settings.deliver_items, failures)
        self.states = self.writers.states
        self.ownership = Ownership(self.writers, self.states)
        self.orders = Orders(
            topic,
            node,
            slice_count,
            ownership=self.ownership,
            writers=self.writers,
            delivery=self.delivery,
            states=self.states,
        )
        self.keeping = StateKeeping(self.writers, self.ownership, self.orders)
        self.endings = Endings(topic, node, self.writers, settings.writer_silence)
        self.condition = condition or Condition()
        self.lease = Lease(settings.lease, settings.stall, now)
        self.refusal = ""
        """Why the balancer gives this node no slices; empty when it does."""
        self._host, self._pid, self._layout = host, pid, layout
        self._reports = 0
        self.report: NodeReport | None = None
        """What it said last of itself; None: nothing yet."""
        self._slice_count = slice_count
        self._pages: dict[int, int] = {}
        """The version of each page of the slice map."""
        self._heard_at = -BALANCER_SILENT
        self._followed = 0
        self._others = False
        self._listening = False
        """Whether the balancer has just begun: it is told what it may not know."""
        self._next_report = self._next_commit = self._next_loads = now

    # -- items ----------------------------------------------------------------------------------

    def receive(self, sample: Sample, now: float, *, replayed: bool = False) -> None:
        """A sample arrived from the stream, or again by replay."""
        self.writers.receive(sample, now, replayed=replayed)

    def next_delivery(self, now: float) -> Batch | None:
        """What the application shall process now; it says :meth:`delivered` when it has."""
        if self.keeping.pending:
            return None
        return self.delivery.begin(now) if self.holds_lease(now) else None

    def holds_lease(self, now: float) -> bool:
        """Whether it may process what it owns."""
        return self.lease.holds(now, self._pages)

    def next_task(self) -> Task | None:
        """What the application shall do with states now; then :meth:`task_done`."""
        return self.keeping.next_task() if self.delivery.in_hand is None else None

    def task_done(
        self, task: Task, given: Mapping[int, bytes], faults: Mapping[int, str] = NO_FAULTS
    ) -> list[Send]:
        """The application is through with a task; it gave these states, or cannot and why."""
        return self.keeping.task_done(task, given, faults)

    def delivered(self, seconds: float, *, ok: bool = True) -> list[Send]:
        """The application is through with what it had in hand."""
        further = self.delivery.finish(seconds, ok=ok)
        if further is None:
            return []
        held, batch = further
        self.writers.commits.on_processed(batch.slice, batch.writer)
        return self.orders.on_processed(held, batch.count)

    def failed(
        self, seconds: float, now: float, index: int | None = None
    ) -> tuple[bool, list[Send]]:
        """The application failed on what it has in hand, at this item of it if it says so.

        Returns:
            Whether it is one item that was given often enough: it is in hand until somebody has
            decided, and called :meth:`delivered` or put it back. And what to do.
        """
        failed = self.delivery.fail(seconds, now, index)
        if failed.exhausted or failed.held is None:
            return failed.exhausted, []
        done = failed.processed
        if done is not None:
            self.writers.commits.on_processed(done.slice, done.writer)
        return False, self.orders.on_processed(failed.held, done.count if done else 0)

    # -- messages and events --------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Send]:
        """Take a message or an event in; return what to do."""
        actions: list[Send] = []
        match event:
            case EpochClose():
                self.writers.on_epoch_closed(event, now)
            case ReplayAnswer():
                self._on_replay_answer(event, now)
            case Ledger() | WriterCut():
                self._on_ending(event)
            case Order():
                actions = self.orders.obey(event, now)
            case CacheChunk():
                actions = self.orders.on_cache_chunk(event, now)
            case MapPage():
                self._on_map_page(event)
            case Beat():
                self._on_beat(event, now)
            case Refusal():
                self.refusal = event.reason if event.node == self.node else self.refusal
            case WriterGone():
                self.writers.on_writer_gone(event.writer, now)
            case _:
                raise TypeError(f"a node cannot handle {type(event).__name__}")
        return actions

    def _on_ending(self, event: Ledger | WriterCut) -> None:
        """What a balancer decides that is being replaced may come to nothing: the newest counts."""
        if isinstance(event, WriterCut):
            self.ownership.see(event.term)
            self.endings.on_cut(event)
        elif balancer_of(event.version) >= balancer_of(self.ownership.seen_term):
            self.ownership.see(event.version)
            self.endings.on_ledger(event)

    def _on_replay_answer(self, answer: ReplayAnswer, now: float) -> None:
        if answer.node != self.node:
            return
        self.writers.on_replay_answer(answer, now)
        refused = set()
        for slice_id, term in zip(answer.refused, answer.refused_terms, strict=True):
            self.ownership.see(term)
            self.ownership.meet(slice_id, term)
            held = self.cache.held.get(slice_id)
            if held is not None and held.term < term:
                refused.add(slice_id)
        self.orders.shut_out(refused)

    def _on_map_page(self, page: MapPage) -> None:
        if page.slice_count != self._slice_count or page.version < self._pages.get(page.page, 0):
            return
        self._pages[page.page] = page.version
        self.ownership.see(page.version)
        mine = page.nodes.index(self.node) + 1 if self.node in page.nodes else 0
        stale = set()
        slices = page_slices(page.page, page.slice_count)
        for slice_id, owner, term in zip(slices, page.owners, page.terms, strict=True):
            self.ownership.meet(slice_id, term)
            held = self.cache.held.get(slice_id)
            if held is not None and term > held.term and (owner != mine or not mine):
                stale.add(slice_id)
        self.orders.give_up(stale)

    def _on_beat(self, beat: Beat, now: float) -> None:
        if balancer_of(beat.version) < balancer_of(self.ownership.seen_term):
            return  # of a balancer that leads no more
        self._heard_at = now
        self._followed = balancer_of(beat.version)
        self._others = len(beat.nodes) > 1
        self._listening = not beat.pages
        if beat.version > self.ownership.seen_term:
            # A new balancer waits for reports that prove this.
            self.ownership.seen_term = beat.version
            self.ownership.changed = True
        number = dict(zip(beat.nodes, beat.numbers, strict=True)).get(self.node, 0)
        # Of a balancer that still listens every page is needed: it has told none yet.
        count = page_count(self._slice_count)
        pages = beat.pages or (beat.version,) * count
        if 0 < number <= self._reports and len(pages) == count:
            self.refusal = ""
            self.lease.on_report_confirmed(number, pages)

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Send]:
        """Do what is due; call it often (every 20 ms or so) and after every event."""
        stalled = self.lease.tick(now, self._reports + 1)
        actions: list[Send] = []
        if now >= self._next_commit:
            self._next_commit = now + self.settings.commit_every
            actions += self.writers.commit()
        self.keeping.poll(now)
        if stalled:
            self.endings.on_stall(now)
        actions += self.endings.poll(now)
        if self.serving is not None and self.holds_lease(now):
            told = (self.serving.poll(now), self.serving.room_wanted(now))
            actions += [Send(one) for one in told if one is not None]
        actions += self.writers.ask(now)
        actions += self.orders.report_settled()
        if stalled or self.ownership.changed or now >= self._next_report:
            self.ownership.changed = False
            self._next_report = now + self.settings.report_every
            known = self.writers.ledger.known(to_all=self._listening)
            self.report = self._report(now, known)
            actions.append(Send(self.report))
            self.lease.on_report_sent(self._reports, now)
            actions += map(Send, known.cuts)
        if now >= self._next_loads:
            self._next_loads = now + self.settings.loads_every
            actions.append(Send(loads_of(self.topic, self.node, self.cache.available())))
        return actions

    def has_company(self, now: float) -> bool:
        """Whether a balancer is there, and another node that could take our slices."""
        return self._others and now - self._heard_at < BALANCER_SILENT

    def leave(self) -> None:
        """Ask the balancer to move every slice away; the node may go when it holds none."""
        self.leaving = True
        self.ownership.changed = True

    def _report(self, now: float, known: KnownCuts) -> NodeReport:
        self._reports += 1
        held = [self.cache.held[slice_id] for slice_id in sorted(self.cache.held)]
        foreign, foreign_items = self.writers.foreign.counts(now)
        return NodeReport(
            topic=self.topic,
            node=self.node,
            number=self._reports,
            seen_term=self.ownership.seen_term,
            leaving=self.leaving,
            slices=tuple(h.slice for h in held),
            states=tuple(h.state for h in held),
            terms=tuple(h.session or h.term for h in held),
            items=self.delivery.items if self.serving is None else self.serving.served,
            octets=self.delivery.payload_bytes,
            backlog_items=self.cache.backlog,
            backlog_octets=self.cache.size,
            repeated=self.cache.repeated,
            failed=self.delivery.failed,
            damaged=self.damaged + self.orders.damaged,
            busy_s=self.delivery.busy,
            host=self._host,
            pid=self._pid,
            cpu=self.condition.cpu,
            process_cpu=self.condition.process_cpu,
            memory=self.condition.memory,
            state=self.condition.state,
            replayed=self.writers.replayed,
            refused=self.cache.refused,
            stray=self.cache.stray,
            misfits=len(self.writers.misfits),
            ledger=self.writers.ledger.complete_version,
            ledger_heard=self.writers.ledger.version,
            decided=known.decided,
            complete=known.complete,
            retried=self.delivery.failures.retried,
            dead=self.delivery.dead,
            foreign=foreign,
            foreign_items=foreign_items,
            spill_failures=self._spill.failed if self._spill is not None else 0,
            layout=self._layout,
            balancer=self._followed if now - self._heard_at < FOLLOWS else 0,
        )
