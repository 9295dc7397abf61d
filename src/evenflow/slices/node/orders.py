"""How a node obeys the balancer: the orders, and the sessions they make up.

A map or an order that names a newer term for a slice makes the node give up that slice, together
with everything that was being taken with it in one session. A publisher that refuses its term
shuts it out: the slice is kept and not processed, until a map or an order says whose it is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from evenflow.errors import DecodeError
from evenflow.model.messages import Ack, CacheChunk, Order, SliceState, Step
from evenflow.slices.actions import Send
from evenflow.slices.node.giver_taker import Giver, SessionState, Taker, samples_in, states_in
from evenflow.slices.terms import balancer_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.sample import Sample
    from evenflow.slices.node.application.states import States
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.delivery import Delivery
    from evenflow.slices.node.ownership import Ownership
    from evenflow.slices.node.writers import Writers

_log = logging.getLogger(__name__)

REMEMBERED_SESSIONS = 256
"""Ended sessions a node can still answer questions about."""


class Orders:
    """What one node was ordered to do with its slices."""

    def __init__(
        self,
        topic: str,
        node: str,
        slice_count: int,
        *,
        ownership: Ownership,
        writers: Writers,
        delivery: Delivery,
        states: States | None = None,
    ) -> None:
        self.damaged = 0
        """Caches that could not be decoded, and chunks that are none of their session."""
        self._topic = topic
        self._node = node
        self._slice_count = slice_count
        self._ownership = ownership
        self._writers = writers
        self._cache = writers.cache
        self._delivery = delivery
        self._states = states
        self._fault = ""
        """Why states could not be given, the last time."""
        self._sessions: dict[int, Giver | Taker] = {}

    def give_up(self, slices: Iterable[int]) -> None:
        """Drop slices that are somebody else's, and what was being taken together with them."""
        dropped = frozenset(slices)
        self._ownership.drop(dropped | self._abandon_sessions(dropped))

    def shut_out(self, slices: Iterable[int]) -> None:
        """A publisher knows a newer term of these slices: process nothing more of them here.

        Mostly they are somebody else's, and the map says so soon. Not if that term is of a balancer
        that is gone with all who knew it: then this node gets them again, and its positions and
        states still hold, as after a session that was cancelled.
        """
        refused = frozenset(slices)
        held = self._cache.held
        taking = {s for s in refused if held[s].state is SliceState.TAKING}
        self._ownership.drop(self._abandon_sessions(refused) | taking)
        for slice_id in refused - taking:
            held[slice_id].shut_out()
        self._writers.replay_requests.forget_slices(refused)
        self._ownership.changed |= bool(refused)

    def _abandon_sessions(self, slices: frozenset[int]) -> frozenset[int]:
        """End unfinished sessions over these slices; return what was being taken in them."""
        taking: set[int] = set()
        for session in self._sessions.values():
            if session.state is SessionState.MERGED or session.slices.isdisjoint(slices):
                continue
            session.cancel()
            taking |= {
                s
                for s in session.slices & self._cache.held.keys()
                if self._cache.held[s].state is SliceState.TAKING
                and self._cache.held[s].term == session.term
            }
        return frozenset(taking)

    # -- orders -----------------------------------------------------------------------------------

    def obey(self, order: Order, now: float) -> list[Send]:
        """Do a step, again if need be, or refuse it and say why."""
        if order.node != self._node:
            return []
        self._ownership.see(order.term)
        step, slices = Step(order.step), frozenset(order.slices)
        session = self._sessions.get(order.term)
        if session is None:
            refusal = self._refusal(step, slices, order.term)
            if refusal:
                return [self._ack(order.term, step, reason=refusal)]
            if step is Step.TAKE:
                return self._take(order.term, slices, now)
            giving = step is Step.FREEZE
            session = (Giver if giving else Taker)(order.term, slices, order.peer)
            self._remember(session)
        if not session.step(step):
            reason = f"{step.name} is not possible when {session.state.name}"
            return [self._ack(order.term, step, reason=reason)]
        if isinstance(session, Giver):
            return self._give(session, step)
        return self._receive(session, step, now)

    def _refusal(self, step: Step, slices: frozenset[int], term: int) -> str:
        """Why nothing can begin with this step; empty when it can."""
        if not slices or max(slices) >= self._slice_count:
            return f"slices must be below {self._slice_count}"
        if step is not Step.CANCEL and balancer_of(term) < balancer_of(self._ownership.seen_term):
            return "a newer balancer is known here"
        held = [self._cache.held.get(slice_id) for slice_id in slices]
        match step:
            case Step.TAKE:
                outdated = self._ownership.is_outdated(slices, term)
                return "a newer term is known here" if outdated else ""
            case Step.FREEZE:
                free = all(h and h.usable and h.term < term for h in held)
                return "" if free else "not all of these slices are available here"
            case Step.ADD:
                here = any(h and not h.is_shut_out for h in held)
                return "some of these slices are here already" if here else ""
        return "" if step is Step.CANCEL else f"there is no session {term} here"

    def _remember(self, session: Giver | Taker) -> None:
        self._sessions[session.term] = session
        while len(self._sessions) > REMEMBERED_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    # -- giving -----------------------------------------------------------------------------------

    def _give(self, session: Giver, step: Step) -> list[Send]:
        if step is Step.FREEZE:
            return self._freeze(session)
        if step is Step.REMOVE:
            # Publishers send here until they hear of the new owner: what comes is kept, and is
            # part of the cache that is sent.
            return [self._ack(session.term, step)]
        if self._delivery.is_busy_with(session.slices):
            return []  # sent when the application is through with it
        return self._send_cache(session)

    def _freeze(self, session: Giver) -> list[Send]:
        for slice_id in session.slices:
            held = self._cache.held[slice_id]
            held.state, held.session = SliceState.GIVING, session.term
        self._writers.replay_requests.forget_slices(session.slices)
        return [*self._writers.commit(session.slices), self._ack(session.term, Step.FREEZE)]

    def _send_cache(self, session: Giver) -> list[Send]:
        """The application has nothing of these slices in hand: the positions are final."""
        if self._states is not None and session.states is None:
            if not session.asked:
                session.asked = True
                self._states.ask(session.term, session.slices)
            return []  # sent when the application has given the states
        session.state = SessionState.SENT
        held = [self._cache.held[s] for s in sorted(session.slices) if s in self._cache.held]
        chunks = session.chunks(self._topic, self._node, held, self._writers.live_writers)
        # What was in hand when it froze is committed here too: the taker may die before it does.
        commits = self._writers.commit(session.slices)
        return [*commits, *(Send(chunk, to=session.taker) for chunk in chunks)]

    def on_states_given(self, term: int, states: dict[int, bytes], fault: str) -> list[Send]:
        """The application has given the states of a session's slices, or cannot."""
        session = self._sessions.get(term)
        if not isinstance(session, Giver) or session.state is not SessionState.SENDING:
            return []
        if fault:
            session.asked = False
            if fault != self._fault:  # once: the balancer tries again and again
                _log.error("slices cannot be given away: %s", fault)
                self._fault = fault
            return [self._ack(term, Step.SEND_CACHE, reason=fault)]
        session.states = states
        return self._send_cache(session)

    def on_processed(self, held: HeldSlice, items: int) -> list[Send]:
        """The application is through with items of a slice; perhaps a giver waits for that."""
        session = self._sessions.get(held.session)
        if not isinstance(session, Giver):
            return []
        if session.state is SessionState.SENDING:
            return self._send_cache(session)
        if session.state is SessionState.SENT:
            session.repeated += items
        return []

    # -- taking -----------------------------------------------------------------------------------

    def _receive(self, session: Taker, step: Step, now: float) -> list[Send]:
        term = session.term
        if session.state is SessionState.MERGED:
            return [self._merged_ack(session)]
        if step is Step.ADD:
            return self._add(session)
        if step is Step.ACTIVATE:
            return [self._ack(term, step), *self._merge(session, now)]
        mine = {
            s for s in session.slices if s in self._cache.held and self._cache.held[s].term == term
        }
        self.give_up(mine)
        return [self._ack(term, step)]

    def _add(self, session: Taker) -> list[Send]:
        here = session.slices & self._cache.held.keys()
        self._ownership.drop(frozenset(s for s in here if self._cache.held[s].is_shut_out))
        for slice_id in session.slices:
            if slice_id not in self._cache.held:
                self._cache.hold(slice_id, SliceState.TAKING, session.term)
        return [self._ack(session.term, Step.ADD)]

    def on_cache_chunk(self, chunk: CacheChunk, now: float) -> list[Send]:
        """A part of a giver's cache came."""
        session = self._sessions.get(chunk.term)
        if not isinstance(session, Taker) or chunk.taker != self._node:
            return []
        if not session.receive(chunk):
            self.damaged += 1
            return []
        return self._merge(session, now)

    def _merge(self, session: Taker, now: float) -> list[Send]:
        """Merge the giver's cache, when it is complete, into ours; own the slices from then on."""
        chunks = session.complete()
        if not chunks:
            return []
        try:
            samples = [sample for chunk in chunks for sample in samples_in(chunk)]
        except DecodeError as error:
            # Cannot be trusted: the balancer's deadline will cancel the session.
            self.damaged += 1
            return [self._ack(session.term, Step.ACTIVATE, reason=f"damaged cache: {error}")]
        session.state = SessionState.MERGED
        session.repeated = chunks[0].repeated
        for slice_id in session.slices:
            self._cache.held[slice_id].state = SliceState.AVAILABLE
        self._adopt_positions(chunks[0], now)
        if self._states is not None:
            moved = states_in(chunks)
            for slice_id in session.slices:
                self._states.adopt(slice_id, session.term, moved.get(slice_id))
        for sample in samples:
            # Also when the cache is full: the giver forgets them, and a gone writer cannot replay.
            self._cache.offer(sample, urgent=True, among=self._find_moved(session, sample))
        for slice_id in session.slices:
            self._cache.held[slice_id].arrived = 0
        self._ownership.begin(session.slices, session.term, now)
        return [self._merged_ack(session)]

    def _find_moved(self, session: Taker, sample: Sample) -> set[int]:
        """The slices of a giver's sample that come with it; there may be others in it."""
        moved = set()
        for slice_id, first, _, count in sample.runs():
            if slice_id in session.slices:
                last = first + count - 1
                left = last - self._cache.held[slice_id].track(sample.writer).done
                if left > 0:
                    session.moved += min(count, left)
                    moved.add(slice_id)
        return moved

    def _adopt_positions(self, first: CacheChunk, now: float) -> None:
        rows = zip(first.slices, first.writers, first.done, first.known, strict=True)
        for slice_id, writer, done, known in rows:
            if not self._writers.may_count(writer):
                continue
            # A writer we never heard of is taken for gone until it speaks: it may be.
            self._writers.gone_since.setdefault(writer, now)
            self._cache.start(self._cache.held[slice_id], writer, done, known=bool(known))
            if done:
                self._writers.commits.on_processed(slice_id, writer)

    def _take(self, term: int, slices: frozenset[int], now: float) -> list[Send]:
        """Own slices under a new term; publishers will say where their numbers start."""
        held = [self._cache.held.get(slice_id) for slice_id in slices]
        if not all(h is not None and h.term == term for h in held):
            self.give_up(self._abandon_sessions(slices) - slices)
            for slice_id in slices:
                mine = self._cache.held.get(slice_id) or self._cache.hold(
                    slice_id, SliceState.AVAILABLE, term
                )
                before = mine.term
                mine.state, mine.term, mine.session = SliceState.AVAILABLE, term, 0
                mine.arrived = 0
                for track in mine.tracks.values():
                    track.known = track.fresh = False
                if self._states is not None:
                    mine.loading = self._states.own(slice_id, term, before)
            self._ownership.begin(slices, term, now)
        return [self._ack(term, Step.TAKE)]

    def report_settled(self) -> list[Send]:
        """Tell the balancer of changes of owner after which nothing is missing any more."""
        return [
            self._ack(settled.term, Step.SETTLED, replayed=settled.replayed)
            for settled in self._ownership.take_settled()
        ]

    # -- acknowledgements -------------------------------------------------------------------------

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
    ) -> Send:
        ok = not reason
        return Send(Ack(self._topic, self._node, term, step, ok, reason, moved, repeated, replayed))
