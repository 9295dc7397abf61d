"""The way out of sealed samples: straight to the owners of their slices, or by way of the outbox.

With an outbox nothing is said before it is on disk: no sample is sent, no epoch announced whose
samples are not written, or how many items were left out of it, no replay answered under a term that
is not noted, and a writer says goodbye only when its outbox has nothing left. What lies beyond a
cut is on disk under the new writer's id before that one says a word.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from evenflow.errors import StorageError
from evenflow.errors.words import counted
from evenflow.slices.consumer.registry.declared import expected_consumers
from evenflow.slices.outbox.outbox import Outbox
from evenflow.slices.outbox.state import Identity, Progress, State
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.renewal import patience_of
from evenflow.slices.publisher.retention import Retained
from evenflow.slices.spill import open_spill

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from threading import Condition, Lock

    from evenflow.clock import Clock
    from evenflow.config import Config, TopicConfig
    from evenflow.slices.publisher.core import Reaction
    from evenflow.slices.publisher.gathering import AssignColumns
    from evenflow.slices.publisher.renewal import Renewal
    from evenflow.slices.publisher.sealing import Limits, SealedSample
    from evenflow.slices.publisher.sending.owner_writer import OwnerWriters
    from evenflow.slices.publisher.units import Unit

ANSWER_S: Final = 1.0
"""How long the answer to a replay request waits for the disk; the node asks again."""


def new_writer() -> int:
    """An id that no writer has, and that is not 0."""
    return secrets.randbits(63) + 1


def open_outbox(folder: str | PathLike[str], config: Config, topic: str) -> Outbox:
    """The outbox of a publisher, within the bounds of its configuration."""
    identity = Identity(topic, config.topic(topic).slices, config.domain.id)
    settings = config.publisher
    return Outbox(folder, identity, limit=settings.outbox_bytes, memory=settings.retention_bytes)


def begin_core(
    config: Config, topic: TopicConfig, limits: Limits, assign: AssignColumns, outbox: Outbox | None
) -> PublisherCore:
    """The rules of a publisher: of a new writer, or of the one that its outbox belongs to."""
    settings = config.publisher
    core = PublisherCore(
        topic.name,
        new_writer() if outbox is None else outbox.state.writer,
        topic.slices,
        limits,
        new_writer=new_writer,
        patience=patience_of(topic, config.node),
        served=topic.served,
        keep=topic.kept,
        assign=assign,
        spill=open_spill("publisher", settings.spill_dir, settings.spill_bytes),
        journal=None if outbox is None else outbox.journal,
    )
    if outbox is not None:
        restore(core, outbox)
    if core.consumers is not None:
        core.consumers.learn(expected_consumers(topic))
    return core


def restore(core: PublisherCore, outbox: Outbox) -> int:
    """Go on as the writer of an outbox; return how many of its items are uncommitted."""
    state = outbox.state
    retention, sealing = core.retention, core.sealing
    retention.restore(state.floors, state.newest, map(Retained.of, outbox.samples))
    sealing.serial, sealing.epoch = state.serial, state.epoch + 1
    core.fencing.restore(state.terms)
    core.counts.committed = core.committed_before = state.committed_items
    core.counts.published = state.committed_items + retention.items
    core.epochs.restore(state.committed_epoch, core.counts.published, state.thinned)
    return retention.items


class Outlet:
    """Where a publisher's shell puts sealed samples.

    Args:
        core: The publisher.
        writers: The way to the owners.
        outbox: None for a publisher that has none.
        clock: The time.
    """

    def __init__(
        self, core: PublisherCore, writers: OwnerWriters, outbox: Outbox | None, clock: Clock
    ) -> None:
        self._core = core
        self._writers = writers
        self._outbox = outbox
        self._clock = clock
        self._ended = 0
        """The newest sample of the epoch that is ending."""
        if outbox is not None:
            writers.recall(core.retention.serials())

    def start(
        self,
        changed: Condition,
        lock: Lock,
        drain: Callable[[list[str]], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Begin to write; who waits for room is told when there is."""
        self._changed = changed
        if self._outbox is not None:
            self._outbox.start(lock, self._progress, self._put_now, drain, fail)

    def put(self, sealed: list[SealedSample], now: float) -> list[str]:
        """Have samples sent; return whom to send to right now. Called with the lock held."""
        if self._outbox is None:
            return self._writers.put(sealed, now)
        self._outbox.append(sealed)
        if not self._has_thinned():
            self._outbox.note()
        return []

    def put_unit(self, unit: Unit, now: float) -> None:
        """Have a unit written down and sent. Called with the lock held."""
        core, outbox = self._core, self._outbox
        assert outbox is not None
        outbox.append(core.seal(now))
        if len(unit.table):
            core.add_table(unit.table, unit.slices, unit.size)
            core.opened(now)
        outbox.append(core.seal(now), unit.number)

    def has_unit(self, unit: int) -> bool:
        """Whether a unit is on disk."""
        return self._outbox is not None and self._outbox.state.unit >= unit

    def is_written(self, serial: int) -> bool:
        """Whether a sample is where it must be before anybody is told of it."""
        return self._outbox is None or self._outbox.is_written(serial)

    def has_everything(self, serial: int) -> bool:
        """Whether all samples up to one are written, and with the nodes or committed."""
        safe = self._core.uncommitted == 0 or self._writers.are_safe(serial)
        return safe and self.is_written(serial)

    def on_epoch_ended(self, now: float) -> None:
        """An epoch has ended, and its samples were put."""
        self._ended = self._core.sealing.serial
        self._core.epochs.await_acks(self._writers.take_written(), now)

    def is_announceable(self, now: float) -> bool:
        """Whether an ended epoch is written and need not wait for its readers any longer."""
        epochs = self._core.epochs
        if not epochs.is_ending:
            return False
        if self._ended:
            if not (self.is_written(self._ended) and self._has_thinned()):
                return False
            self._ended = 0
            if self._outbox is not None:
                epochs.await_acks(self._writers.take_written(), now)
        return epochs.is_announceable(now, self._writers.needs_no_wait)

    def _has_thinned(self) -> bool:
        """Whether it is written how many items were left out up to the end of the epoch."""
        outbox = self._outbox
        return outbox is None or outbox.state.thinned >= self._core.epochs.ended_thinned

    def on_committed(self) -> None:
        """Something was committed; called with the lock held."""
        if self._outbox is not None:
            self._outbox.note()

    def may_answer(self) -> bool:
        """Whether the terms that were met are noted; waits for it. Called with the lock held."""
        outbox = self._outbox
        if outbox is None or (outbox.state.terms == self._core.fencing.newest).all():
            return True
        return outbox.sync(ANSWER_S)

    def renew(self, now: float) -> list[Reaction]:
        """Go on as another writer, if it is time to; called with the lock held.

        Raises:
            StorageError: There is no room for it; the outbox keeps everything, as it was.
        """
        core, outbox = self._core, self._outbox
        reactions = core.follow_cut(now)
        if outbox is None or not core.is_to_renew or not outbox.wait_until_idle():
            return reactions
        outbox.append(core.seal(now))
        plan = core.plan_renewal()
        outbox.rehome(self._renewed(plan), plan.new.samples())
        reactions += core.renew(plan, now)
        self._writers.recall(plan.new.serials())
        return reactions

    def _renewed(self, plan: Renewal) -> State:
        """The state of another writer, before its first sample."""
        core, outbox = self._core, self._outbox
        assert outbox is not None
        state = outbox.state.begun(plan.writer)
        # An epoch that was announced is never added to, also by who opens the outbox next; nor is
        # one announced that has no items.
        state.serial, state.epoch = core.sealing.serial, core.epochs.ended
        state.unit = outbox.newest_unit
        state.committed_items, state.committed_epoch = core.counts.committed, plan.epoch
        state.terms[:] = plan.fencing.newest
        return state

    @property
    def may_say_goodbye(self) -> bool:
        """Whether the writer ends with its process."""
        return self._outbox is None or self._outbox.has_ended

    def close(self, lock: Lock) -> None:
        """Write what is left; the writer ends when that is nothing."""
        with lock:
            self._core.leave()
        if self._outbox is None:
            return
        with lock:
            self._outbox.append(self._core.seal(self._clock.monotonic()))
        lost = self._outbox.close()
        if lost:
            raise StorageError(
                str(self._outbox.path),
                f"disk full or failed: {counted(lost, 'item')} accepted, not written, and gone",
            )

    def _put_now(self, sealed: list[SealedSample]) -> list[str]:
        self._changed.notify_all()
        return self._writers.put(sealed, self._clock.monotonic())

    def _progress(self) -> Progress:
        core = self._core
        return Progress(
            core.forgetting.forgotten_items,
            core.epochs.committed,
            core.retention.floors,
            core.fencing.newest,
            core.epochs.thinned(core.counts.thinned),
            core.retention.oldest(core.sealing.serial + 1),
            core.retention.size,
        )
