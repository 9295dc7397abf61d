"""The processing node without sockets, clocks or threads.

A node holds slices, keeps the items of its slices until its application has processed them, commits
what is processed, asks publishers for what is missing, and obeys the balancer's orders. What always
holds:

1. *One owner a term.* A slice is Available here only under a term that the balancer gave to this
   node.
2. *In order, once.* The application gets the items of a writer and slice in order of their numbers,
   and none of them twice while this node lives.
3. *Nothing uncertain.* After a takeover nothing of a writer is delivered before that writer has
   said how far the slice is committed (or is gone), and by being asked it refuses the former
   owner's commits.
4. *Frozen is frozen.* Between the acknowledgement of FREEZE and a new term nothing of the slice is
   delivered here.

A newer term always wins: a slice map, or a publisher's refusal, that names a newer term for a slice
makes the node give up that slice by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evenflow.errors import DecodeError
from evenflow.model.batch import Batch
from evenflow.model.messages import (
    Ack,
    Beat,
    CacheChunk,
    Commit,
    EpochClose,
    NodeReport,
    Order,
    ReplayAnswer,
    ReplayRequest,
    SliceMap,
    SliceState,
    Step,
)
from evenflow.slices.actions import Action, Send, Subscribe, Subscribed, Unsubscribe, WriterGone
from evenflow.slices.asking import Asking
from evenflow.slices.cache import HeldSlice, SliceCache
from evenflow.slices.lease import Lease
from evenflow.slices.serving import Serving
from evenflow.slices.sessions import Giver, Phase, Taker, batches_in
from evenflow.slices.terms import balancer_of

BALANCER_SILENT = 2.0
"""A leaving node does not wait for a balancer that it has not heard for so many seconds."""
REMEMBERED_SESSIONS = 256
"""Ended sessions a node can still answer questions about."""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What a node's owner may set; seconds, items, octets."""

    deliver_items: int = 256
    """Most items in one delivery, so that a handover never waits long for the application."""
    cache_octets: int = 256 * 1024 * 1024
    commit_every: float = 0.1
    report_every: float = 0.25
    lease: float = 30.0
    stall: float = 1.0
    ask_grace: float = 0.03
    ask_retry: float = 0.3
    writer_grace: float = 10.0
    """How long a writer must be gone before its gaps are given up."""
    serving: bool = False
    """No application: items are kept for consumers, who read them and say when to forget them."""


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
    ) -> None:
        self.topic = topic
        self.node = node
        self.slice_count = slice_count
        self.settings = settings
        self.cache = SliceCache(settings.cache_octets, serving=settings.serving)
        self.serving = Serving(topic, node, self.cache) if settings.serving else None
        self.lease = Lease(settings.lease, settings.stall, now)
        self.asking = Asking(settings.ask_grace, settings.ask_retry)
        self.leaving = False
        self.in_hand: Batch | None = None
        self._in_hand_of: HeldSlice | None = None
        self.items = self.octets = self.failed = self.lost = self.damaged = 0
        self.busy = 0.0
        self.misfits: dict[int, int] = {}
        """Writers that cut the topic into another number of slices, with that number."""
        self._host, self._pid = host, pid
        self._writers: dict[int, float | None] = {}
        """Known writers; the time since when one is gone."""
        self._sessions: dict[int, Giver | Taker] = {}
        self._takes: dict[int, frozenset[int]] = {}
        """Takeovers whose reader is not yet matched."""
        self._settling: dict[int, tuple[frozenset[int], int, int]] = {}
        """Changes of owner whose gaps are not yet closed; items replayed and lost before."""
        self._dirty: set[tuple[int, int]] = set()
        """(slice, writer) processed further than committed."""
        self._replayed = 0
        self._requests = 0
        self._reports = 0
        self._seen_term = 0
        self._map_version = 0
        self._newest: dict[int, int] = {}
        """The newest term met for each slice; nothing of an older one is obeyed."""
        self._heard_at = -BALANCER_SILENT
        self._others = False
        self._changed = True
        self._next_report = self._next_commit = now

    # -- items ----------------------------------------------------------------------------------

    def receive(self, batch: Batch, now: float, *, replayed: bool = False) -> None:
        """A batch arrived from the stream, or again by replay."""
        writer = batch.writer
        if writer not in self._writers:
            if writer in self.misfits:
                return
            self._meet(writer, now)
        repeated = self.cache.repeated
        if self.serving is None:
            track = self.cache.offer(batch)
        else:
            full = self.cache.octets > self.cache.limit
            track = self.cache.offer(batch, urgent=full and self.serving.is_urgent(batch))
        if track is None:
            return
        if replayed:
            self._replayed += batch.count - (self.cache.repeated - repeated)
        if track.lacks:
            if self.cache.held[batch.slice].state is SliceState.AVAILABLE:
                self.asking.soon(writer, batch.slice, now)
        elif track.known:
            self.asking.enough(writer, batch.slice)

    def next_delivery(self, now: float) -> Batch | None:
        """What the application shall process now; it says :meth:`delivered` when it has."""
        if self.in_hand is not None or not self.lease.holds(now, self._map_version):
            return None
        self.in_hand = self.cache.next(self.settings.deliver_items)
        if self.in_hand is not None:
            self._in_hand_of = self.cache.held[self.in_hand.slice]
        return self.in_hand

    def delivered(self, seconds: float, *, ok: bool = True) -> list[Action]:
        """The application is through with what it had in hand."""
        batch, self.in_hand = self.in_hand, None
        if batch is None:
            return []
        self.busy += seconds
        self.items += batch.count
        self.octets += batch.payload_size
        if not ok:
            self.failed += batch.count
        held = self.cache.held.get(batch.slice)
        track = held.tracks.get(batch.writer) if held else None
        if held is None or held is not self._in_hand_of or track is None:
            # Given up meanwhile, and perhaps taken anew: this says nothing of the new positions.
            return []
        track.complete(batch)
        self._dirty.add((batch.slice, batch.writer))
        session = self._sessions.get(held.session)
        if not isinstance(session, Giver):
            return []
        if session.phase is Phase.FREEZING:
            return self._frozen(session)
        if session.phase is not Phase.CANCELLED:
            session.repeated += batch.count
        return []

    def put_back(self) -> None:
        """The application could not process what it had in hand and stops: leave it uncommitted."""
        self.in_hand = None

    # -- messages and events --------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Action]:
        """Take a message or an event in; return what to do."""
        match event:
            case EpochClose():
                return self._epoch_closed(event, now)
            case ReplayAnswer():
                return self._answered(event)
            case Order():
                return self._ordered(event, now)
            case CacheChunk():
                return self._cached(event, now)
            case SliceMap():
                return self._mapped(event)
            case Beat():
                return self._heard(event, now)
            case Subscribed():
                return self._subscribed(event, now)
            case WriterGone():
                if self._writers.get(event.writer, 0.0) is None:
                    self._writers[event.writer] = now
                return []
            case _:
                raise TypeError(f"a node cannot handle {type(event).__name__}")

    def _epoch_closed(self, close: EpochClose, now: float) -> list[Action]:
        writer = close.writer
        if close.slice_count != self.slice_count:
            self.misfits[writer] = close.slice_count
            return []
        if writer not in self._writers:
            self._meet(writer, now)
        self._writers[writer] = None
        for slice_id, last in zip(close.slices, close.last, strict=True):
            held = self.cache.held.get(slice_id)
            if held is None:
                continue
            track = held.track(writer)
            if last > track.last:
                track.last = last
            if held.state is not SliceState.AVAILABLE:
                continue
            if not track.known or track.lacks:
                self.asking.soon(writer, slice_id, now)
            elif track.done >= last:
                # Committed here but still kept there: the commit was lost.
                self._dirty.add((slice_id, writer))
        if self.serving is not None:
            self.serving.closed(close)
        return []

    def _answered(self, answer: ReplayAnswer) -> list[Action]:
        if answer.node != self.node:
            return []
        for slice_id, floor, last in zip(answer.slices, answer.floor, answer.last, strict=True):
            held = self.cache.held.get(slice_id)
            if held is None or held.state is not SliceState.AVAILABLE:
                continue
            track = held.track(answer.writer)
            track.last = max(track.last, last)
            self.cache.start(held, answer.writer, floor)
            track.committed = max(track.committed, floor)
            if not track.lacks:
                self.asking.enough(answer.writer, slice_id)
        stale = set()
        for slice_id, term in zip(answer.refused, answer.refused_terms, strict=True):
            self._seen_term = max(self._seen_term, term)
            self._newest[slice_id] = max(term, self._newest.get(slice_id, 0))
            held = self.cache.held.get(slice_id)
            if held is not None and held.term < term:
                stale.add(slice_id)
        return self._give_up(stale)

    def _mapped(self, slice_map: SliceMap) -> list[Action]:
        if slice_map.version < self._map_version:
            return []
        self._map_version = slice_map.version
        self._seen_term = max(self._seen_term, slice_map.version)
        for slice_id, term in enumerate(slice_map.terms):
            if term > self._newest.get(slice_id, 0):
                self._newest[slice_id] = term
        mine = slice_map.nodes.index(self.node) + 1 if self.node in slice_map.nodes else 0
        stale = {
            slice_id
            for slice_id, held in self.cache.held.items()
            if slice_id < len(slice_map.terms)
            and slice_map.terms[slice_id] > held.term
            and (slice_map.owners[slice_id] != mine or not mine)
        }
        return self._give_up(stale)

    def _heard(self, beat: Beat, now: float) -> list[Action]:
        self._heard_at = now
        self._others = len(beat.nodes) > 1
        if beat.version > self._seen_term:
            # A new balancer waits for reports that prove this.
            self._seen_term = beat.version
            self._changed = True
        if self.node in beat.nodes:
            number = beat.numbers[beat.nodes.index(self.node)]
            self.lease.confirmed(number, beat.version)
        return []

    # -- orders ---------------------------------------------------------------------------------

    def _ordered(self, order: Order, now: float) -> list[Action]:
        if order.node != self.node:
            return []
        self._seen_term = max(self._seen_term, order.term)
        step, slices = Step(order.step), frozenset(order.slices)
        session = self._sessions.get(order.term)
        if session is None:
            refusal = self._refusal(step, slices, order.term)
            if refusal:
                return [self._ack(order.term, step, reason=refusal)]
            if step is Step.TAKE:
                return self._take(order.term, slices)
            giving = step is Step.FREEZE
            session = (Giver if giving else Taker)(order.term, slices, order.peer)
            self._remember(session)
        if not session.step(step):
            reason = f"{step.name} is not possible when {session.phase.name}"
            return [self._ack(order.term, step, reason=reason)]
        if isinstance(session, Giver):
            return self._give(session, step)
        return self._taken(session, step, now)

    def _refusal(self, step: Step, slices: frozenset[int], term: int) -> str:
        """Why nothing can begin with this step; empty when it can."""
        if not slices or max(slices) >= self.slice_count:
            return f"slices must be below {self.slice_count}"
        if step is not Step.CANCEL and balancer_of(term) < balancer_of(self._seen_term):
            return "a newer balancer is known here"
        held = [self.cache.held.get(slice_id) for slice_id in slices]
        match step:
            case Step.TAKE:
                newer = any(self._newest.get(slice_id, 0) > term for slice_id in slices)
                newer = newer or any(h is not None and h.term > term for h in held)
                return "a newer term is known here" if newer else ""
            case Step.FREEZE:
                free = all(h and h.state is SliceState.AVAILABLE and h.term < term for h in held)
                return "" if free else "not all of these slices are available here"
            case Step.ADD:
                return "some of these slices are here already" if any(held) else ""
        return "" if step is Step.CANCEL else f"there is no session {term} here"

    def _give(self, session: Giver, step: Step) -> list[Action]:
        if step is Step.FREEZE:
            if session.phase is Phase.FROZEN:
                return [self._ack(session.term, step)]
            for slice_id in session.slices:
                held = self.cache.held[slice_id]
                held.state, held.session = SliceState.GIVING, session.term
            self.asking.forget_slices(set(session.slices))
            self._changed = True
            in_hand = self.in_hand.slice if self.in_hand else None
            busy = in_hand in session.slices and self.cache.held[in_hand] is self._in_hand_of
            return [] if busy else self._frozen(session)
        if step is Step.REMOVE:
            return [self._ack(session.term, step), Unsubscribe(session.slices)]
        held_now = [self.cache.held[s] for s in sorted(session.slices) if s in self.cache.held]
        chunks = session.chunks(self.topic, self.node, held_now)
        return [Send(chunk, to=session.taker) for chunk in chunks]

    def _frozen(self, session: Giver) -> list[Action]:
        """The application has nothing of these slices in hand: the positions are final."""
        session.phase = Phase.FROZEN
        return [*self._commit(session.slices), self._ack(session.term, Step.FREEZE)]

    def _taken(self, session: Taker, step: Step, now: float) -> list[Action]:
        term = session.term
        if session.phase is Phase.MERGED:
            return [self._merged_ack(session)]
        if step is Step.ADD:
            if session.phase is Phase.ADDED:
                return [self._ack(term, step)]
            for slice_id in session.slices:
                if slice_id not in self.cache.held:
                    self.cache.hold(slice_id, SliceState.TAKING, term)
            self._changed = True
            return [Subscribe(session.slices, term)]
        if step is Step.ACTIVATE:
            return [self._ack(term, step), *self._merge(session, now)]
        mine = {
            s for s in session.slices if s in self.cache.held and self.cache.held[s].term == term
        }
        return [self._ack(term, step), *self._give_up(mine)]

    def _subscribed(self, event: Subscribed, now: float) -> list[Action]:
        session = self._sessions.get(event.term)
        if isinstance(session, Taker) and session.phase is Phase.ADDING:
            session.phase = Phase.ADDED
            return [self._ack(event.term, Step.ADD)]
        slices = self._takes.pop(event.term, None)
        if slices is None:
            return []
        self._own(slices, event.term, now)
        return [self._ack(event.term, Step.TAKE)]

    def _cached(self, chunk: CacheChunk, now: float) -> list[Action]:
        session = self._sessions.get(chunk.term)
        if not isinstance(session, Taker) or chunk.taker != self.node:
            return []
        session.receive(chunk)
        return self._merge(session, now)

    def _merge(self, session: Taker, now: float) -> list[Action]:
        """Merge the giver's cache, when it is complete, into ours; own the slices from then on."""
        chunks = session.complete()
        if not chunks:
            return []
        try:
            batches = [batch for chunk in chunks for batch in batches_in(chunk)]
        except DecodeError as error:
            # Cannot be trusted: the balancer's deadline will cancel the session.
            self.damaged += 1
            return [self._ack(session.term, Step.ACTIVATE, reason=f"damaged cache: {error}")]
        session.phase = Phase.MERGED
        session.repeated = chunks[0].repeated
        for slice_id in session.slices:
            self.cache.held[slice_id].state = SliceState.AVAILABLE
        first = chunks[0]
        rows = zip(first.slices, first.writers, first.done, first.known, strict=True)
        for slice_id, writer, done, known in rows:
            # A writer we never heard of is taken for gone until it speaks: it may be.
            self._writers.setdefault(writer, now)
            self.cache.start(self.cache.held[slice_id], writer, done, known=bool(known))
            if done:
                self._dirty.add((slice_id, writer))
        for batch in batches:
            session.moved += batch.count
            self.cache.offer(batch)
        self._own(session.slices, session.term, now)
        return [self._merged_ack(session)]

    def _take(self, term: int, slices: frozenset[int]) -> list[Action]:
        """Own slices under a new term; publishers will say where their numbers start."""
        held = [self.cache.held.get(slice_id) for slice_id in slices]
        if all(h is not None and h.term == term for h in held) and term not in self._takes:
            return [self._ack(term, Step.TAKE)]
        others = self._abandon_sessions(slices) - slices
        for slice_id in slices:
            mine = self.cache.held.get(slice_id) or self.cache.hold(
                slice_id, SliceState.AVAILABLE, term
            )
            mine.state, mine.term, mine.session = SliceState.AVAILABLE, term, 0
            for track in mine.tracks.values():
                track.known = False
        self._takes[term] = slices
        self._changed = True
        return [*self._give_up(others), Subscribe(slices, term)]

    def _own(self, slices: frozenset[int], term: int, now: float) -> None:
        """Owner from now on: ask every writer for what is newer than what is here."""
        for slice_id in slices:
            held = self.cache.held.get(slice_id)
            if held is None:
                continue
            for writer, gone in self._writers.items():
                if gone is None:
                    held.track(writer)
                    self.asking.at_once(writer, slice_id, now)
        self.cache.wake_all(slices & self.cache.held.keys())
        self._settling[term] = (slices, self._replayed, self.lost)
        self._changed = True

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Action]:
        """Do what is due; call it often (every 20 ms or so) and after every event."""
        stalled = self.lease.tick(now, self._reports + 1)
        actions: list[Action] = []
        if now >= self._next_commit:
            self._next_commit = now + self.settings.commit_every
            actions += self._commit(None)
        self._forget_gone_writers(now)
        if self.serving is not None:
            progress = self.serving.poll(now)
            actions += [Send(progress)] if progress else []
        if self.serving is not None or not self.cache.satisfied:
            actions += [self._ask(writer, slices) for writer, slices in self.asking.poll(now)]
        actions += self._settle()
        if stalled or self._changed or now >= self._next_report:
            self._changed = False
            self._next_report = now + self.settings.report_every
            actions.append(Send(self._report()))
            self.lease.reported(self._reports, now)
        return actions

    def _ask(self, writer: int, slices: list[int]) -> Send:
        held = [self.cache.held[slice_id] for slice_id in slices]
        self._requests += 1
        have = tuple(h.track(writer).next - 1 for h in held)
        terms = tuple(h.term for h in held)
        request = ReplayRequest(
            self.topic, writer, self.node, self._requests, tuple(slices), terms, have
        )
        return Send(request, to=f"{writer:016x}")

    def _commit(self, only: frozenset[int] | None) -> list[Action]:
        """Tell publishers what is processed (of all slices, or of some)."""
        if self.serving is not None:
            self._dirty.clear()
            return []
        ready: dict[int, list[tuple[int, int, int]]] = {}
        for key in [key for key in self._dirty if only is None or key[0] in only]:
            self._dirty.discard(key)
            slice_id, writer = key
            held = self.cache.held.get(slice_id)
            track = held.tracks.get(writer) if held else None
            if held is None or track is None or not track.known:
                continue
            if held.state is SliceState.TAKING or self._writers.get(writer, 0.0) is not None:
                continue
            track.committed = track.done
            ready.setdefault(writer, []).append((slice_id, held.term, track.done))
        commits: list[Action] = []
        for writer, rows in ready.items():
            slices, terms, upto = zip(*rows, strict=True)
            commit = Commit(self.topic, writer, self.node, "", slices, terms, upto)
            commits.append(Send(commit, to=f"{writer:016x}"))
        return commits

    def _settle(self) -> list[Action]:
        """Report changes of owner after which nothing is missing any more."""
        if not self._settling:
            return []
        settled = [
            term for term, (slices, _, _) in self._settling.items() if not self.asking.open(slices)
        ]
        actions: list[Action] = []
        for term in settled:
            _, replayed, lost = self._settling.pop(term)
            actions.append(
                self._ack(
                    term, Step.SETTLED, replayed=self._replayed - replayed, lost=self.lost - lost
                )
            )
        return actions

    def commit_all(self) -> list[Action]:
        """The last commit of a node that ends."""
        return self._commit(None)

    @property
    def live_writers(self) -> int:
        """Publishers that are there."""
        return sum(gone is None for gone in self._writers.values())

    def has_company(self, now: float) -> bool:
        """Whether a balancer is there, and another node that could take our slices."""
        return self._others and now - self._heard_at < BALANCER_SILENT

    def _forget_gone_writers(self, now: float) -> None:
        """Go on without writers that stay gone, and forget those of which nothing is left."""
        for writer, gone in list(self._writers.items()):
            if gone is None or now - gone < self.settings.writer_grace:
                continue
            self.asking.forget_writer(writer)
            kept = False
            for held, track in self.cache.tracks_of(writer):
                if held.state is not SliceState.AVAILABLE:
                    kept = True
                    continue
                while track.lacks:
                    self.lost += track.give_up_gap()
                track.known = True
                self.cache.wake(held, writer, track)
                kept = kept or bool(track.ready)
            if self.serving is not None:
                self.serving.writer_final(writer)
                kept = not self.serving.is_done_with(writer)
            if not kept and (self.in_hand is None or self.in_hand.writer != writer):
                del self._writers[writer]
                if self.serving is not None:
                    self.serving.writer_forgotten(writer)
                for held in self.cache.held.values():
                    held.tracks.pop(writer, None)

    # -- helpers --------------------------------------------------------------------------------

    def _meet(self, writer: int, now: float) -> None:
        """First contact with a writer: ask it where the numbers of all our slices start."""
        self._writers[writer] = None
        for held in self.cache.available():
            held.track(writer)
            self.asking.at_once(writer, held.slice, now)

    def _give_up(self, slices: Iterable[int]) -> list[Action]:
        """Drop slices that are somebody else's."""
        dropped = frozenset(slices)
        if not dropped:
            return []
        dropped |= self._abandon_sessions(dropped)
        self.cache.drop(dropped)
        self.asking.forget_slices(set(dropped))
        self._changed = True
        return [Unsubscribe(dropped)]

    def _abandon_sessions(self, slices: frozenset[int]) -> frozenset[int]:
        """End unfinished sessions over these slices; return what was being taken in them."""
        taking: set[int] = set()
        for session in self._sessions.values():
            if session.phase is Phase.MERGED or session.slices.isdisjoint(slices):
                continue
            session.phase = Phase.CANCELLED
            taking |= {
                s
                for s in session.slices & self.cache.held.keys()
                if self.cache.held[s].state is SliceState.TAKING
                and self.cache.held[s].term == session.term
            }
        return frozenset(taking)

    def _remember(self, session: Giver | Taker) -> None:
        self._sessions[session.term] = session
        while len(self._sessions) > REMEMBERED_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def _merged_ack(self, session: Taker) -> Send:
        return self._ack(session.term, Step.MERGED, moved=session.moved, repeated=session.repeated)

    def _ack(
        self,
        term: int,
        step: Step,
        *,
        reason: str = "",
        moved: int = 0,
        repeated: int = 0,
        replayed: int = 0,
        lost: int = 0,
    ) -> Send:
        ok = not reason
        return Send(
            Ack(self.topic, self.node, term, step, ok, reason, moved, repeated, replayed, lost)
        )

    def leave(self) -> None:
        """Ask the balancer to move every slice away; the node may go when it holds none."""
        self.leaving = True
        self._changed = True

    def _report(self) -> NodeReport:
        self._reports += 1
        held = sorted(self.cache.held.values(), key=_by_slice)
        return NodeReport(
            topic=self.topic,
            node=self.node,
            number=self._reports,
            seen_term=self._seen_term,
            leaving=self.leaving,
            slices=tuple(h.slice for h in held),
            states=tuple(h.state for h in held),
            terms=tuple(h.session or h.term for h in held),
            items=self.items,
            octets=self.octets,
            backlog_items=self.cache.backlog,
            backlog_octets=self.cache.octets,
            lost=self.lost,
            repeated=self.cache.repeated,
            failed=self.failed,
            damaged=self.damaged,
            busy_s=self.busy,
            host=self._host,
            pid=self._pid,
        )


def _by_slice(held: HeldSlice) -> int:
    return held.slice
