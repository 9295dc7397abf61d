"""A writer whose stream was cut goes on as another: what becomes of the items that it keeps.

For each slice the *base* is where the old stream ends: the cut, or the floor when more than that is
committed. What lies up to the base stays with the old writer, which replays it until it is
committed (:mod:`~evenflow.slices.publisher.keeping.former_writers`). What lies beyond is numbered
anew from 1, in the same order and in the same epochs, under the new writer's id. Nobody was given
anything of it.

That nobody was given anything of it is true of all nodes that were asked. In a domain that is cut
in pieces a balancer asks those of its own piece. The owners in the publisher's piece were not
asked, may have processed items beyond the cut, and go on until they hear of it. So a publisher that
hears of its cut leaves them time to commit those before it goes on (:func:`patience_of`): what is
committed is below the base, wherever the cut lies.

An outbox holds one writer. So a publisher that has one stays who it is until everything up to the
base is committed; what is beyond waits, in the outbox. Then one write puts it under the new id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenflow.errors.words import are, counted
from evenflow.model.batch import Rows
from evenflow.model.encoding import encode_joined
from evenflow.model.ids import WriterId
from evenflow.model.messages import CutStage
from evenflow.model.sample import Sample
from evenflow.slices.publisher.retention import Retained, Retention

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import NodeConfig, TopicConfig
    from evenflow.model.batch import Int64s
    from evenflow.model.messages import WriterCut
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.publisher.epochs import Epochs
    from evenflow.slices.publisher.exchange import Exchange, Reaction
    from evenflow.slices.publisher.fencing import Fencing

ON_THE_WAY_S: Final = 0.2
"""What the word of a cut takes to all nodes, and a commit to the publisher."""
STORED_S: Final = 1.0
"""What it takes to store states and to read that they count."""


def patience_of(topic: TopicConfig, node: NodeConfig) -> float:
    """Seconds within which nodes have committed what they had processed when a cut was told."""
    if topic.served:
        return 0.0  # consumers commit, and every one of them was asked
    waiting = ON_THE_WAY_S + 3 * node.commit_ms / 1_000
    if topic.keeps_state:  # a round may be under way, without these items
        waiting += STORED_S + 2 * node.snapshot_ms / 1_000
    return waiting


def refusal(writer: int, uncommitted: int, *, in_outbox: bool) -> str:
    """Why a publisher cannot go on that returns too late."""
    then = "The outbox keeps them; give another folder" if in_outbox else "Start another publisher"
    return (
        f"writer {WriterId.text(writer)} was silent for so long that it was ended, and where is not"
        f" known any more; {counted(uncommitted, 'item')} {are(uncommitted)} not committed. {then},"
        " and publish again what must not be lost"
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
        before = part_of(sample, sample.firsts, np.minimum(sample.lasts, base))
        if before is not None:
            old.keep(before)
        after = part_of(
            sample, np.maximum(sample.firsts, base + 1), sample.lasts, writer, serial + 1, base
        )
        if after is not None:
            serial += 1
            new.keep(after)
    old.newest[:] = np.maximum(old.newest, bases)
    old.items = int((old.newest - old.floors).sum())
    return old, new


def part_of(
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
    all_of_it = len(chosen) == len(firsts) and (firsts == sample.firsts).all()
    if base is None and all_of_it and (lasts == sample.lasts).all():
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
        patience: How long commits from beyond a cut are waited for.
    """

    def __init__(
        self,
        ledger: LedgerView,
        new_writer: Callable[[], int] | None,
        *,
        served: bool,
        patience: float = 0.0,
    ) -> None:
        self._ledger, self._new_writer, self._served = ledger, new_writer, served
        self._patience = patience
        self._heard: tuple[int, float] | None = None
        """The writer whose cut was heard of last, and when."""
        self.has_waited = False
        """Whether commits from beyond its cut are waited for no more."""

    @property
    def due(self) -> float | None:
        """Until when commits are waited for; None when they are not."""
        return None if self._heard is None or self.has_waited else self._heard[1] + self._patience

    def look(self, writer: int, now: float) -> bool:
        """The cut of a writer is known; whether its publisher has waited long enough."""
        if self._heard is None or self._heard[0] != writer:
            self._heard = (writer, now)
        self.has_waited = now >= self._heard[1] + self._patience
        return self.has_waited

    def is_complete(self, writer: int) -> bool:
        """Whether it has ended, and every node knows where."""
        stage = self._ledger.stage(writer)
        return stage is not None and stage >= CutStage.COMPLETE

    def is_unknown(self, writer: int) -> bool:
        """Whether it has ended, and its publisher cannot go on."""
        return self._new_writer is None or self._ledger.stage(writer) is CutStage.FORGOTTEN

    def cut(self, writer: int) -> WriterCut | None:
        """Where it has ended; None while not every node knows it, or the numbers are not here."""
        return self._ledger.cut(writer)

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
        if self.cut(exchange.writer) is None or not self.has_waited:
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
