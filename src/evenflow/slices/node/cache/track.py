"""A track: what one node knows of one writer's items in one slice.

Items of a writer and slice are numbered from 1. Three numbers say all there is to say about them::

            done            next                last
    ----------|---------------|-------------------|------> number
    processed      ready      lacking / out of order

* up to ``done`` the application has processed them;
* before ``next`` everything is here (``ready``, in order, nothing missing);
* behind ``next`` there may be batches that arrived too early (``out_of_order``), with gaps between
  them.

A batch that comes again, by a replay or in a giver's cache, is recognised by its numbers alone,
however it was cut. Whether ``done`` may be trusted is ``known``: after a takeover only the
publisher can say how far the dead owner committed, so nothing is delivered until its answer sets
the floor.
"""

from __future__ import annotations

from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from evenflow.model.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.model.sample import Sample
    from evenflow.slices.node.cache.kept_samples import KeptSamples

# A node has a track for each of its slices and each writer, and most of them keep nothing at most
# times. They share what says so; it cannot be added to, so that a mistake is an error.
_NONE_READY: Final = cast("deque[Batch]", ())
_NONE_EARLY: Final = cast("dict[int, Batch]", MappingProxyType({}))


class Track:
    """One writer's items in one slice, at the node that holds the slice.

    Args:
        kept: Counts what the tracks of the node keep.
    """

    __slots__ = ("_kept", "done", "fresh", "known", "last", "next", "out_of_order", "ready",
                 "saved")  # fmt: skip

    def __init__(self, kept: KeptSamples) -> None:
        self._kept = kept
        self.done = 0
        self.saved = 0
        """Up to where they are in a snapshot that counts, of a topic that has such."""
        self.next = 1
        self.last = 0
        """Newest number that the publisher has announced or sent."""
        self.known = False
        """Whether ``done`` is certain; nothing is delivered before."""
        self.fresh = False
        """Whether the writer sent its first item here, to the owner: nobody had it before."""
        self.ready = _NONE_READY
        self.out_of_order = _NONE_EARLY

    def needs(self, batch: Batch) -> bool:
        """Whether a batch brings something that is not here."""
        return batch.last >= self.next and batch.first not in self.out_of_order

    def offer(self, batch: Batch) -> int:
        """Take a batch in; return how many of its items were here already."""
        first, count = batch.first, batch.count
        last = first + count - 1
        if last < self.next:
            return count
        repeated = 0
        if first > self.next:
            if first in self.out_of_order:
                return count
            if self.out_of_order is _NONE_EARLY:
                self.out_of_order = {}
            self.out_of_order[first] = batch
            self._kept.keep(batch.sample, count)
        else:
            if first < self.next:
                repeated = self.next - first
                batch = batch.between(self.next, last)
            self._append(batch)
            self._kept.keep(batch.sample, batch.count)
            self.next = last + 1
            if self.out_of_order:
                self._drain()
        if last > self.last:
            self.last = last
        return repeated

    def _drain(self) -> None:
        """Move held batches that have become consecutive to ``ready``."""
        for first in sorted(self.out_of_order):
            if first > self.next:
                break
            batch = self._above(self.next - 1, self.out_of_order.pop(first))
            if batch is not None:
                self._append(batch)
                self.next = batch.last + 1
        if not self.out_of_order:
            self.out_of_order = _NONE_EARLY

    def _append(self, batch: Batch) -> None:
        if self.ready:
            self.ready.append(batch)
        else:
            self.ready = deque((batch,))

    def _above(self, floor: int, batch: Batch) -> Batch | None:
        """What is left of a kept batch when everything up to ``floor`` is not needed."""
        last = batch.last
        if last <= floor:
            self._kept.release(batch.sample, batch.count)
            return None
        if batch.first <= floor:
            self._kept.release(batch.sample, floor + 1 - batch.first)
        return batch.between(floor + 1, last)

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
                rest = self._above(floor, self.ready.popleft())
                if rest is not None:
                    self.ready.appendleft(rest)
            if not self.ready:
                self.ready = _NONE_READY
            self._drain()
        return unseen

    def correct(self, last: int) -> None:
        """The writer says what its newest number is: what others announced beyond it is not so.

        What has been here is; and a newer number than in a late answer is announced again soon.
        """
        early = max((batch.last for batch in self.out_of_order.values()), default=0)
        self.last = max(last, self.next - 1, early)

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
            batch = part
        elif not self.ready:
            self.ready = _NONE_READY
        self._kept.release(batch.sample, batch.count)
        return batch

    def complete(self, batch: Batch) -> None:
        """The application has processed these items."""
        if batch.last > self.done:
            self.done = batch.last

    def give_back(self, batch: Batch) -> None:
        """Items that were handed out are not done: they come first again, as far as they count."""
        first, last = max(batch.first, self.done + 1), min(batch.last, self.next - 1)
        if first > last:
            return
        batch = batch.between(first, last)
        self._kept.keep(batch.sample, batch.count)
        if self.ready:
            self.ready.appendleft(batch)
        else:
            self.ready = deque((batch,))

    def end_at(self, number: int) -> None:
        """The writer's stream ends with this number: drop what lies beyond."""
        self._drop(lambda batch: batch.last > number)
        if self.next > number + 1:
            self.next = max(self.done, number) + 1
        self.last = max(number, self.done)
        if self.done >= number:
            self.known = True

    def end_epoch(self, epoch: int) -> None:
        """The writer's stream ends with this epoch: drop what lies beyond."""
        beyond = [batch.first for batch in self.ready if batch.epoch > epoch]
        self._drop(lambda batch: batch.epoch > epoch)
        if beyond:
            self.next = min(beyond)
        early = (batch.last for batch in self.out_of_order.values())
        self.last = max(self.next - 1, *early) if self.out_of_order else self.next - 1

    def _drop(self, unwanted: Callable[[Batch], bool]) -> None:
        """Keep some batches no longer; one that an end lies in is processed up to there."""
        for batch in [one for one in self.batches() if unwanted(one)]:
            self._kept.release(batch.sample, batch.count)
        ready = deque(one for one in self.ready if not unwanted(one))
        early = {first: one for first, one in self.out_of_order.items() if not unwanted(one)}
        self.ready = ready or _NONE_READY
        self.out_of_order = early or _NONE_EARLY

    @property
    def gap_end(self) -> int:
        """The last number to ask for; 0 for all there are.

        Behind the first gap there may be others. What lies between them is here and would be sent
        again: it is asked along as long as more is missing than that.
        """
        if not self.out_of_order or not self.known or self.last > self._newest_here:
            return 0
        end, expected, missing, here = 0, self.next, 0, 0
        for first in sorted(self.out_of_order):
            batch = self.out_of_order[first]
            if first > expected:
                missing += first - expected
                if here <= missing:
                    end = first - 1
            here += batch.count
            expected = max(expected, batch.last + 1)
        return end

    @property
    def _newest_here(self) -> int:
        return max((batch.last for batch in self.out_of_order.values()), default=self.next - 1)

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
        """Items that are here and not yet handed out."""
        ready = self.next - self.ready[0].first if self.ready else 0
        return ready + sum(batch.count for batch in self.out_of_order.values())

    def batches(self) -> list[Batch]:
        """Everything that is here and not processed, in order."""
        return [*self.ready, *(self.out_of_order[first] for first in sorted(self.out_of_order))]

    def clear(self) -> None:
        """Keep nothing any more."""
        for kept in (self.ready, self.out_of_order.values()):
            for batch in kept:
                self._kept.release(batch.sample, batch.count)
        self.ready, self.out_of_order = _NONE_READY, _NONE_EARLY

    def move(self, copies: Mapping[Sample, Mapping[int, Batch]]) -> None:
        """Refer to copies of samples instead, each given by the batch of every slice in it."""
        if self.ready:
            self.ready = deque(self._moved(batch, copies) for batch in self.ready)
        for first, batch in self.out_of_order.items():
            self.out_of_order[first] = self._moved(batch, copies)

    def _moved(self, batch: Batch, copies: Mapping[Sample, Mapping[int, Batch]]) -> Batch:
        copy = copies.get(batch.sample)
        if copy is None:
            return batch
        moved = copy[batch.slice].between(batch.first, batch.last)
        self._kept.keep(moved.sample, moved.count)
        self._kept.release(batch.sample, batch.count)
        return moved
