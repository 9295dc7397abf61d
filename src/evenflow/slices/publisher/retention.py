"""What a publisher published and nobody has committed yet (upstream backup).

Per slice it keeps the encoded batches in the order of their numbers, the *floor* (everything up
to it is committed) and the newest number. A commit may name any number: a batch is forgotten
when its last item is committed, and a floor inside a batch keeps the whole batch, because
batches are never encoded anew; whoever gets it again drops the items up to the floor.

All retained items are the numbers ``floor + 1 .. newest`` of each slice, without a hole: that
is what makes replay able to close any gap. Bytes are counted over all slices so that the
publisher can bound them. Pure: no clock, no lock; the publisher's core owns it.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evenflow.model.batch import Encoded


class Retained(NamedTuple):
    """One published batch that is not wholly committed."""

    first: int
    """Sequence number of its first item."""
    last: int
    """Sequence number of its last item."""
    epoch: int
    """The epoch it belongs to."""
    encoded: Encoded
    """The sample as it was, and will again be, written."""


class Retention:
    """The uncommitted batches of all slices of one writer."""

    __slots__ = ("_batches", "_dirty", "_floors", "_newest", "items", "size")

    def __init__(self, slice_count: int) -> None:
        self._batches: tuple[deque[Retained], ...] = tuple(deque() for _ in range(slice_count))
        self._floors = [0] * slice_count
        self._newest = [0] * slice_count
        self._dirty: set[int] = set()
        self.items = 0
        """Items that are published and not committed."""
        self.size = 0
        """Bytes of all retained batches."""

    def keep(self, slice_id: int, count: int, epoch: int, encoded: Encoded) -> None:
        """Keep a new batch of ``count`` items, numbered on from the newest item of its slice."""
        first = self._newest[slice_id] + 1
        last = self._newest[slice_id] = first + count - 1
        self._batches[slice_id].append(Retained(first, last, epoch, encoded))
        self._dirty.add(slice_id)
        self.items += count
        self.size += len(encoded)

    def commit(self, slice_id: int, upto: int) -> int:
        """Forget a slice's items up to a number; return how many were not committed before."""
        floor = self._floors[slice_id]
        if upto > self._newest[slice_id]:
            raise ValueError(f"slice {slice_id} has {self._newest[slice_id]} items, not {upto}")
        if upto <= floor:
            return 0
        batches = self._batches[slice_id]
        while batches and batches[0].last <= upto:
            self.size -= len(batches.popleft().encoded)
        self._floors[slice_id] = upto
        if upto == self._newest[slice_id]:
            self._dirty.discard(slice_id)
        self.items -= upto - floor
        return upto - floor

    def last_in(self, slice_id: int, epoch: int) -> int:
        """The newest retained number of a slice up to the end of an epoch; its floor when none."""
        last = self._floors[slice_id]
        for batch in self._batches[slice_id]:
            if batch.epoch > epoch:
                break
            last = batch.last
        return last

    def floor(self, slice_id: int) -> int:
        """Everything up to this number is committed."""
        return self._floors[slice_id]

    def newest(self, slice_id: int) -> int:
        """The newest number of a slice; 0 before its first item."""
        return self._newest[slice_id]

    def uncommitted(self, slice_id: int) -> int:
        """How many items of a slice are not committed."""
        return self._newest[slice_id] - self._floors[slice_id]

    def newest_of_all(self) -> list[int]:
        """The newest number of every slice."""
        return self._newest.copy()

    def dirty(self) -> list[int]:
        """The slices that have uncommitted items, in order."""
        return sorted(self._dirty)

    def after(self, slice_id: int, have: int) -> list[Retained]:
        """The retained batches that hold an item above ``have``, in order of their numbers.

        Searched from the newest backwards, so that asking for little costs little.
        """
        lacking = list(takewhile(lambda b: b.last > have, reversed(self._batches[slice_id])))
        lacking.reverse()
        return lacking
