"""Connects the publisher's core to the domain.

Callers' threads bring items in; one service thread does everything that is due by itself: it
seals batches whose linger is over, ends and announces epochs, takes commits and replay requests
in, and looks after congested slices. Replays have a thread of their own
(:mod:`evenflow.slices.publisher.replayer`). The core is guarded by one lock that nobody holds while
writing.
"""

from __future__ import annotations

import logging
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

from evenflow.domain import channels
from evenflow.errors import ClosedError
from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    Progress,
    ReplayAnswer,
    ReplayRequest,
)
from evenflow.slices.actions import Resend, Send
from evenflow.slices.publisher.batching import SealedBatch
from evenflow.slices.publisher.core import Committed, PublisherCore
from evenflow.slices.publisher.replayer import Replayer
from evenflow.slices.publisher.slice_writer import SliceWriters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Int32s, Item
    from evenflow.slices.publisher.columns import Columns, Table
    from evenflow.slices.publisher.core import Reaction

    Add = Callable[[float], list[SealedBatch]]
    CommitHook = Callable[[int, int, int, str], None]

_ACK_POLL_S: Final = 0.005
_RECOVERY_POLL_S: Final = 0.02
_IDLE_S: Final = 1.0
_FAREWELL_S: Final = 0.5
_FOREVER: Final = float("inf")

_log = logging.getLogger(__name__)


class PublisherShell:
    """Threads and DDS endpoints of one publisher.

    Args:
        core: The rules.
        participant: Where the endpoints are opened.
        clock: The time.
        on_commit: Called with (slice, first, last, node) for each accepted commit, in the service
            thread: it must be quick and must not publish.
    """

    def __init__(
        self,
        core: PublisherCore,
        participant: Participant,
        clock: Clock,
        on_commit: CommitHook | None = None,
    ) -> None:
        self.core = core
        self._clock = clock
        self._on_commit = on_commit
        self._changed = Condition()
        self._closing = self._stopping = False
        self._failure: BaseException | None = None
        self._sleeps_until = _FOREVER
        self._announced = 0
        """The newest epoch that was announced."""
        partition = channels.writer_partition(core.writer)
        self.slice_writers = SliceWriters(participant, core.topic, core.slice_count)
        self._epochs = participant.writer(channels.EPOCHS)
        self._readers = [
            participant.reader(channel, [partition])
            for channel in (channels.COMMITS, channels.REQUESTS)
        ]
        if core.consumers is not None:
            # In this order: who is told of a consumer before a commit keeps what it needs.
            self._readers += map(participant.reader, (channels.PROGRESS, channels.CONSUMERS))
        self._waiter = participant.waiter()
        for reader in self._readers:
            self._waiter.attach(reader)
        self.replayer = Replayer(participant, core.topic, core.retention.floor, clock)
        name = f"evenflow-publisher-{core.topic}"
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    # -- callers' threads --------------------------------------------------------------------------

    def add(self, slice_id: int, item: Item, size: int, timeout_s: float) -> bool:
        """Accept an item of this size; False when there was no room for it in time."""
        return self._accept(size, timeout_s, lambda now: self.core.add(slice_id, item, now))

    def add_columns(
        self, parts: Iterable[tuple[int, Columns]], size: int, timeout_s: float
    ) -> bool:
        """Accept items of several slices, all or none; False when there was no room in time."""

        def add(now: float) -> list[SealedBatch]:
            added = (self.core.add_columns(slice_id, columns, now) for slice_id, columns in parts)
            return [sealed for some in added for sealed in some]

        return self._accept(size, timeout_s, add)

    def add_table(self, table: Table, slices: Int32s, size: int, timeout_s: float) -> bool:
        """Accept few items of any slices, all or none; False when there was no room in time."""
        return self._accept(
            size, timeout_s, lambda now: self.core.add_table(table, slices, size, now)
        )

    def _accept(self, size: int, timeout_s: float, add: Add) -> bool:
        with self._changed:
            if not self._wait_for_room(size, timeout_s):
                return False
            touched = self._queue(add(self._clock.monotonic()))
            self._wake_if_due()
        self.slice_writers.drain(touched)
        return True

    def flush(self, timeout_s: float) -> list[int]:
        """Write everything; return the slices that are not acknowledged when the time is over."""
        deadline = self._clock.monotonic() + timeout_s
        with self._changed:
            self._check()
            touched = self._queue(self.core.flush())
            targets = {s: self.core.retention.newest(s) for s in self.core.retention.dirty()}
            epoch = self.core.epochs.newest
            if self.core.consumers is not None:
                # Of a served topic nothing can be read whose epoch is not closed.
                self.core.epochs.hurry()
                self._waiter.wake()
        self.slice_writers.drain(touched)
        while True:
            targets = {s: last for s, last in targets.items() if not self._is_safe(s, last)}
            left = deadline - self._clock.monotonic()
            if not targets and self._is_announced(epoch):
                return []
            if left <= 0:
                return list(targets) or self.core.retention.dirty()
            with self._changed:
                self._check()
                self._changed.wait(min(left, _ACK_POLL_S))

    def finish(self, timeout_s: float) -> bool:
        """Announce that no more items come; return whether all are committed in time."""
        with self._changed:
            self._check()
            self._closing = True
            self.core.epochs.hurry()
            self._waiter.wake()
            self._changed.wait_for(self._is_over, timeout_s)
            if self._failure is not None:
                raise self._failure
            return self.core.uncommitted == 0

    def close(self) -> None:
        """Stop the threads and close the endpoints."""
        with self._changed:
            self._closing = self._stopping = True
            self._changed.notify_all()
        self._waiter.wake()
        self._thread.join()
        self.replayer.close()
        self._epochs.wait_acked(_FAREWELL_S)
        self._waiter.close()
        for reader in self._readers:
            reader.close()
        self.slice_writers.close()
        self._epochs.close()

    def _is_over(self) -> bool:
        return self.core.uncommitted == 0 or self._failure is not None

    def _is_announced(self, epoch: int) -> bool:
        """Whether everybody knows that an epoch is closed; needed of served topics alone."""
        if self.core.consumers is None:
            return True
        return self._announced >= epoch and self._epochs.is_acked(0.0)

    def _is_safe(self, slice_id: int, last: int) -> bool:
        """Whether a slice is committed so far, or all of it is written and acknowledged."""
        floor = self.core.retention.floor(slice_id)
        writer = self.slice_writers[slice_id]
        whole = writer.hole <= floor and writer.readers() > 0
        return floor >= last or (whole and writer.is_acknowledged())

    def _wait_for_room(self, size: int, timeout_s: float) -> bool:
        self._check()
        if self.core.has_room(size):
            return True
        self._changed.wait_for(lambda: self._is_ended() or self.core.has_room(size), timeout_s)
        self._check()
        return self.core.has_room(size)

    def _is_ended(self) -> bool:
        return self._closing or self._failure is not None

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise ClosedError(f"publisher of topic {self.core.topic!r}")

    def _queue(self, sealed: list[SealedBatch]) -> set[int]:
        """Put batches in line, in the order of their numbers; return their slices."""
        for slice_id, encoded in sealed:
            self.slice_writers[slice_id].put(self.core.retention.newest(slice_id), encoded)
        return {slice_id for slice_id, _ in sealed}

    def _wake_if_due(self) -> None:
        due = self.core.deadline()
        if due is not None and due < self._sleeps_until:
            self._waiter.wake()

    # -- service thread ----------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._stopping:
                self._waiter.wait(self._pause())
                self._receive()
                self._tend()
            self._announce(self._clock.monotonic())
        except BaseException as failure:  # noqa: BLE001 - callers must learn why nothing moves
            _log.exception("publisher of topic %r failed", self.core.topic)
            with self._changed:
                self._failure = failure
                self._changed.notify_all()

    def _pause(self) -> float:
        with self._changed:
            now = self._clock.monotonic()
            due = self.core.deadline()
            until = now + _IDLE_S if due is None else due
            if self.core.epochs.is_ending:
                until = min(until, now + _ACK_POLL_S)
            if self.slice_writers.needs_recovery:
                until = min(until, now + _RECOVERY_POLL_S)
            self._sleeps_until = until
        return max(0.0, until - now)

    def _receive(self) -> None:
        for reader in self._readers:
            for message in reader.take():
                if not isinstance(message, channels.Gone):
                    self._handle(message)
                elif message.message_type is ConsumerCommit:
                    with self._changed:
                        self.core.on_consumer_gone(*message.key)

    def _handle(self, message: Commit | ReplayRequest | ConsumerCommit | Progress) -> None:
        now = self._clock.monotonic()
        with self._changed:
            if isinstance(message, ConsumerCommit | Progress):
                reactions = self.core.handle_consumer(message, now)
            else:
                reactions = self.core.handle(message, now)
            if any(isinstance(one, Committed) for one in reactions):
                self._changed.notify_all()
        for reaction in reactions:
            try:
                self._perform(reaction)
            except Exception:  # noqa: BLE001 - one node's fault, or the hook's, is not the others'
                _log.exception("%s could not be served", type(message).__name__)

    def _perform(self, reaction: Reaction) -> None:
        match reaction:
            case Committed(slice_id, first, last, node):
                if self._on_commit is not None:
                    self._on_commit(slice_id, first, last, node)
            case Send(ReplayAnswer() as answer, node):
                self.replayer.answer(node, answer)
            case Resend(node, batches):
                self.replayer.resend(node, batches)

    def _tend(self) -> None:
        """Do what is due by time."""
        now = self._clock.monotonic()
        with self._changed:
            touched = self._queue(self.core.seal_due(now))
            ending = self.core.epoch_due(now)
            if ending:
                touched |= self._queue(self.core.end_epoch())
        self.slice_writers.drain(touched)
        epochs = self.core.epochs
        if ending:
            epochs.await_acks(self.slice_writers.take_written(), now)
        if epochs.is_announceable(now, self.slice_writers.need_no_wait):
            self._announce(now)
        if self.slice_writers.needs_recovery:
            self.slice_writers.recover()

    def _announce(self, now: float) -> None:
        with self._changed:
            close = self.core.close_epoch(now, closing=self._closing)
        if close is not None:
            self._epochs.write(close)
            self._announced = close.epoch
