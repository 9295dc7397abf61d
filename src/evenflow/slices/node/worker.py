"""The worker: gives items to the application, in a thread of its own.

So a slow application delays no heartbeat and no handover. The worker shares the core with the
node's loop under one lock, which it does not hold while the application is at work.

What an application raises is counted and logged, and the items are given to it again
(:mod:`~evenflow.slices.node.failures`). When an item was given often enough, somebody is asked what
becomes of it (`GivenUp`). It counts as committed only when it is put aside, or was to be skipped;
else the worker leaves it uncommitted and ends, and the node with it.

An application with state for each slice gives, takes and forgets it in the same thread, between
batches (:mod:`~evenflow.slices.node.application.states`).
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from evenflow.errors import ClosedError, ItemFailed
from evenflow.errors.telling import error_text
from evenflow.model.batch import Batch
from evenflow.slices.node.application.callables import (
    STATE,
    call,
    check_application,
    state_bytes,
)
from evenflow.slices.node.application.giving_up import GivenUp
from evenflow.slices.node.application.states import (
    ForgetState,
    GiveState,
    SnapshotState,
    TakeState,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Condition, Event

    from evenflow.slices.actions import Send
    from evenflow.slices.node.application.states import Task
    from evenflow.slices.node.core import NodeCore

    OnNewData = Callable[[Batch], object]
    Reply = Callable[[Batch, int], None]
    """Sends what was answered to the first rows of a batch."""
    GiveUp = Callable[[Batch, Exception, int], GivenUp]
    """Decides on an item: given the item, what was raised, and how often it was tried."""

WAIT_S: Final = 0.02
"""How often an idle worker looks whether it should end."""

_LOG = logging.getLogger(__name__)


class Stateful(Protocol):
    """An application that has state for each slice (:mod:`~.application.states`)."""

    def give(self, slice_id: int, /) -> bytes:
        """The state of a slice, for the node that takes it."""

    def take(self, slice_id: int, state: bytes | None, /) -> None:
        """Begin a slice, before its first item; None: nobody has its state."""

    def forget(self, slice_id: int, /) -> None:
        """The slice is somebody else's."""


def stateful(on_new_data: OnNewData | None) -> Stateful | None:
    """The application, or the object that it is a method of, if it has state.

    `ConfigError` when it has half of what state needs, or is nothing that could be called.
    """
    check_application(on_new_data)
    found = getattr(on_new_data, "__self__", on_new_data)
    has = all(callable(getattr(found, name, None)) for name in STATE)
    return cast("Stateful", found) if has else None


class Worker:
    """Runs the application of one node.

    Args:
        core: The node.
        on_new_data: The application.
        work: Notified when items may be there; its lock guards the core.
        stopping: Set when the worker shall end.
        perform: Does what the core asks for.
        on_idle: Called, with the lock held, when the application has nothing left to do.
        reply: Sends the application's replies; what it raises counts as raised by the application.
        give_up: Decides on an item that the application has failed on often enough; what it raises
            ends the worker.
        state: The application, if it has state for each slice.
    """

    def __init__(
        self,
        core: NodeCore,
        on_new_data: OnNewData,
        *,
        work: Condition,
        stopping: Event,
        perform: Callable[[list[Send]], None],
        on_idle: Callable[[], None],
        reply: Reply,
        give_up: GiveUp,
        state: Stateful | None = None,
    ) -> None:
        self.error: Exception | None = None
        """Why the worker ended, when the application's failure is the reason."""
        self.delay_s = 0.0
        """From an item's own time to the end of its processing, of the newest delivery."""
        self._core = core
        self._on_new_data = on_new_data
        self._work = work
        self._stopping = stopping
        self._perform = perform
        self._on_idle = on_idle
        self._reply = reply
        self._give_up = give_up
        self._state = state
        self._failing: set[int] = set()
        """Slices whose states the application could not give the last time."""

    def run(self) -> None:
        """Process what there is until the node stops, then commit what was in hand until then."""
        self._process_all()
        with self._work:
            actions = self._core.writers.commit()
        with suppress(ClosedError):  # the application has closed the node itself
            self._perform(actions)

    def _process_all(self) -> None:
        while (batch := self._next()) is not None:
            if not isinstance(batch, Batch):
                self._perform(self._do(batch))
                if self._stopping.is_set():
                    return
                continue
            error, seconds = self._process(batch)
            self.delay_s = max(0.0, time.time() - batch.first_time / 1e6)
            if error is not None:
                actions = self._on_failure(batch, error, seconds)
            else:
                with self._work:
                    actions = self._core.delivered(seconds)
            self._perform(actions)
            if self._stopping.is_set():
                return

    def _on_failure(self, batch: Batch, error: Exception, seconds: float) -> list[Send]:
        """Let the items be given again, or decide on one that was given often enough."""
        index = error.index if isinstance(error, ItemFailed) else None
        with self._work:
            exhausted, actions = self._core.failed(seconds, time.monotonic(), index)
            tries = self._core.delivery.failures.tries(batch)
        # Once at length: the next tries as a rule fail for the same reason.
        _LOG.log(
            logging.ERROR if tries <= 1 else logging.INFO,
            "the application failed on items %d..%d of slice %d (writer %016x)",
            batch.first,
            batch.last,
            batch.slice,
            batch.writer,
            exc_info=error if tries <= 1 else None,
        )
        if not exhausted:
            return actions
        try:
            given_up = self._give_up(batch, error, tries)
        except Exception as fault:  # noqa: BLE001 - whatever keeps an item from being put aside
            _LOG.exception("item %d of slice %d cannot be put aside", batch.first, batch.slice)
            given_up, error = GivenUp.STOP, fault
        with self._work:
            if given_up is GivenUp.STOP:
                self.error = error
                self._core.delivery.put_back()
                self._stopping.set()
                return []
            self._core.delivery.dead += given_up is GivenUp.DEAD
            return self._core.delivered(0.0, ok=False)

    def _next(self) -> Batch | Task | None:
        """Wait for items, or a task; None when the node stops and there are none."""
        with self._work:
            core = self._core
            found = core.next_task() or core.next_delivery(time.monotonic())
            if found is None:
                self._on_idle()
            while found is None and not self._stopping.is_set():
                self._work.wait(WAIT_S)
                found = core.next_task() or core.next_delivery(time.monotonic())
            return found

    def _do(self, task: Task) -> list[Send]:
        """Let the application give, take or forget state.

        What it cannot give does not move. A state that it cannot take, or a slice that it cannot
        forget, ends the worker: the application would go on with the wrong one.
        """
        assert self._state is not None
        given: dict[int, bytes] = {}
        faults: dict[int, str] = {}
        try:
            match task:
                case GiveState(slices=slices) | SnapshotState(slices):
                    given, faults = self._ask_for(self._state, slices)
                case TakeState(slice_id, state):
                    call(self._state.take, slice_id, state)
                case ForgetState(slice_id):
                    call(self._state.forget, slice_id)
        except Exception as error:  # noqa: BLE001 - whatever an application may raise
            _LOG.exception("the application failed on %s", type(task).__name__)
            self.error = error
            self._stopping.set()
        with self._work:
            return self._core.task_done(task, given, faults)

    def _ask_for(
        self, application: Stateful, slices: tuple[int, ...]
    ) -> tuple[dict[int, bytes], dict[int, str]]:
        """The states of slices, and of others why they cannot be given."""
        given: dict[int, bytes] = {}
        faults: dict[int, str] = {}
        for slice_id in slices:
            try:
                given[slice_id] = state_bytes(call(application.give, slice_id))
            except Exception as error:  # noqa: BLE001 - whatever it may raise
                if not faults and slice_id not in self._failing:
                    # Once: it is asked again and again, and others as a rule fail alike.
                    _LOG.exception("the application cannot give the state of slice %d", slice_id)
                faults[slice_id] = f"the application cannot give its state: {error_text(error)}"
        self._failing = (self._failing - given.keys()) | faults.keys()
        return given, faults

    def _process(self, batch: Batch) -> tuple[Exception | None, float]:
        """Let the application process a batch; return what it raised, and how long it took."""
        started = time.perf_counter()
        failure: Exception | None = None
        rows = batch.count
        batch.replies = []
        try:
            call(self._on_new_data, batch)
        except ItemFailed as error:
            # What lies before the item is done and does not come again.
            failure, rows = error, error.index if error.index < batch.count else 0
        except Exception as error:  # noqa: BLE001 - whatever an application may raise
            failure, rows = error, 0
        try:
            self._reply(batch, rows)
        except Exception as error:  # noqa: BLE001 - what could not be answered was not processed
            failure = error
        return failure, time.perf_counter() - started
