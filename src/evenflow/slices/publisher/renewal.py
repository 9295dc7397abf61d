"""A writer whose stream was cut goes on as another: what becomes of the items that it keeps.

For each slice the *base* is where the old stream ends: the cut, or the floor when more than that is
committed. What lies up to the base stays with the old writer, a
:class:`Former`, which replays it until it is committed and then says goodbye. What lies beyond is
numbered anew from 1, in the same order and in the same epochs, under the new writer's id. Nobody
was given anything of it.

An outbox holds one writer. So a publisher that has one stays who it is until everything up to the
base is committed; what is beyond waits, in the outbox. Then one write puts it under the new id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenflow.model.batch import Rows
from evenflow.model.encoding import encode_joined
from evenflow.model.ids import WriterId
from evenflow.model.messages import CutStage, EpochClose
from evenflow.model.sample import Sample
from evenflow.slices.publisher.exchange import Committed
from evenflow.slices.publisher.retention import Retained, Retention

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.model.batch import Int64s
    from evenflow.model.messages import WriterCut
    from evenflow.slices.consumer.registry import Consumers
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.publisher.epochs import Epochs
    from evenflow.slices.publisher.exchange import Counts, Exchange, Reaction
    from evenflow.slices.publisher.fencing import Fencing

GOODBYES: Final = 5
"""How often a former writer says goodbye."""
CLOSE_EVERY: Final = 0.5


def refusal(writer: int, uncommitted: int, *, in_outbox: bool) -> str:
    """Why a publisher cannot go on that returns too late."""
    then = "The outbox keeps them; give another folder" if in_outbox else "Start another publisher"
    return (
        f"writer {WriterId.text(writer)} was silent for so long that it was ended, and where is not"
        f" known any more; {uncommitted} items are not committed. {then}, and publish again what"
        " must not be lost"
    )


def bases_of(cut: WriterCut, retention: Retention, *, served: bool) -> Int64s:
    """The number of each slice up to which the old stream counts."""
    bases = retention.floors.copy()
    if served:
        for sample in retention.samples():
            if sample.epoch <= cut.epoch:
                bases[sample.slices] = np.maximum(bases[sample.slices], sample.lasts)
        return bases
    slices = np.array(cut.slices, np.int64)
    upto = np.minimum(np.array(cut.upto, np.int64), retention.newest[slices])
    bases[slices] = np.maximum(bases[slices], upto)
    return bases


def split(
    retention: Retention, bases: Int64s, writer: int, serial: int
) -> tuple[Retention, Retention]:
    """Part what is kept: up to the bases as it is, beyond them under another writer's id.

    Args:
        retention: What is kept.
        bases: The last number of each slice that the old writer keeps.
        writer: The new writer.
        serial: The serial number of the newest sample.

    Returns:
        The old and the new retention.
    """
    old, new = Retention(len(bases)), Retention(len(bases))
    old.floors[:] = np.minimum(retention.floors, bases)
    old.newest[:] = old.floors
    for sample in retention.samples():
        base = bases[sample.slices]
        before = _part(sample, sample.firsts, np.minimum(sample.lasts, base))
        if before is not None:
            old.keep(before)
        after = _part(
            sample, np.maximum(sample.firsts, base + 1), sample.lasts, writer, serial + 1, base
        )
        if after is not None:
            serial += 1
            new.keep(after)
    old.newest[:] = np.maximum(old.newest, bases)
    old.items = int((old.newest - old.floors).sum())
    return old, new


def _part(
    sample: Retained,
    firsts: Int64s,
    lasts: Int64s,
    writer: int = 0,
    serial: int = 0,
    base: Int64s | None = None,
) -> Retained | None:
    """The runs of a sample cut to some numbers; under another writer, numbered behind a base."""
    chosen = np.flatnonzero(firsts <= lasts)
    if not len(chosen):
        return None
    if base is None and len(chosen) == len(firsts) and (lasts == sample.lasts).all():
        return sample
    whole = Sample(sample.encoded)
    begins = np.cumsum(whole.counts, dtype=np.int64) - whole.counts
    begins = begins[chosen] + (firsts - sample.firsts)[chosen]
    counts = (lasts - firsts + 1)[chosen]
    numbers = firsts[chosen] if base is None else (firsts - base)[chosen]
    rows = [Rows(whole, int(b), int(n)) for b, n in zip(begins, counts, strict=True)]
    encoded = encode_joined(
        writer or whole.writer, serial or whole.serial, whole.epoch, whole.slices[chosen], numbers,
        rows,
    )  # fmt: skip
    return Retained.of(Sample(encoded))


class Renewal(NamedTuple):
    """What a writer becomes behind its cut."""

    writer: int
    """The new writer."""
    epoch: int
    """Of a served topic: the epoch before its first one; else 0."""
    bases: Int64s
    old: Retention
    new: Retention
    fencing: Fencing
    """The terms that the new writer goes by."""


class Ending:
    """What the ledger says of a publisher's own writer.

    Args:
        ledger: The ledger.
        new_writer: Names another writer; without it the publisher stops at a cut.
        served: Consumers read the topic.
    """

    def __init__(
        self, ledger: LedgerView, new_writer: Callable[[], int] | None, *, served: bool
    ) -> None:
        self._ledger, self._new_writer, self._served = ledger, new_writer, served

    def is_complete(self, writer: int) -> bool:
        """Whether it has ended, and every node knows where."""
        stage = self._ledger.stage(writer)
        return stage is not None and stage >= CutStage.COMPLETE

    def is_unknown(self, writer: int) -> bool:
        """Whether it has ended, and its publisher cannot go on."""
        return self._new_writer is None or self._ledger.stage(writer) is CutStage.FORGOTTEN

    def cut(self, writer: int) -> WriterCut | None:
        """Where it has ended; None while it has not, or the numbers are not here."""
        return self._ledger.cut(writer) if self.is_complete(writer) else None

    def bases(self, exchange: Exchange) -> Int64s:
        """The number of each slice up to which its stream counts."""
        cut = self.cut(exchange.writer)
        if cut is None:
            return exchange.retention.floors
        return bases_of(cut, exchange.retention, served=self._served)

    def hold(self, exchange: Exchange, epochs: Epochs, now: float) -> list[Reaction]:
        """Say nothing of what lies beyond the cut, and stay until all up to it is committed."""
        cut, bases = self.cut(exchange.writer), self.bases(exchange)
        if cut is None:
            return []
        if exchange.ends is None:
            exchange.ends = bases
            epochs.end_at(bases, cut.epoch if self._served else None)
        return exchange.commit_upto(bases, now) if self._ledger.is_over(exchange.writer) else []

    def is_reached(self, exchange: Exchange) -> bool:
        """Whether it was cut, and everything up to there is committed."""
        if self.cut(exchange.writer) is None:
            return False
        return bool((exchange.retention.floors >= self.bases(exchange)).all())

    def plan(self, exchange: Exchange, serial: int) -> Renewal:
        """What it becomes; nothing changes by that but that newer terms count.

        Args:
            exchange: The writer.
            serial: The serial number of its newest sample.
        """
        cut, bases = self.cut(exchange.writer), self.bases(exchange)
        assert cut is not None
        assert self._new_writer is not None
        exchange.fencing.admit(cut.slices[: len(cut.owner_terms)], cut.owner_terms)
        writer, epoch = self._new_writer(), cut.epoch if self._served else 0
        old, new = split(exchange.retention, bases, writer, serial)
        return Renewal(writer, epoch, bases, old, new, exchange.fencing.copy())


class Former:
    """A writer that has ended and keeps what is before its end until that is committed.

    One that leaves quietly says no goodbye, and not what is committed: nodes keep it.
    """

    def __init__(
        self, topic: str, exchange: Exchange, epoch: int, now: float, *, leaves_quietly: bool
    ) -> None:
        self.exchange = exchange
        self.epoch = epoch
        """The newest epoch of which something may be kept."""
        self.committed = 0
        """Of a served topic: the newest epoch that every consumer has committed."""
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
        return EpochClose(
            writer=self.exchange.writer,
            topic=self._topic,
            epoch=self.epoch,
            slice_count=len(retention.floors),
            slices=tuple(slices.tolist()),
            last=tuple(retention.newest[slices].tolist()),
            closing=not len(slices),
            committed=0 if self._leaves_quietly else self.committed,
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
