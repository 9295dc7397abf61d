"""The slice cache of a processing node: its slices, their states, and the items not yet processed.

Each held slice has a state (DPSLB thesis, figure 12) and one
:class:`~evenflow.slices.node.track.Track` per writer. Items of an Available slice wait for the
application in the order of their numbers; items of a slice In Load Balancing Session are only kept.
Memory is bounded by ``limit`` bytes: while the cache holds more, arriving batches go to disk
(:mod:`evenflow.slices.spill`), and when there is no room either they are refused. They are not
lost: their numbers are known to be missing, and the publisher replays them when there is room. A
full cache may hold nothing that the application can have (all behind gaps, or in a session); then,
and only then, the batch that the application needs next is taken in all the same.

The cache of a serving node is the same without the queue: nothing is processed here, items are kept
until consumers have committed them (:meth:`SliceCache.forget`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from evenflow.model.batch import Batch
from evenflow.model.messages import SliceState
from evenflow.slices.node.track import Track

if TYPE_CHECKING:
    from evenflow.slices.spill import Spill


class HeldSlice:
    """One slice at this node."""

    __slots__ = ("busy", "items", "payload_bytes", "session", "slice", "state", "term", "tracks")

    def __init__(self, slice_id: int, state: SliceState, term: int) -> None:
        self.slice = slice_id
        self.state = state
        self.term = term
        """Term of ownership; for a slice being taken, the term of the session."""
        self.session = 0
        """Term of the session in which the slice is being given away; 0 when it is not."""
        self.tracks: dict[int, Track] = {}
        self.items = self.payload_bytes = 0
        """What the slice has brought since it is held: items, and payload bytes."""
        self.busy = 0.0
        """Seconds the application has worked on it."""

    def track(self, writer: int) -> Track:
        """The track of a writer, made when there is none."""
        track = self.tracks.get(writer)
        if track is None:
            track = self.tracks[writer] = Track()
        return track


class SliceCache:
    """Every slice a node holds, and the queue of what its application shall process next."""

    def __init__(self, limit: int, *, serving: bool = False, spill: Spill | None = None) -> None:
        self.held: dict[int, HeldSlice] = {}
        self.limit = limit
        self._serving = serving
        self._spill = spill
        self.size = 0
        """Bytes of all items here."""
        self.repeated = 0
        """Items that arrived again and were dropped."""
        self.stray = 0
        """Items of slices that are not held (a reader not yet closed)."""
        self.refused = 0
        """Items refused because the cache was full; replay brings them again."""
        self._queue: deque[tuple[int, int]] = deque()
        self._queued: set[tuple[int, int]] = set()

    def hold(self, slice_id: int, state: SliceState, term: int) -> HeldSlice:
        """Begin to hold a slice."""
        held = self.held[slice_id] = HeldSlice(slice_id, state, term)
        return held

    def drop(self, slices: Iterable[int]) -> None:
        """Forget slices with everything kept for them."""
        for slice_id in slices:
            held = self.held.pop(slice_id, None)
            if held is not None:
                self.size -= sum(track.size for track in held.tracks.values())

    def offer(self, batch: Batch, *, urgent: bool = False) -> Track | None:
        """Take in a batch that arrived; return its track, None when the slice is not held.

        Args:
            batch: The batch.
            urgent: A full serving node takes it all the same.
        """
        held = self.held.get(batch.slice)
        if held is None:
            self.stray += batch.count
            return None
        track = held.track(batch.writer)
        if self.size > self.limit and track.needs(batch):
            spilled = self._spill.keep(batch.encoded) if self._spill else None
            if spilled is not None:
                batch = batch.at(spilled)
            elif not (urgent or self._ends_standstill(held, track, batch)):
                self.refused += batch.count
                track.last = max(track.last, batch.last)
                return track
        before = track.size
        self.repeated += track.offer(batch)
        self.size += track.size - before
        if track.ready:
            self.wake(held, batch.writer, track)
        return track

    def _ends_standstill(self, held: HeldSlice, track: Track, batch: Batch) -> bool:
        """Whether a full cache has nothing for the application, and this batch is what it needs."""
        if self._serving:
            return False
        needed = track.known and batch.first <= track.next
        return needed and held.state is SliceState.AVAILABLE and not self._queue

    def start(self, held: HeldSlice, writer: int, floor: int, *, known: bool = True) -> int:
        """Set the position of a track (see :meth:`Track.start`)."""
        track = held.track(writer)
        before = track.size
        unseen = track.start(floor, known=known)
        self.size += track.size - before
        self.wake(held, writer, track)
        return unseen

    def forget(self, writer: int, epoch: int) -> None:
        """Drop a writer's items up to the end of an epoch: all consumers have processed them."""
        for _, track in self.tracks_of(writer):
            before = track.size
            track.forget(epoch)
            self.size += track.size - before

    def wake(self, held: HeldSlice, writer: int, track: Track) -> None:
        """Queue a track whose items the application may have now."""
        if self._serving:
            return
        if held.state is SliceState.AVAILABLE and track.known and track.ready:
            key = (held.slice, writer)
            if key not in self._queued:
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
            if held is None or held.state is not SliceState.AVAILABLE:
                continue
            track = held.tracks.get(writer)
            if track is None:
                continue
            before = track.size
            batch = track.take(limit)
            if batch is None:
                continue
            self.size += track.size - before
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
    def has_work(self) -> bool:
        """Whether something waits for the application."""
        return bool(self._queue)

    @property
    def satisfied(self) -> bool:
        """Full, and not of things that the application cannot have: nothing need be asked for."""
        return self.size > self.limit and self.has_work

    @property
    def waiting_since(self) -> int | None:
        """Time of the oldest item that waits for the application, in us; None without one."""
        tracks = (t for held in self.available() for t in held.tracks.values() if t.ready)
        return min((int(track.ready[0].times[0]) for track in tracks), default=None)

    @property
    def backlog(self) -> int:
        """Items here and not yet handed to the application."""
        return sum(t.backlog for held in self.held.values() for t in held.tracks.values())
