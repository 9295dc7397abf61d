"""The writers that a publisher was before: each keeps what is before its end until it is committed.

Then it says goodbye, a few times, and is no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import EpochClose
from evenflow.slices.publisher.exchange import Committed

if TYPE_CHECKING:
    from evenflow.slices.consumer.registry import Consumers
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.publisher.exchange import Counts, Exchange, Reaction

GOODBYES: Final = 5
"""How often a former writer says goodbye."""
CLOSE_EVERY: Final = 0.5


class Former:
    """A writer that has ended and keeps what is before its end until that is committed."""

    def __init__(self, topic: str, exchange: Exchange, epoch: int, now: float) -> None:
        self.exchange = exchange
        self.epoch = epoch
        """The newest epoch of which something may be kept."""
        self.committed = 0
        """Of a served topic: the newest epoch that every consumer has committed."""
        self._topic = topic
        self._next_close = now
        self._goodbyes = 0

    @property
    def is_over(self) -> bool:
        """Whether it has nothing left to say."""
        return self._goodbyes >= GOODBYES

    @property
    def due(self) -> float:
        """When :meth:`close` has something to say."""
        return self._next_close

    def close(self, now: float) -> EpochClose | None:
        """What it keeps; at last goodbye. None when nothing is due."""
        if now < self._next_close:
            return None
        self._next_close = now + CLOSE_EVERY
        retention = self.exchange.retention
        slices = np.flatnonzero(retention.floors < retention.newest)
        if not len(slices):
            self._goodbyes += 1
        return EpochClose(
            writer=self.exchange.writer,
            topic=self._topic,
            epoch=self.epoch,
            slice_count=len(retention.floors),
            slices=tuple(slices.tolist()),
            last=tuple(retention.newest[slices].tolist()),
            closing=not len(slices),
            committed=self.committed,
        )


class Formers(dict[int, Former]):
    """All former writers of a publisher, by their ids."""

    def closes(self, now: float) -> list[EpochClose]:
        """What they have to say."""
        found = [former.close(now) for former in self.values()]
        for writer in [writer for writer, former in self.items() if former.is_over]:
            del self[writer]
        return [close for close in found if close is not None]

    def commit_epochs(self, consumers: Consumers, consumer: str, now: float) -> list[Reaction]:
        """Forget what all registered consumers have committed."""
        reactions: list[Reaction] = []
        for writer, former in self.items():
            epoch = min(consumers.floor(writer), former.epoch)
            if epoch > former.committed:
                former.committed = epoch
                reactions += former.exchange.commit_epoch(epoch, consumer, now)
        return reactions

    def forget_cleared(self, ledger: LedgerView, counts: Counts) -> list[Reaction]:
        """Forget all of those of which everybody has everything."""
        reactions: list[Reaction] = []
        for writer, former in self.items():
            retention = former.exchange.retention
            if ledger.is_over(writer) and retention.items:
                slices = retention.dirty()
                newly = retention.commit(slices, retention.newest[slices])
                counts.committed += newly.items
                reactions.append(Committed(newly, ""))
        return reactions
