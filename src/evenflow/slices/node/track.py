"""A track: what one node knows of one writer's items in one slice.

Items of a writer and slice are numbered from 1. Three numbers say all there is to say about them::

            done            next                last
    ----------|---------------|-------------------|------> number
    processed      ready      lacking / out of order

* up to ``done`` the application has processed them;
* before ``next`` everything is here (``ready``, in order, nothing missing);
* behind ``next`` there may be batches that arrived too early (``out_of_order``), with gaps between
  them.

A batch that comes again, from a second reader, a replay or a giver's cache, is recognised by its
numbers alone. Whether ``done`` may be trusted is ``known``: after a takeover only the publisher can
say how far the dead owner committed, so nothing is delivered until its answer sets the floor.
"""

from __future__ import annotations

from collections import deque

from evenflow.model.batch import Batch


class Track:
    """One writer's items in one slice, at the node that holds the slice."""

    __slots__ = (
        "done",
        "known",
        "last",
        "next",
        "out_of_order",
        "ready",
        "size",
    )

    def __init__(self) -> None:
        self.done = 0
        self.next = 1
        self.last = 0
        """Newest number that the publisher has announced or sent."""
        self.known = False
        """Whether ``done`` is certain; nothing is delivered before."""
        self.ready: deque[Batch] = deque()
        self.out_of_order: dict[int, Batch] = {}
        self.size = 0
        """Encoded size of all batches in ``ready`` and ``out_of_order``."""

    def needs(self, batch: Batch) -> bool:
        """Whether a batch brings something that is not here."""
        return batch.last >= self.next and batch.first not in self.out_of_order

    def offer(self, batch: Batch) -> int:
        """Take a batch in; return how many of its items were here already."""
        last = batch.last
        if last < self.next:
            return batch.count
        repeated = 0
        if batch.first > self.next:
            if batch.first in self.out_of_order:
                return batch.count
            self.out_of_order[batch.first] = batch
        else:
            part = batch.between(self.next, last)
            repeated = batch.count - part.count
            self.ready.append(part)
            self.next = last + 1
            if self.out_of_order:
                self._drain()
        self.size += batch.size
        if last > self.last:
            self.last = last
        return repeated

    def _drain(self) -> None:
        """Move held batches that have become consecutive to ``ready``."""
        for first in sorted(self.out_of_order):
            if first > self.next:
                break
            batch = self.out_of_order.pop(first)
            if batch.last < self.next:
                self.size -= batch.size
                continue
            self.ready.append(batch.between(self.next, batch.last))
            self.next = batch.last + 1

    def start(self, floor: int, *, known: bool = True) -> int:
        """Learn that everything up to ``floor`` is processed.

        Args:
            floor: The number.
            known: Whether that is all that is processed, so that delivery may begin; or at least so
                much, and the publisher has to be asked.

        Returns:
            How many items between ``next`` and ``floor`` this node never saw.
        """
        self.known = self.known or known
        unseen = max(0, floor - self.next + 1)
        if floor > self.done:
            self.done = floor
            self.next = max(self.next, floor + 1)
            self.last = max(self.last, floor)
            while self.ready and self.ready[0].first <= floor:
                batch = self.ready.popleft()
                if batch.last > floor:
                    self.ready.appendleft(batch.between(floor + 1, batch.last))
                else:
                    self.size -= batch.size
            self._drain()
        return unseen

    def forget(self, epoch: int) -> None:
        """Drop everything up to the end of an epoch: it is processed, here or elsewhere."""
        old = [batch.last for batch in self.out_of_order.values() if batch.epoch <= epoch]
        for batch in self.ready:
            if batch.epoch > epoch:
                break
            old.append(batch.last)
        if old:
            self.start(max(old))

    def take(self, limit: int) -> Batch | None:
        """Hand out the next items, at most ``limit``; :meth:`complete` says when they are done."""
        if not self.known or not self.ready:
            return None
        batch = self.ready.popleft()
        if batch.count > limit:
            part = batch.between(batch.first, batch.first + limit - 1)
            self.ready.appendleft(batch.between(part.last + 1, batch.last))
            return part
        self.size -= batch.size
        return batch

    def complete(self, batch: Batch) -> None:
        """The application has processed these items."""
        if batch.last > self.done:
            self.done = batch.last

    def give_up_gap(self) -> int:
        """The writer is gone and nobody can replay: go on behind the gap; return the items lost."""
        if not self.out_of_order:
            lost = max(0, self.last - self.next + 1)
            self.last = self.next - 1
            return lost
        first = min(self.out_of_order)
        lost = first - self.next
        if not self.ready and self.done == self.next - 1:
            self.done = first - 1
        self.next = first
        self._drain()
        return lost

    @property
    def lacks(self) -> bool:
        """Whether a number up to the newest one is missing."""
        return self.next <= self.last

    @property
    def missing(self) -> int:
        """How many numbers up to the newest one are missing."""
        return self.last - self.next + 1 - sum(batch.count for batch in self.out_of_order.values())

    @property
    def backlog(self) -> int:
        """Items that are here and not yet handed out (and numbers given up between them)."""
        ready = self.next - self.ready[0].first if self.ready else 0
        return ready + sum(batch.count for batch in self.out_of_order.values())

    def batches(self) -> list[Batch]:
        """Everything that is here and not processed, in order."""
        return [*self.ready, *(self.out_of_order[first] for first in sorted(self.out_of_order))]
