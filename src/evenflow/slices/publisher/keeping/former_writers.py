"""What a publisher was before its stream was cut: writers that have ended, with what they keep.

Each replays what lies before its end until that is committed, and then says goodbye.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import EpochClose
from evenflow.slices.publisher.keeping.forgetting import LetGo

if TYPE_CHECKING:
    from evenflow.slices.consumer.registry.consumers import Consumers
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.publisher.exchange import Exchange, Reaction

GOODBYES: Final = 5
"""How often a former writer says goodbye."""
CLOSE_EVERY: Final = 0.5


class FormerWriter:
    """A writer that has ended and keeps what is before its end until that is committed.

    One that leaves quietly says no goodbye, and of what is committed only what was let go before
    its stream was cut: the rest is the nodes', who keep it.

    Args:
        topic: The topic.
        exchange: The writer, with what it keeps.
        epoch: The newest epoch of which something may be kept.
        items: Items that were published up to the end of that epoch.
        let_go: What it has named as committed before; epochs up to there need never have been.
        now: The time.
        leaves_quietly: Whether nodes keep what is committed.
    """

    def __init__(
        self,
        topic: str,
        exchange: Exchange,
        epoch: int,
        items: int,
        let_go: LetGo,
        now: float,
        *,
        leaves_quietly: bool,
    ) -> None:
        self.exchange = exchange
        self.epoch = epoch
        self.committed = let_go.epoch
        """Of a served topic: the newest epoch that every consumer has committed."""
        self._items, self._let_go = items, let_go
        self._topic, self._leaves_quietly = topic, leaves_quietly
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
            self._goodbyes += GOODBYES if self._leaves_quietly else 1
            if self._leaves_quietly:
                return None
        said = self._let_go
        if not self._leaves_quietly and self.committed > said.epoch:
            said = LetGo(self.committed, self._items - retention.items)
        return EpochClose(
            writer=self.exchange.writer,
            topic=self._topic,
            epoch=self.epoch,
            slice_count=len(retention.floors),
            slices=tuple(slices.tolist()),
            last=tuple(retention.newest[slices].tolist()),
            closing=not len(slices),
            committed=said.epoch,
            items=self._items,
            committed_items=said.items,
        )


class FormerWriters(dict[int, FormerWriter]):
    """All former writers of a publisher, by their ids."""

    @property
    def uncommitted(self) -> int:
        """Items that they keep."""
        return sum(former.exchange.retention.items for former in self.values())

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

    def forget_cleared(self, ledger: LedgerView, now: float) -> list[Reaction]:
        """Forget all of those of which everybody has everything."""
        reactions: list[Reaction] = []
        for writer, former in self.items():
            if ledger.is_over(writer):
                exchange = former.exchange
                reactions += exchange.commit_upto(exchange.retention.newest, now)
        return reactions
