"""What the application has in hand, and what it has done so far.

The application gets one batch at a time. What it gets is taken from a holding of a slice; should
the slice be given up and taken anew meanwhile, the end of the old work says nothing of the new
holding. What it could not process goes back to the cache, so that it moves with its slice, and is
given again as :mod:`~evenflow.slices.node.failures` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenflow.slices.node.failures import Failures

if TYPE_CHECKING:
    from evenflow.model.batch import Batch
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.cache.slice_cache import SliceCache


class Failed(NamedTuple):
    """What became of a batch on which the application failed."""

    exhausted: bool
    """It is one item that was given often enough: it is still in hand, somebody has to decide."""
    held: HeldSlice | None = None
    """The holding that the rest went back to; None when that is not here any more."""
    processed: Batch | None = None
    """What of it is done."""


class Delivery:
    """Between the cache and the application."""

    def __init__(
        self, cache: SliceCache, most_items: int, failures: Failures | None = None
    ) -> None:
        self.failures = failures or Failures(0, 0.0)
        self.in_hand: Batch | None = None
        self.items = 0
        """Items processed."""
        self.payload_bytes = 0
        """Payload bytes processed."""
        self.failed = 0
        """Items that the application could not process and that were given up."""
        self.dead = 0
        """Those of them that are in the dead-letter topic."""
        self.busy = 0.0
        """Seconds the application has been at work, on what it is through with."""
        self._begun = 0.0
        self._cache = cache
        self._most_items = most_items
        self._of: HeldSlice | None = None

    def begin(self, now: float) -> Batch | None:
        """Give the application its next items, if it has none in hand."""
        if self.in_hand is not None:
            return None
        if self._cache.resting:
            self._wake_rested(now)
        batch = self._cache.next(self._most_items)
        if batch is not None:
            self._of = held = self._cache.held[batch.slice]
            self._begun = now
            if batch.count > 1 and self.failures.is_given_alone(batch, held):
                batch = self._first_of(batch, held)
        self.in_hand = batch
        return batch

    def _wake_rested(self, now: float) -> None:
        cache = self._cache
        for key in (*self.failures.forget_past(cache.held), *self.failures.rested(now)):
            if key in cache.resting:
                cache.resting.discard(key)
                slice_id, writer = key
                held = cache.held.get(slice_id)
                track = held.tracks.get(writer) if held is not None else None
                if held is not None and track is not None:
                    cache.wake(held, writer, track)

    def _first_of(self, batch: Batch, held: HeldSlice) -> Batch:
        """The first item alone; the others wait for it."""
        track = held.tracks[batch.writer]
        track.give_back(batch.between(batch.first + 1, batch.last))
        self._cache.wake(held, batch.writer, track)
        return batch.between(batch.first, batch.first)

    def worked(self, now: float) -> float:
        """Seconds the application has been at work, with what it has in hand."""
        return self.busy + (max(0.0, now - self._begun) if self.in_hand is not None else 0.0)

    def finish(self, seconds: float, *, ok: bool) -> tuple[HeldSlice, Batch] | None:
        """The application is through; return the holding that has come further, if it still is."""
        batch, self.in_hand = self.in_hand, None
        if batch is None:
            return None
        self.busy += seconds
        if not ok:
            self.failed += batch.count
        held = self._holding_of(batch)
        if held is not None:
            held.busy += seconds
            self.failures.pass_by(batch)
        self._complete(batch, held)
        return None if held is None else (held, batch)

    def fail(self, seconds: float, now: float, index: int | None = None) -> Failed:
        """The application failed on what it has in hand, at this item of it if it says so."""
        batch = self.in_hand
        if batch is None:
            return Failed(exhausted=False)
        self.busy += seconds
        held = self._holding_of(batch)
        if held is None:
            self.in_hand = None
            return Failed(exhausted=False)
        held.busy += seconds
        if index is not None and not 0 <= index < batch.count:
            index = None
        if not self.failures.add(batch, held, index, now):
            return Failed(exhausted=True, held=held)
        processed = batch.between(batch.first, batch.first + index - 1) if index else None
        if processed is not None:
            self._complete(processed, held)
        self._cache.resting.add((batch.slice, batch.writer))
        self.put_back()
        return Failed(exhausted=False, held=held, processed=processed)

    def put_back(self) -> None:
        """The application has not processed what it had in hand: it stays uncommitted."""
        batch, self.in_hand = self.in_hand, None
        held = self._holding_of(batch) if batch is not None else None
        if batch is not None and held is not None:
            track = held.tracks[batch.writer]
            track.give_back(batch)
            self._cache.wake(held, batch.writer, track)

    def _holding_of(self, batch: Batch) -> HeldSlice | None:
        """The holding that a batch was taken from; None when it is not here any more."""
        held = self._cache.held.get(batch.slice)
        return held if held is self._of and held and batch.writer in held.tracks else None

    def _complete(self, batch: Batch, held: HeldSlice | None) -> None:
        payload_bytes = batch.payload_size
        self.items += batch.count
        self.payload_bytes += payload_bytes
        if held is not None:
            held.tracks[batch.writer].complete(batch)
            held.items += batch.count
            held.payload_bytes += payload_bytes

    def is_busy_with(self, slices: frozenset[int]) -> bool:
        """Whether the application has items of one of these holdings in hand."""
        slice_id = self.in_hand.slice if self.in_hand else None
        return slice_id in slices and self._cache.held.get(slice_id) is self._of
