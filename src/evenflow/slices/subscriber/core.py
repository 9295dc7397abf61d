"""What a subscriber makes of the samples that pass: each item at most once, and what is missing.

A subscriber owns no slices and registers nowhere. It is sent what publishers send to the nodes, and
what they send again, and gives out of it

1. *each item at most once*: a number of a writer and slice that was given is not given again;
2. *only what is wanted*: some slices, some senders, or everything;
3. *nothing from before*: of a writer that was there first, the numbers from the first that comes;
   of one that is met at its beginning (its `EpochClose` of epoch 0), all of them. So it is of the
   writer as which a publisher goes on whose stream was cut.

What did not come is counted (:attr:`SubscriberCore.missing`): numbers have no holes, and an
`EpochClose` says how far they go. Items come in the order of their numbers, but for those that a
publisher had to send again or sent to another owner: these come late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import WriterCut
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.subscriber.numbers_seen import NumbersSeen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from evenflow.model.batch import Batch
    from evenflow.model.messages import EpochClose, Ledger
    from evenflow.model.sample import Sample

MOST_GONE: Final = 1_000
"""Writers that are remembered though nobody hears them: they may come back."""
MOST_LEFT: Final = 100
"""Writers that are remembered though they have left: items of them may come late."""


class SubscriberCore:
    """What passes of one topic.

    Args:
        topic: The topic.
        slices: The slices that are wanted; none named: all.
        senders: The senders that are wanted; none named: all.
    """

    def __init__(
        self, topic: str, *, slices: Collection[int] = (), senders: Collection[str] = ()
    ) -> None:
        self.repeated = 0
        """Items that came again and were dropped."""
        self._topic = topic
        self._slices = frozenset(slices)
        self._senders = tuple(sorted(name.encode() for name in senders))
        self._seen: dict[int, dict[int, NumbersSeen]] = {}
        """Of each writer, for each slice."""
        self._from_beginning: set[int] = set()
        self._gone: dict[int, None] = {}
        self._left: dict[int, None] = {}
        self._ledger = LedgerView()
        self._missing_of_ended = 0

    def receive(self, sample: Sample) -> list[Batch]:
        """A sample passes; return what is wanted of it and has not come before."""
        wanted: list[Batch] = []
        for batch in sample.batches():
            if self._slices and batch.slice not in self._slices:
                continue
            new = self._seen_of(batch.writer, batch.slice, batch.first).offer(
                batch.first, batch.last
            )
            self.repeated += batch.count - sum(last + 1 - first for first, last in new)
            for first, last in new:
                wanted += self._of_senders(batch.between(first, last))
        return wanted

    def on_epoch_closed(self, close: EpochClose) -> None:
        """A publisher says how far its numbers go, that it begins, or that it ends."""
        if close.topic != self._topic:
            return
        writer = close.writer
        self._gone.pop(writer, None)
        if close.epoch == 0 and writer not in self._from_beginning:
            self._from_beginning.add(writer)
            for seen in self._seen.setdefault(writer, {}).values():
                seen.begin()  # its first items have overtaken this
        for slice_id, last in zip(close.slices, close.last, strict=True):
            if self._slices and slice_id not in self._slices:
                continue
            if writer in self._from_beginning or slice_id in self._seen.get(writer, {}):
                self._seen_of(writer, slice_id, 1).announce(last)
        if close.closing:
            self._on_left(writer)

    def on_ledger(self, message: Ledger | WriterCut) -> None:
        """The balancer says which writers have ended, and where."""
        if message.topic != self._topic:
            return
        if isinstance(message, WriterCut):
            self._ledger.on_cut(message)
        else:
            self._ledger.on_ledger(message)

    def on_writer_gone(self, writer: int) -> None:
        """A publisher is heard no more; should it come back, its numbers go on."""
        if writer in self._seen and writer not in self._left:
            self._gone[writer] = None
            while len(self._gone) > MOST_GONE:
                self._forget(next(iter(self._gone)))

    def _on_left(self, writer: int) -> None:
        """A publisher has left; what was lost on the way here may be sent again, and come late."""
        if self._ledger.cut(writer) is not None:
            self._forget(writer)
            return
        self._gone.pop(writer, None)
        self._left[writer] = None
        while len(self._left) > MOST_LEFT:
            self._forget(next(iter(self._left)))

    @property
    def missing(self) -> int:
        """Items that were published since this began, are wanted by slice, and have not come."""
        return self._missing_of_ended + sum(map(self._missing_of, self._seen))

    def _missing_of(self, writer: int) -> int:
        """What has not come of a writer; what lies beyond its cut comes as another writer's."""
        cut = self._ledger.cut(writer)
        ends = None if cut is None else dict(zip(cut.slices, cut.upto, strict=True))
        return sum(
            seen.given_up + seen.missing(None if ends is None else ends.get(slice_id, 0))
            for slice_id, seen in self._seen[writer].items()
        )

    def _seen_of(self, writer: int, slice_id: int, first: int) -> NumbersSeen:
        of_writer = self._seen.setdefault(writer, {})
        seen = of_writer.get(slice_id)
        if seen is None:
            begin = 1 if writer in self._from_beginning else first
            seen = of_writer[slice_id] = NumbersSeen(begin)
        return seen

    def _of_senders(self, batch: Batch) -> Iterator[Batch]:
        """The runs of a batch that are of wanted senders."""
        if not self._senders:
            yield batch
            return
        wanted = np.flatnonzero(batch.are_of(self._senders))
        for run in np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1):
            if len(run):
                yield batch.between(batch.first + int(run[0]), batch.first + int(run[-1]))

    def _forget(self, writer: int) -> None:
        self._gone.pop(writer, None)
        self._left.pop(writer, None)
        self._from_beginning.discard(writer)
        if writer in self._seen:
            self._missing_of_ended += self._missing_of(writer)
            del self._seen[writer]
