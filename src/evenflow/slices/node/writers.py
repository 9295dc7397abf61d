"""The writers of publishers, as far as they concern the slices of this node.

Knows every writer, takes samples in, finds what is missing and asks for it, and commits what is
processed. A writer that is silent is waited for; it ends when the ledger says so
(:mod:`evenflow.slices.node.endings`). It does not know why a slice is here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from evenflow.model.ids import WriterId
from evenflow.model.messages import (
    EpochClose,
    ReplayAnswer,
    ReplayRequest,
    SliceState,
)
from evenflow.model.messages.stream import ANY
from evenflow.slices.actions import Send
from evenflow.slices.foreign_writers import ForeignWriters
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.application.snapshots import snapshots_of
from evenflow.slices.node.application.states import States
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.commits import Commits
from evenflow.slices.node.replay_requests import ReplayRequests
from evenflow.slices.node.serving.rules import ServingRules

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenflow.model.messages import WriterCut
    from evenflow.model.sample import Sample
    from evenflow.slices.node.settings import NodeSettings
    from evenflow.slices.spill import Spill

LEAST_ROOM: Final = 256 << 10
"""Bytes that a publisher is asked for at least, if the cache has four times that: a sample."""
MOST_ENDED: Final = 100
"""Writers that have ended whose positions are kept."""
RETURNED: Final = 2.0
"""A writer that is heard after so long a silence was away."""


class Writers:
    """All writers and all held slices of one node and topic."""

    def __init__(
        self,
        topic: str,
        node: str,
        slice_count: int,
        settings: NodeSettings,
        spill: Spill | None = None,
    ) -> None:
        self.ledger = LedgerView()
        """Which writers have ended, or are being ended."""
        self.cache = SliceCache(settings.cache_bytes, serving=settings.serving, spill=spill)
        self.serving = (
            ServingRules(topic, node, self.cache, self.ledger) if settings.serving else None
        )
        self.snapshots = snapshots_of(node, settings)
        self.states = States(settings.state_bytes, self.snapshots) if settings.stateful else None
        self.replay_requests = ReplayRequests(settings.ask_grace, settings.ask_retry)
        self.misfits: dict[int, int] = {}
        """Writers that cut the topic into another number of slices, with that number."""
        self.foreign = ForeignWriters()
        self.gone_since: dict[int, float | None] = {}
        """Known writers: since when each is gone, None for one that is there."""
        self.heard: dict[int, float] = {}
        """When each of them was last heard."""
        self.goodbyes: set[int] = set()
        """Writers that said goodbye, until the ledger names them."""
        self.replayed = 0
        """Items that came by replay and were needed."""
        self.commits = Commits(topic, node, self.cache, self.gone_since, self.snapshots)
        self.ended_ways: list[int] = []
        """Writers to which nothing more is said, until the shell has closed the ways to them."""
        self._topic, self._node = topic, node
        self.slice_count = slice_count
        self._requests = 0
        self._ended: deque[int] = deque()
        """Writers that have ended, and whose positions are still kept with the states."""

    # -- what arrives -----------------------------------------------------------------------------

    def receive(self, sample: Sample, now: float, *, replayed: bool) -> None:
        """A sample arrived from the stream, or again by replay."""
        writer = sample.writer
        self.foreign.on_items(writer, sample.count, now)
        if writer in self.misfits or not self._hear(writer, now):
            return
        serving, requests = self.serving, self.replay_requests
        urgent = serving is not None and serving.is_urgent(sample)
        asked = requests.pending_of(writer)
        came: list[int] = []
        for held, track, batch, new in self.cache.offer(sample, urgent=urgent):
            if replayed and new:
                self.replayed += new
                came.append(held.slice)
            if serving is not None:
                held.items += new
                held.payload_bytes += batch.payload_size * new // batch.count
            elif batch.first == 1 and new and not replayed and held.state is SliceState.AVAILABLE:
                track.fresh = True  # what is sent again others may have had, and committed
            if track.next <= track.last:
                if held.state is SliceState.AVAILABLE:
                    requests.soon(writer, held.slice, now)
            elif track.known and held.slice in asked:
                requests.resolve(writer, held.slice)
        if came:
            requests.on_replay(writer, came, now)

    def on_epoch_closed(self, close: EpochClose, now: float) -> None:
        """A publisher closed an epoch: what it names and is not here is missing."""
        writer = close.writer
        self.foreign.on_word(writer)
        if close.slice_count != self.slice_count:
            self.misfits[writer] = close.slice_count
            return
        if close.closing and not self.ledger.is_over(writer):
            self.goodbyes.add(writer)
        if not self._hear(writer, now):
            return
        limits = self.cache.limits.get(writer)
        for slice_id, announced in zip(close.slices, close.last, strict=True):
            held = self.cache.held.get(slice_id)
            if held is None:
                continue
            last = announced if limits is None else min(announced, limits.get(slice_id, 0))
            track = held.tracks.get(writer) or held.track(writer)
            held.announce(track, last)
            if held.state is not SliceState.AVAILABLE:
                continue
            if not track.known or track.lacks:
                self.replay_requests.soon(writer, slice_id, now)
            elif self.commits.upto(track) >= last:
                # Committed here but still kept there: the commit was lost.
                self.commits.dirty.add((slice_id, writer))
        if self.serving is not None:
            self._ask_up_to_cut(writer, now)
            self.serving.on_epoch_closed(close)

    def _ask_up_to_cut(self, writer: int, now: float) -> None:
        """A writer that was cut speaks: ask what its cut names and is not here.

        Its closes name only what is not committed; whoever owns a slice since then does not know
        where that one's numbers start, and nothing of the cut is whole for it before.
        """
        cut = self.ledger.cut(writer)
        if cut is None:
            return
        for slice_id, last in zip(cut.slices, cut.upto, strict=True):
            held = self.cache.held.get(slice_id)
            if held is None or held.state is not SliceState.AVAILABLE:
                continue
            track = held.track(writer)
            if track.next <= last:
                held.announce(track, last)
                self.replay_requests.soon(writer, slice_id, now)

    def on_replay_answer(self, answer: ReplayAnswer, now: float) -> None:
        """A publisher said where the numbers of slices start.

        A late answer, to a request of an earlier term, may name a floor that others have raised
        since: the numbers start there or later, and the answer to the new request says where.
        """
        writer = answer.writer
        self.foreign.on_word(writer)
        if not self._hear(writer, now):
            return
        limits = self.cache.limits.get(writer)
        for slice_id, floor, newest in zip(answer.slices, answer.floor, answer.last, strict=True):
            held = self.cache.held.get(slice_id)
            if held is None or held.state is not SliceState.AVAILABLE:
                continue
            track = held.track(writer)
            last = newest if limits is None else min(newest, limits.get(slice_id, 0))
            held.announce(track, last)
            known = answer.request > held.asked_before
            if known:
                track.correct(last)
            if self.states is not None and floor > track.done:
                self.states.on_floor(slice_id, held.term, known=track.known)
            self.cache.start(held, answer.writer, floor, known=known)
            if track.known and not track.lacks:
                self.replay_requests.resolve(answer.writer, slice_id)

    def on_writer_gone(self, writer: int, now: float) -> None:
        """A publisher left or died."""
        if self.gone_since.get(writer, 0.0) is None:
            self.gone_since[writer] = now

    @property
    def live_writers(self) -> frozenset[int]:
        """Publishers that are there."""
        return frozenset(writer for writer, gone in self.gone_since.items() if gone is None)

    # -- what is asked and told -------------------------------------------------------------------

    def _hear(self, writer: int, now: float) -> bool:
        """A writer speaks; whether what it says counts, as far as the ledger is concerned."""
        ledger = self.ledger
        if writer in ledger.entries and ledger.is_over(writer):
            return False
        known = writer in self.gone_since
        if known and now - self.heard.get(writer, now) > RETURNED:
            self.replay_requests.on_return(writer, now)
        self.heard[writer] = now
        if ledger.is_frozen(writer):
            if not known:
                self.gone_since[writer] = None
            return False
        if known:
            self.gone_since[writer] = None
        else:
            self._meet(writer, now)
        return True

    def _meet(self, writer: int, now: float) -> None:
        """First contact with a writer: ask it where the numbers of all our slices start."""
        self.gone_since[writer] = None
        self._ask_at_once(writer, [held.slice for held in self.cache.available()], now)

    def own(self, slices: frozenset[int], now: float) -> None:
        """Own slices from now on: ask every writer for what is newer than what is here."""
        held_now = slices & self.cache.held.keys()
        for slice_id in held_now:
            self.cache.held[slice_id].asked_before = self._requests
        for writer in self.live_writers:
            self._ask_at_once(writer, held_now, now)
        self.cache.wake_all(held_now)

    def may_count(self, writer: int) -> bool:
        """Whether anything of a writer may still be needed."""
        return not self.ledger.is_over(writer)

    def _ask_at_once(self, writer: int, slices: Collection[int], now: float) -> None:
        for slice_id in slices:
            self.cache.held[slice_id].track(writer)
        self.replay_requests.at_once(writer, slices, now)

    def ask(self, now: float) -> list[Send]:
        """Ask what is due, for no more than there is room for."""
        room = self.cache.room
        if self.serving is not None and not room:
            return self._ask_though_full(self.serving, now)
        if self.serving is None and self.cache.satisfied:
            return []
        due = self.replay_requests.poll(now)
        least = min(LEAST_ROOM, max(1, self.cache.limit // 4))
        share = max(least, room // max(1, len(due)))
        return [self._request(writer, slices, share) for writer, slices in due]

    def _ask_though_full(self, serving: ServingRules, now: float) -> list[Send]:
        """Ask for what comes in always; where that is nothing, for where the numbers start."""
        for writer in serving.newly_wanted:
            self.replay_requests.hurry(writer, now)
        requests = []
        for writer, slices in self.replay_requests.poll(now):
            epoch = serving.wanted(writer)
            tracks = ((s, self.cache.held[s].track(writer)) for s in slices)
            uncertain = [slice_id for slice_id, track in tracks if not track.known]
            if epoch:
                requests.append(self._request(writer, slices, ANY, epoch))
            elif uncertain:
                requests.append(self._request(writer, uncertain, 0))
            else:
                self.replay_requests.not_asked(writer)
        return requests

    def _request(self, writer: int, slices: list[int], room: int, epoch: int = ANY) -> Send:
        held = [self.cache.held[slice_id] for slice_id in slices]
        self._requests += 1
        have = tuple(h.track(writer).next - 1 for h in held)
        until = tuple(h.track(writer).gap_end for h in held)
        terms = tuple(h.term for h in held)
        request = ReplayRequest(
            self._topic,
            writer,
            self._node,
            self._requests,
            tuple(slices),
            terms,
            have,
            until,
            room,
            epoch,
        )
        return Send(request, to=WriterId.text(writer))

    def commit(self, only: frozenset[int] | None = None) -> list[Send]:
        """Tell publishers what is processed, of all slices or of some."""
        if self.serving is not None:
            self.commits.dirty.clear()
            return []
        return self.commits.take(only)

    # -- writers that end -------------------------------------------------------------------------

    def end(self, cut: WriterCut) -> None:
        """The stream of a writer ends here: what lies beyond does not count."""
        writer, limits = cut.writer, dict(zip(cut.slices, cut.upto, strict=True))
        self.replay_requests.forget_writer(writer)
        if self.serving is not None:
            self.serving.on_cut(cut)
            self.cache.last_epochs[writer] = cut.epoch
        else:
            self.cache.limits[writer] = limits
        for held, track in self.cache.tracks_of(writer):
            if self.serving is None:
                track.known = track.known or track.fresh
                track.end_at(limits.get(held.slice, 0))
                self.cache.wake(held, writer, track)
            else:
                track.end_epoch(cut.epoch)

    def forget(self, writer: int) -> None:
        """All of a writer that counts is committed by everybody: nothing of it is needed."""
        self.close(writer)
        if self.states is None:
            self.cache.drop_writer(writer)
        else:
            self._keep_positions(writer)
        if self.serving is not None:
            self.serving.forget_writer(writer)
        for known in (self.gone_since, self.heard):
            known.pop(writer, None)
        self.goodbyes.discard(writer)
        self.foreign.forget(writer)

    def _keep_positions(self, writer: int) -> None:
        """Keep how far states have come of a writer that has ended, of the newest of them.

        Who gets a state next may not know of the end, and hear of the writer's floors late.
        """
        for _, track in self.cache.tracks_of(writer):
            track.clear()
        self._ended.append(writer)
        while len(self._ended) > MOST_ENDED:
            self.cache.drop_writer(self._ended.popleft())

    def close(self, writer: int) -> None:
        """Nothing more of a writer comes in; what is here stays until it is processed."""
        self.cache.limits.pop(writer, None)
        self.cache.last_epochs.pop(writer, None)
        self.replay_requests.forget_writer(writer)
        self.ended_ways.append(writer)
