"""Connects the publisher's core to the domain.

Callers' threads bring items in, which is an append to lists; who fills a sample seals and writes
it. One service thread does what is due by itself: it seals what has waited long enough, ends and
announces epochs, takes maps, commits and replay requests in, and looks after the writers. Replays
have a thread of their own. The core is guarded by one lock that nobody holds while writing.
"""

from __future__ import annotations

import logging
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Final

from evenflow.domain import channels
from evenflow.errors import ClosedError
from evenflow.model.messages import Beat, ConsumerCommit, Progress, ReplayRequest
from evenflow.slices.publisher.core import Committed, PublisherCore
from evenflow.slices.publisher.diagnosis import Blockage
from evenflow.slices.publisher.outlet import Outlet
from evenflow.slices.publisher.performer import Performer
from evenflow.slices.publisher.sending.control_readers import ControlReaders
from evenflow.slices.publisher.sending.members import Members
from evenflow.slices.publisher.sending.owner_writer import OwnerWriters

if TYPE_CHECKING:
    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Int32s
    from evenflow.slices.outbox.outbox import Outbox
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.core import Reaction
    from evenflow.slices.publisher.exchange import CommitHook
    from evenflow.slices.publisher.gathering import Row
    from evenflow.slices.publisher.sending.control_readers import Heard
    from evenflow.slices.publisher.units import Unit

_POLL_S: Final = 0.005
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
        on_commit: As the publisher has it; called in the service thread.
        outbox: Where everything is written down before it is sent; it is closed with the shell.
    """

    def __init__(
        self,
        core: PublisherCore,
        participant: Participant,
        clock: Clock,
        on_commit: CommitHook | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self.core, self._clock = core, clock
        # A plain lock: a Condition's own is slower to take, and every item takes it.
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._closing = self._stopping = False
        self._failure: BaseException | None = None
        self._sleeps_until = _FOREVER
        self._announced = core.epochs.ended
        """The newest epoch that was announced."""
        self.owner_writers = OwnerWriters(participant, core.topic, core.keeps)
        self._blockage = Blockage(core, self._changed, self.owner_writers, clock)
        self._outlet = Outlet(core, self.owner_writers, outbox, clock)
        self._members = Members(core.topic, self.owner_writers)
        self._epochs = participant.writer(channels.EPOCHS)
        self._control_readers = ControlReaders(participant, core)
        # Before the first item: nodes that have something of a writer wait for it.
        hello = core.epochs.hello(clock.monotonic())
        self._epochs.write(core.close_epoch(clock.monotonic()) or hello)
        self._performer = Performer(participant, core.topic, clock, on_commit, self._on_failure)
        self._outlet.start(self._changed, self._lock, self._drain, self._on_failure)
        self._thread = Thread(target=self._serve, name=f"publisher-{core.topic}", daemon=True)
        self._thread.start()

    @property
    def replayed(self) -> int:
        """Samples sent again."""
        return self._performer.replayed

    # -- callers' threads --------------------------------------------------------------------------

    def add(self, row: Row, size: int, timeout_s: float) -> int | None:
        """Accept an item of this size; None when there was no room for it in time."""
        with self._lock:
            # Most items pass here; the rest of this is for the first and the last of a sample.
            if not self._closing and self._failure is None and self.core.offer(row, size):
                return 1
            if not self._wait_for_room(size, timeout_s):
                return None
            touched = self._add_row(row, size)
        self._drain(touched)
        return 1

    def _add_row(self, row: Row, size: int) -> list[str]:
        """Accept an item for which there is room; return whom to write to."""
        first, full = self.core.is_empty, self.core.sealing.fills(1, size)
        self.core.add(row, size)
        return self._added(first=first, full=full) if first or full else []

    def add_table(self, table: Table, slices: Int32s, size: int, timeout_s: float) -> int | None:
        """Accept items, all or none; return how many, None when there was no room in time."""
        with self._lock:
            if not self._wait_for_room(size, timeout_s):
                return None
            touched = self._add_rows(table, slices, size)
        self._drain(touched)
        return len(table)

    def _add_rows(self, table: Table, slices: Int32s, size: int) -> list[str]:
        first, full = self.core.is_empty, self.core.sealing.fills(len(table), size)
        # What waits must not be changed by the caller any more.
        if not full:
            table, slices = table.copied(), slices.copy()
        self.core.add_table(table, slices, size)
        return self._added(first=first, full=full)

    def add_unit(self, unit: Unit, timeout_s: float) -> bool:
        """Accept items that the outbox has all or none of, whatever happens."""
        with self._lock:
            if not self._wait_for_room(unit.size, timeout_s):
                return False
            self._outlet.put_unit(unit, self._clock.monotonic())
            self._wake_if_due()
        return True

    def wait_for_unit(self, unit: int, timeout_s: float) -> bool:
        """Wait until a unit is on disk; False when it was not in time."""
        has, changed = self._outlet.has_unit, self._changed
        with changed:
            changed.wait_for(lambda: self._is_ended() or has(unit), timeout_s)
            self._check()
            return has(unit)

    def _added(self, *, first: bool, full: bool) -> list[str]:
        """Items were added: seal them, or see that somebody will; return whom to write to."""
        now = self._clock.monotonic()
        if first:
            self.core.opened(now)
        touched = self._outlet.put(self.core.seal(now), now) if full else []
        self._wake_if_due()
        return touched

    def _drain(self, touched: list[str]) -> None:
        if touched:
            now = self._clock.monotonic()
            self.owner_writers.drain(touched, now)
            if self.owner_writers.needs_care and self._sleeps_until > now + _POLL_S:
                self._control_readers.wake()

    def flush(self, timeout_s: float) -> bool:
        """Write everything; return whether it is acknowledged in time."""
        deadline = self._clock.monotonic() + timeout_s
        with self._changed:
            self._check()
            now = self._clock.monotonic()
            touched = self._outlet.put(self.core.seal(now), now)
            serial, epoch = self.core.sealing.serial, self.core.epochs.newest
            if self.core.consumers is not None:
                # Of a served topic nothing can be read whose epoch is not closed.
                self.core.epochs.hurry()
                self._control_readers.wake()
        self._drain(touched)
        while True:
            with self._lock:
                # Under the lock: what was unsent and is being queued is neither for a moment.
                safe = self._outlet.has_everything(serial)
            left = deadline - self._clock.monotonic()
            if (done := safe and self._is_announced(epoch)) or left <= 0:
                return done
            with self._changed:
                self._check()
                self._changed.wait(min(left, _POLL_S))
                # Who waits for what had no owner does not wait until its owner asks for it.
                now = self._clock.monotonic()
                touched = self.owner_writers.put_unsent(serial, self.core.sealing.addressed, now)
            self._drain(touched)

    def finish(self, timeout_s: float) -> bool:
        """Announce that no more items come; return whether all are committed in time."""
        with self._changed:
            self._check()
            self._closing = True
            self.core.epochs.hurry()
            self._control_readers.wake()
            self._changed.wait_for(lambda: self._failure or not self.core.uncommitted, timeout_s)
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return not self.core.uncommitted

    def close(self) -> None:
        """Stop the threads, write down what is left, say goodbye and close the endpoints."""
        with self._changed:
            self._closing = self._stopping = True
            self._changed.notify_all()
        self._control_readers.wake()
        self._thread.join()
        try:
            self._outlet.close(self._lock)
            if self._failure is None:
                self._announce(self._clock.monotonic())
                self._speak_for_formers(_FOREVER)
        finally:
            self._performer.close()
            self._epochs.wait_acked(_FAREWELL_S)
            for one in (self._control_readers, self.owner_writers, self._epochs):
                one.close()

    def _is_announced(self, epoch: int) -> bool:
        """Whether everybody knows that an epoch is closed; needed of served topics alone."""
        known = self._announced >= epoch and self._epochs.is_acked(0.0)
        return known or self.core.consumers is None

    def _wait_for_room(self, size: int, timeout_s: float) -> bool:
        self._check()
        self._blockage.wait(lambda: self._is_ended() or self.core.has_room(size), timeout_s)
        self._check()
        return self.core.has_room(size)

    def _is_ended(self) -> bool:
        return self._closing or self._failure is not None

    def _check(self) -> None:
        if self._failure is not None:  # without the frames of those who were told before
            raise self._failure.with_traceback(None)
        if self._closing:
            raise ClosedError(f"publisher of topic {self.core.topic!r}")

    def _wake_if_due(self) -> None:
        if (due := self.core.deadline()) is not None and due < self._sleeps_until:
            self._control_readers.wake()

    # -- service thread ----------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._stopping:
                self._control_readers.wait(self._pause())
                self._receive()
                self._tend()
        except BaseException as failure:  # noqa: BLE001 - callers must learn why nothing moves
            _log.exception("publisher of topic %r failed", self.core.topic)
            self._on_failure(failure)

    def _on_failure(self, failure: BaseException) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def _pause(self) -> float:
        with self._changed:
            now, due = self._clock.monotonic(), self.core.deadline()
            until = now + _IDLE_S if due is None else due
            if self.core.epochs.is_ending or self.owner_writers.needs_care:
                until = min(until, now + _POLL_S)
            self._sleeps_until = until
        return max(0.0, until - now)

    def _receive(self) -> None:
        for message in self._control_readers.take():
            if not isinstance(message, channels.Gone):
                self._handle(message)
            elif message.message_type is ConsumerCommit:
                with self._changed:
                    self.core.on_consumer_gone(*message.key)

    def _handle(self, message: Heard) -> None:
        now = self._clock.monotonic()
        with self._changed:
            reactions: list[Reaction]
            if isinstance(message, Beat):
                self._members.on_beat(message, now)
            if isinstance(message, ConsumerCommit | Progress):
                reactions = self.core.handle_consumer(message, now)
            else:
                reactions = self.core.handle(message, now)
            self._on_forgotten(any_at_all=any(isinstance(one, Committed) for one in reactions))
            if isinstance(message, ReplayRequest) and not self._outlet.may_answer():
                return
        self._follow()
        for reaction in reactions:
            try:
                self._performer.perform(reaction)
            except Exception:  # noqa: BLE001 - one node's fault is not the others'
                _log.exception("%s could not be served", type(message).__name__)

    def _on_forgotten(self, *, any_at_all: bool) -> None:
        if any_at_all:
            self._outlet.on_committed()
            self._changed.notify_all()

    def _follow(self) -> None:
        if self._control_readers.follow(self.core):
            self._performer.forget()
            if self.core.consumers is None:  # epochs of a served topic go on, and none is 0
                self._epochs.write(self.core.epochs.hello(self._clock.monotonic()))

    def _tend(self) -> None:
        now = self._clock.monotonic()
        with self._changed:
            reactions = self._outlet.renew(now)
            self._on_forgotten(any_at_all=self.core.forgetting.look(now) or bool(reactions))
            ending = self.core.epoch_due(now)
            sealed = self.core.end_epoch(now) if ending else self.core.seal_due(now)
            touched = self._outlet.put(sealed, now)
        self._follow()
        for reaction in reactions:
            self._performer.perform(reaction)
        self._drain(touched)
        if ending:
            self._outlet.on_epoch_ended(now)
        if self._outlet.is_announceable(now):
            self._announce(now)
        if self.core.former_writers:
            self._speak_for_formers(now)
        if self.owner_writers.needs_care:
            self.owner_writers.tend(now)
        self._members.part(self._lock)

    def _announce(self, now: float) -> None:
        with self._changed:
            closing = self._closing and self._outlet.may_say_goodbye
            close = self.core.close_epoch(now, closing=closing)
        if close is not None:
            self._epochs.write(close)
            self._announced = close.epoch

    def _speak_for_formers(self, now: float) -> None:
        with self._changed:
            closes = self.core.former_writers.closes(now)
        for close in closes:
            self._epochs.write(close)
