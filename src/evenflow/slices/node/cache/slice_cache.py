"""The slice cache of a processing node: its slices, their states, and the items not yet processed.

Each held slice has a state (DPSLB thesis, figure 12) and one
:class:`~evenflow.slices.node.cache.track.Track` per writer. Items of an Available slice wait for
the application in the order of their numbers; items of a slice In Load Balancing Session are only
kept. Memory is bounded by ``limit`` bytes of samples
(:mod:`~evenflow.slices.node.cache.kept_samples`): while the cache holds more, arriving samples go
to disk (:mod:`evenflow.slices.spill`), and when there is no room either their runs are refused.
They are not lost: their numbers are known to be missing, and the publisher replays them when there
is room. A full cache may hold nothing that the application can have (all behind gaps, or in a
session); then, and only then, what the application can have at once of a sample is taken in all the
same.

The cache of a serving node is the same without the queue: nothing is processed here, items are kept
until consumers have committed them (:meth:`SliceCache.forget`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from evenflow.model.batch import Batch
from evenflow.model.messages import SliceState
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.slices.node.cache.kept_samples import KeptSamples, copy_out
from evenflow.slices.node.cache.track import Track

if TYPE_CHECKING:
    from evenflow.model.sample import Sample
    from evenflow.slices.spill import Spill

_LOOKED_AT: Final = 1_000
"""Tracks among which the item that waits longest is looked for."""


Offered = tuple[HeldSlice, Track, Batch, int]
"""A batch that was offered, its slice and track, and how many of its items were taken in."""


class SliceCache:
    """Every slice a node holds, and the queue of what its application shall process next."""

    def __init__(self, limit: int, *, serving: bool = False, spill: Spill | None = None) -> None:
        self.held: dict[int, HeldSlice] = {}
        self.limit = limit
        self._serving = serving
        self._spill = spill
        self._kept = KeptSamples()
        self.repeated = 0
        """Items that arrived again and were dropped."""
        self.stray = 0
        """Items of slices that are not held (sent by a publisher that has an older map)."""
        self.refused = 0
        """Items refused because the cache was full; replay brings them again."""
        self.limits: dict[int, dict[int, int]] = {}
        """Writers that have ended: the last number of each slice that counts."""
        self.last_epochs: dict[int, int] = {}
        """The same of a served topic: the last epoch that counts."""
        self.resting: set[tuple[int, int]] = set()
        """Slices and writers whose items the application could not process and shall not have now
        (:mod:`~evenflow.slices.node.failures`)."""
        self._queue: deque[tuple[int, int]] = deque()
        self._queued: set[tuple[int, int]] = set()

    def hold(self, slice_id: int, state: SliceState, term: int) -> HeldSlice:
        """Begin to hold a slice."""
        held = self.held[slice_id] = HeldSlice(slice_id, state, term, self._kept)
        return held

    def drop(self, slices: Iterable[int]) -> None:
        """Forget slices with everything kept for them."""
        for slice_id in slices:
            held = self.held.pop(slice_id, None)
            for track in held.tracks.values() if held is not None else ():
                track.clear()

    def drop_writer(self, writer: int) -> None:
        """Forget a writer with everything kept of it."""
        for held in self.held.values():
            track = held.tracks.pop(writer, None)
            if track is not None:
                track.clear()

    def offer(
        self, sample: Sample, *, urgent: bool = False, among: Collection[int] | None = None
    ) -> list[Offered]:
        """Take in a sample that arrived, as far as its slices are held.

        Args:
            sample: The sample.
            urgent: Take it also when there is no room.
            among: Leave its other slices alone.

        Returns:
            Its batches of held slices, and what became of each.
        """
        if self.last_epochs and sample.epoch > self.last_epochs.get(sample.writer, sample.epoch):
            return []
        limits = self.limits.get(sample.writer)
        if limits is not None:
            among = self._counting(sample, limits, among)
        admitted = None
        if self._kept.size > self.limit:
            sample, admitted = self._when_full(sample, among, urgent=urgent)
        offered: list[Offered] = []
        writer, all_held = sample.writer, self.held
        for slice_id, first, begin, count in sample.runs():
            if among is not None and slice_id not in among:
                continue
            held = all_held.get(slice_id)
            if held is None:
                self.stray += count
                continue
            track = held.tracks.get(writer) or held.track(writer)
            batch = Batch(sample, slice_id, first, begin, count)
            held.announce(track, first + count - 1)
            if admitted is not None and slice_id not in admitted and track.needs(batch):
                self.refused += count
                offered.append((held, track, batch, 0))
                continue
            repeated = track.offer(batch)
            self.repeated += repeated
            if track.ready:
                self.wake(held, writer, track)
            offered.append((held, track, batch, count - repeated))
        return offered

    @staticmethod
    def _counting(
        sample: Sample, limits: dict[int, int], among: Collection[int] | None
    ) -> set[int]:
        """The slices of an ended writer's sample of which everything counts.

        A run that the end lies in the middle of is processed up to there: the end is then a floor.
        """
        return {
            slice_id
            for slice_id, first, _, count in sample.runs()
            if first + count - 1 <= limits.get(slice_id, 0) and (among is None or slice_id in among)
        }

    def _when_full(
        self, sample: Sample, among: Collection[int] | None, *, urgent: bool
    ) -> tuple[Sample, Collection[int] | None]:
        """Find out what of a sample comes in though the cache is full, and where it is kept.

        Returns:
            The sample, perhaps as it lies on disk, and the slices of it that come in; None for all.
        """
        if self._kept.sparse:
            tracks = (track for held in self.held.values() for track in held.tracks.values())
            copy_out(self._kept, tracks)
            if self._kept.size <= self.limit:
                return sample, None
        needed = [
            (held, track, batch)
            for batch in sample.batches()
            if (among is None or batch.slice in among)
            and (held := self.held.get(batch.slice)) is not None
            and (track := held.track(sample.writer)).needs(batch)
        ]
        spilled = self._spill.keep(sample.encoded) if self._spill and needed else None
        if spilled is not None:
            return sample.at(spilled), None
        if urgent:
            return sample, None
        if self._serving or self._queue or self.resting:
            return sample, ()
        # Nothing is here that the application can have. What it can have of this sample comes in,
        # and nothing else: so the sample will not be kept for longer than that.
        return sample, {
            batch.slice
            for held, track, batch in needed
            if held.usable and track.known and batch.first <= track.next
        }

    def start(self, held: HeldSlice, writer: int, floor: int, *, known: bool = True) -> int:
        """Set the position of a track (see :meth:`Track.start`)."""
        track = held.track(writer)
        unseen = track.start(floor, known=known)
        self.wake(held, writer, track)
        return unseen

    def forget(self, writer: int, epoch: int) -> None:
        """Drop a writer's items up to the end of an epoch: all consumers have processed them."""
        for _, track in self.tracks_of(writer):
            if track.ready or track.out_of_order:
                track.forget(epoch)

    def wake(self, held: HeldSlice, writer: int, track: Track) -> None:
        """Queue a track whose items the application may have now."""
        if self._serving:
            return
        if held.usable and track.known and track.ready:
            key = (held.slice, writer)
            if key not in self._queued and key not in self.resting:
                self._queued.add(key)
                self._queue.append(key)

    def wake_all(self, slices: Iterable[int]) -> None:
        """Queue everything the application may have now of these slices."""
        for slice_id in slices:
            held = self.held[slice_id]
            for writer, track in held.tracks.items():
                self.wake(held, writer, track)

    def next(self, limit: int) -> Batch | None:
        """The next items for the application: tracks take turns, each in order of its numbers."""
        while self._queue:
            key = self._queue.popleft()
            self._queued.discard(key)
            slice_id, writer = key
            held = self.held.get(slice_id)
            if held is None or not held.usable or key in self.resting:
                continue
            track = held.tracks.get(writer)
            if track is None:
                continue
            batch = track.take(limit)
            if batch is None:
                continue
            self.wake(held, writer, track)
            return batch
        return None

    def available(self) -> Iterator[HeldSlice]:
        """The slices this node owns."""
        return (held for held in self.held.values() if held.state is SliceState.AVAILABLE)

    def tracks_of(self, writer: int) -> Iterator[tuple[HeldSlice, Track]]:
        """One writer's tracks, with their slices."""
        for held in self.held.values():
            track = held.tracks.get(writer)
            if track is not None:
                yield held, track

    @property
    def room(self) -> int:
        """Bytes that may come in, in memory or on disk; 0 when the cache is full."""
        in_memory = max(0, self.limit + 1 - self._kept.size)
        return in_memory + (self._spill.room if self._spill is not None else 0)

    @property
    def capacity(self) -> int:
        """Bytes that there is room for, in memory and on disk."""
        return self.limit + (self._spill.limit if self._spill is not None else 0)

    @property
    def size(self) -> int:
        """Bytes of all samples of which something is here."""
        return self._kept.size

    @property
    def has_work(self) -> bool:
        """Whether something waits for the application."""
        return bool(self._queue)

    @property
    def satisfied(self) -> bool:
        """Full, and not of things that the application cannot have: nothing need be asked for."""
        return self._kept.size > self.limit and bool(self._queue or self.resting)

    @property
    def waiting_since(self) -> int | None:
        """Time of the oldest item that waits for the application, in us; None without one.

        Tracks take turns, so it is looked for among the next ones.
        """
        oldest = None
        for slice_id, writer in islice(self._queue, _LOOKED_AT):
            held = self.held.get(slice_id)
            track = held.tracks.get(writer) if held is not None else None
            if track is not None and track.ready:
                time = track.ready[0].first_time
                oldest = time if oldest is None or time < oldest else oldest
        return oldest

    @property
    def backlog(self) -> int:
        """Items here and not yet handed to the application."""
        return self._kept.rows
