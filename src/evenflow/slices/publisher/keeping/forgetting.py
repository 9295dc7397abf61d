"""When a publisher of a served topic forgets: all consumers have committed, and nothing keeps it.

The publisher is the one judge of that. What it says in ``EpochClose.committed`` nodes forget. Of a
topic that keeps a history (:mod:`~evenflow.slices.publisher.keeping.history`) that comes later than
the commits of the consumers.

A publisher that leaves when everything is committed says goodbye, and everybody forgets it. One
that has a history leaves without: its stream is cut like that of any writer that is not heard, the
nodes keep what they have of it, and the balancer decides when that is let go. So does one whose
stream was cut and who goes on as another writer; what it kept itself up to there it lets go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenflow.model.messages import ConsumerCommit, Progress
from evenflow.slices.publisher.keeping.history import History

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.config.spans import Keep
    from evenflow.slices.consumer.registry.consumers import Consumers
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.publisher.epochs import Epochs
    from evenflow.slices.publisher.exchange import Counts, Exchange, Reaction
    from evenflow.slices.publisher.keeping.former_writers import FormerWriters
    from evenflow.slices.publisher.sealing import Sealing


class LetGo(NamedTuple):
    """What a writer of a served topic has named as committed."""

    epoch: int
    items: int
    """Items that were published up to the end of that epoch."""


class Forgetting:
    """What one publisher forgets.

    Args:
        epochs: Its epochs.
        sealing: What it keeps.
        counts: What has happened.
        consumers: The consumers of a served topic; None of an application's.
        ledger: Names those that are registered.
        former_writers: Writers that this publisher was before.
        keep: How much is kept beyond what is committed; None for nothing.
    """

    def __init__(
        self,
        epochs: Epochs,
        sealing: Sealing,
        counts: Counts,
        consumers: Consumers | None,
        ledger: LedgerView,
        former_writers: FormerWriters,
        keep: Keep | None,
    ) -> None:
        self.history = None if keep is None else History(keep)
        self.is_over = False
        """Whether the history is the nodes' and the balancer's alone from now on."""
        self._forgotten_before = 0
        """Items that were forgotten when the history was over."""
        self._needed: int | None = None
        """The epoch behind which a registered consumer needs everything; None: there is none."""
        self._epochs, self._sealing, self._counts = epochs, sealing, counts
        self._consumers, self._ledger, self._former_writers = consumers, ledger, former_writers
        if self.history is not None:
            epochs.settled = 0

    @property
    def keeps(self) -> bool:
        """Whether there may be a history."""
        return self.history is not None

    @property
    def forgotten_items(self) -> int:
        """Items that are committed and not kept; of a history that is over, those before it."""
        if self.is_over:
            return self._forgotten_before
        return self._counts.committed - self._sealing.retention.settled_items

    def let_go(self, end: int) -> LetGo:
        """What was named as committed, up to an epoch."""
        return LetGo(min(self._epochs.committed, end), self.forgotten_items)

    def hear(
        self, message: ConsumerCommit | Progress, exchange: Exchange, now: float
    ) -> list[Reaction]:
        """A consumer has committed, or a node tells of consumers."""
        consumers = self._consumers
        if consumers is None:
            return []
        if isinstance(message, Progress):
            consumers.learn(message.consumers)
            self._look_at_consumers(exchange, consumers)
            return []
        consumers.commit(message)
        return self._on_committed(exchange, consumers, message.consumer, now)

    def on_listed(self, names: Iterable[str], exchange: Exchange, now: float) -> list[Reaction]:
        """The ledger names the registered consumers."""
        if self._consumers is None:
            return []
        self._consumers.on_ledger(names)
        return self._on_committed(exchange, self._consumers, "", now)

    def _on_committed(
        self, exchange: Exchange, consumers: Consumers, consumer: str, now: float
    ) -> list[Reaction]:
        """Forget what all registered consumers have committed, once it is known who they are."""
        self._look_at_consumers(exchange, consumers)
        if not self._ledger.version:
            return []
        reactions = self._former_writers.commit_epochs(consumers, consumer, now)
        epoch = consumers.floor(exchange.writer)
        if epoch > self._epochs.ended:
            self._counts.impossible += 1
            return reactions
        return reactions + self._forget(exchange, epoch, consumer, now)

    def _look_at_consumers(self, exchange: Exchange, consumers: Consumers) -> None:
        """A consumer that has come since needs what was only history before."""
        if self.history is not None:
            self._needed = consumers.floor(exchange.writer) if consumers.names() else None

    def _forget(self, exchange: Exchange, epoch: int, consumer: str, now: float) -> list[Reaction]:
        """Forget everything up to the end of an epoch, or keep it as history."""
        epochs, history = self._epochs, self.history
        before = max(epochs.committed, history.settled if history is not None else 0)
        if epoch <= before:
            return []
        if history is not None:
            history.settled = epoch
        if history is None or self.is_over:
            if not self.is_over:
                epochs.committed = epoch
            return exchange.commit_epoch(epoch, consumer, now)
        epochs.settled = epoch
        return exchange.settle_epoch(before, epoch, consumer, now)

    def look(self, now: float) -> bool:
        """Let go of history that is too old, or too much; return whether there was any."""
        history = self.history
        if history is None or self.is_over or not history.is_look_due(now):
            return False
        history.note_end(self._epochs.ended, now)
        sealing = self._sealing
        return self._let_go(history.too_old(sealing.retention, sealing.capacity, now))

    def make_room(self, size: int) -> bool:
        """Let go of history until so many bytes have room; return whether they have."""
        sealing = self._sealing
        lacking = sealing.kept + size - sealing.room
        if self.history is not None and not sealing.has_journal:
            self._let_go(self.history.oldest(sealing.retention, lacking))
        return sealing.kept + size <= sealing.room

    def on_room_wanted(self, now: float) -> None:
        """A node has no room left: the older half goes."""
        if self.history is not None and not self.is_over:
            self._let_go(self.history.older_half(self._sealing.retention, now))

    def end_history(self) -> None:
        """The stream is cut, or this publisher leaves: what nodes have of it they keep."""
        if self.history is not None and not self.is_over:
            self._forgotten_before, self.is_over = self.forgotten_items, True
            self._epochs.settled = None
            self._sealing.retention.let_go(max(self.history.settled, self._epochs.committed))

    def begin_anew(self, epoch: int) -> None:
        """Another writer goes on behind an epoch."""
        if self.history is not None:
            self.is_over = False
            self.history.begin_anew(epoch)
            self._epochs.settled = self._needed = epoch

    def _let_go(self, epoch: int) -> bool:
        if self._needed is not None:
            epoch = min(epoch, self._needed)
        if epoch <= self._epochs.committed:
            return False
        self._epochs.committed = epoch
        return self._sealing.retention.let_go(epoch)
