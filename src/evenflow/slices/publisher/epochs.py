"""Epochs: when they end, when they are announced, and what is said of them.

An epoch ends ``epoch_s`` after its first item, or as soon as somebody waits for it
(:meth:`Epochs.hurry`). Ending seals what has gathered, so no sample spans two epochs, and fixes the
newest numbers. An epoch without items is never ended: epochs count data, not time.

**When an ended epoch is announced.** Once its last sample is written, the nodes that were written
to have :data:`ACK_WAIT_S` to acknowledge; then it is announced in any case. Announcing early costs
at most a replay of what was just on its way; announcing late would hide from the nodes that
something is missing. A node that does not keep up is not waited for.

**What is announced.** An ``EpochClose`` is cumulative: it names every slice with uncommitted items
and its newest number, so a later one makes up for a lost one, and a node that never saw a sample
still learns that it exists. It is repeated while items stay uncommitted, and then every
:data:`HEARTBEAT_S`: a writer that is silent is not there. The last one, when everything is
committed and the publisher leaves, is its goodbye.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import EpochClose

if TYPE_CHECKING:
    from evenflow.model.batch import Int64s
    from evenflow.slices.publisher.sealing import Sealing

ACK_WAIT_S: Final = 0.05
"""How long an epoch that has ended waits for acknowledgements before it is announced."""

HEARTBEAT_S: Final = 1.0
"""How often a writer that has nothing to say says that it is there."""


class Epochs:
    """The epochs of one writer.

    Args:
        topic: The topic.
        writer: The writer.
        slice_count: How many slices there are.
        sealing: Where the items of the current epoch are.
        epoch_s: How long an epoch lasts, from its first item.
    """

    def __init__(
        self, topic: str, writer: int, slice_count: int, sealing: Sealing, epoch_s: float
    ) -> None:
        self.committed = 0
        """Of a served topic: the newest epoch that every consumer has committed, and that is not
        kept any more."""
        self.settled: int | None = None
        """Where that is not the same: the newest epoch that every consumer has committed."""
        self._topic = topic
        self._writer = writer
        self._slice_count = slice_count
        self._sealing = sealing
        self._epoch_s = epoch_s
        self._due: float | None = None
        self._hurried = False
        self._ended: Int64s = np.zeros(slice_count, np.int64)
        """The newest number of every slice when the last epoch ended."""
        self._ended_items = 0
        self._ended_thinned = self._thinned_before = 0
        """Items thinned out up to that end; and those that the writer before has told, below 0:
        those that earlier lives of this writer have left out."""
        self._ends: Int64s | None = None
        """The last number of each slice that counts; None when all do."""
        self._last_epoch: int | None = None
        self._unacknowledged: list[str] | None = None
        """Nodes of an ended epoch that are still waited for; None when no epoch is ending."""
        self._acks_due = 0.0
        self._announced = 0
        self._announced_clean = True
        self._announced_committed = 0
        self._heartbeat: float | None = None
        """When the next close is due that says nothing new; None before the first :meth:`hello`."""

    def restore(self, committed: int, published: int, thinned: int) -> None:
        """Go on behind the epochs of an earlier life, which have ended, announced or not.

        Args:
            committed: The newest epoch that every consumer has committed.
            published: How many items were published up to the newest epoch.
            thinned: How many were left out.
        """
        self.committed = committed
        self._thinned_before = -thinned
        self._ended = self._sealing.retention.newest.copy()
        self._ended_items = published

    @property
    def newest(self) -> int:
        """The newest epoch that has items."""
        return self._sealing.epoch if self._sealing.has_items else self.ended

    @property
    def ended(self) -> int:
        """The newest epoch that has ended."""
        return self._sealing.epoch - 1

    def thinned(self, so_far: int) -> int:
        """Of all that this publisher has left out so far, what is this writer's, in all lives."""
        return so_far - self._thinned_before

    @property
    def ended_thinned(self) -> int:
        """What this writer had left out when the last epoch ended."""
        return self.thinned(self._ended_thinned)

    @property
    def is_ending(self) -> bool:
        """Whether an epoch has ended and waits to be announced."""
        return self._unacknowledged is not None

    # -- ending ------------------------------------------------------------------------------------

    def item_accepted(self, now: float) -> None:
        """The current epoch has an item; the first one starts its time."""
        if self._due is None:
            self._due = now + self._epoch_s

    def hurry(self) -> None:
        """End the current epoch at the next opportunity."""
        self._hurried = True

    def deadline(self) -> float | None:
        """When the epoch is due; None when it has no items, or while another is being announced."""
        if self.is_ending:
            return None
        if self._hurried:
            return -math.inf
        return self._heartbeat if self._due is None else self._due

    def is_due(self, now: float) -> bool:
        """Whether it is time to end the epoch, or to repeat what is uncommitted."""
        if self.is_ending:
            return False
        due = self._heartbeat if self._due is None else self._due
        return self._hurried or (due is not None and due <= now)

    def end_at(self, ends: Int64s, epoch: int | None) -> None:
        """Announce nothing beyond some number of each slice, and beyond an epoch."""
        self._ends, self._last_epoch = ends, epoch

    def renew(self, writer: int, bases: Int64s, committed: int, now: float) -> None:
        """Go on as another writer, whose numbers begin behind the bases.

        Args:
            writer: The writer.
            bases: For each slice the last number of the writer before.
            committed: Of a served topic: the epoch before its first one.
            now: The time.
        """
        self._writer = writer
        self._ends = self._last_epoch = None
        self._ended = np.maximum(self._ended - bases, 0)
        self.committed = committed
        self._thinned_before = self._ended_thinned
        self._announced_clean = False
        self._due = now

    def end(self, published: int, thinned: int = 0) -> None:
        """End the epoch, if it has items; everything that waited must be sealed.

        Args:
            published: How many items were accepted so far.
            thinned: How many were left out.
        """
        self._due = None
        self._hurried = False
        if self._sealing.next_epoch():
            self._ended = self._sealing.retention.newest.copy()
            self._ended_items, self._ended_thinned = published, thinned

    # -- announcing --------------------------------------------------------------------------------

    def hello(self, now: float) -> EpochClose:
        """What a writer says before its first item: it is there."""
        self._heartbeat = now + HEARTBEAT_S
        return EpochClose(
            writer=self._writer,
            topic=self._topic,
            epoch=0,
            slice_count=self._slice_count,
            slices=(),
            last=(),
            closing=False,
        )

    def await_acks(self, nodes: Iterable[str], now: float) -> None:
        """The ended epoch is written: give these nodes time to acknowledge."""
        self._unacknowledged = list(nodes)
        self._acks_due = now + ACK_WAIT_S

    def is_announceable(self, now: float, is_acknowledged: Callable[[str], bool]) -> bool:
        """Whether an ended epoch need not wait any longer.

        Args:
            now: The time.
            is_acknowledged: Whether a node has acknowledged everything, or is not waited for.
        """
        waiting = self._unacknowledged
        if waiting is None:
            return False
        while waiting and is_acknowledged(waiting[-1]):
            waiting.pop()
        return not waiting or now >= self._acks_due

    def close(
        self, now: float, thinned: int = 0, *, closing: bool = False, committed_items: int = 0
    ) -> EpochClose | None:
        """Announce what is uncommitted of the ended epochs; nothing when that would be no news.

        Args:
            now: The time; the next close is due one epoch later, if there will be anything to say.
            thinned: How many items were left out so far: the goodbye tells it, since no epoch will.
            closing: Say goodbye: everything is committed.
            committed_items: Of a served topic: items that every consumer has committed.
        """
        retention = self._sealing.retention
        ended = self._ended if self._ends is None else np.minimum(self._ended, self._ends)
        slices = np.flatnonzero(retention.floors < ended)
        alive = self._heartbeat is not None and now >= self._heartbeat
        news = closing or alive or self._is_news(has_slices=bool(len(slices)))
        self._unacknowledged = None
        self._announced, self._announced_clean = self.ended, not len(slices)
        self._announced_committed = self.committed
        uncommitted = len(slices) if self.settled is None else self.ended > self.settled
        more = uncommitted or self._sealing.has_items
        self._due = now + self._epoch_s if more else None
        if not news:
            return None
        if self._heartbeat is not None:
            self._heartbeat = now + HEARTBEAT_S
        return EpochClose(
            writer=self._writer,
            topic=self._topic,
            epoch=self.ended if self._last_epoch is None else min(self.ended, self._last_epoch),
            slice_count=self._slice_count,
            slices=tuple(slices.tolist()),
            last=tuple(ended[slices].tolist()),
            closing=closing,
            committed=self.committed,
            items=self._ended_items,
            committed_items=committed_items,
            thinned=self.thinned(thinned) if closing else self.ended_thinned,
        )

    def _is_news(self, *, has_slices: bool) -> bool:
        return (
            has_slices
            or not self._announced_clean
            or self.ended > self._announced
            or self.committed > self._announced_committed
        )
