"""What the application has in hand, and what it has done so far.

The application gets one batch at a time. What it gets is taken from a holding of a slice; should
the slice be given up and taken anew meanwhile, the end of the old work says nothing of the new
holding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.model.batch import Batch
    from evenflow.slices.node.cache import HeldSlice, SliceCache


class Delivery:
    """Between the cache and the application."""

    def __init__(self, cache: SliceCache, most_items: int) -> None:
        self.in_hand: Batch | None = None
        self.items = 0
        """Items processed."""
        self.payload_bytes = 0
        """Payload bytes processed."""
        self.failed = 0
        """Items on which the application raised an error."""
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
        self.in_hand = self._cache.next(self._most_items)
        if self.in_hand is not None:
            self._of = self._cache.held[self.in_hand.slice]
            self._begun = now
        return self.in_hand

    def worked(self, now: float) -> float:
        """Seconds the application has been at work, with what it has in hand."""
        return self.busy + (max(0.0, now - self._begun) if self.in_hand is not None else 0.0)

    def finish(self, seconds: float, *, ok: bool) -> tuple[HeldSlice, Batch] | None:
        """The application is through; return the holding that has come further, if it still is."""
        batch, self.in_hand = self.in_hand, None
        if batch is None:
            return None
        payload_bytes = batch.payload_size
        self.busy += seconds
        self.items += batch.count
        self.payload_bytes += payload_bytes
        if not ok:
            self.failed += batch.count
        held = self._cache.held.get(batch.slice)
        track = held.tracks.get(batch.writer) if held else None
        if held is None or held is not self._of or track is None:
            return None
        track.complete(batch)
        held.items += batch.count
        held.payload_bytes += payload_bytes
        held.busy += seconds
        return held, batch

    def put_back(self) -> None:
        """The application could not process what it had in hand and stops: it stays uncommitted."""
        self.in_hand = None

    def is_busy_with(self, slices: frozenset[int]) -> bool:
        """Whether the application has items of one of these holdings in hand."""
        slice_id = self.in_hand.slice if self.in_hand else None
        return slice_id in slices and self._cache.held.get(slice_id) is self._of
