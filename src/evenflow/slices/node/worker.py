"""The worker: gives items to the application, in a thread of its own.

So a slow application delays no heartbeat and no handover. The worker shares the core with the
node's loop under one lock, which it does not hold while the application is at work.

What an application raises is counted and logged, and the items are given to it again
(:mod:`~evenflow.slices.node.failures`). When an item was given often enough, somebody is asked what
becomes of it (`GivenUp`). It counts as committed only when it is put aside, or was to be skipped;
else the worker leaves it uncommitted and ends, and the node with it.
"""

from __future__ import annotations

import enum
import logging
import time
from typing import TYPE_CHECKING, Final

from evenflow.errors import ItemFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Condition, Event

    from evenflow.model.batch import Batch
    from evenflow.slices.actions import Send
    from evenflow.slices.node.core import NodeCore

    OnNewData = Callable[[Batch], object]
    Reply = Callable[[Batch, int], None]
    """Sends what was answered to the first rows of a batch."""
    GiveUp = Callable[[Batch, Exception, int], "GivenUp"]
    """Decides on an item: given the item, what was raised, and how often it was tried."""

WAIT_S: Final = 0.02
"""How often an idle worker looks whether it should end."""

_LOG = logging.getLogger(__name__)


class GivenUp(enum.Enum):
    """What becomes of an item that the application cannot process."""

    STOP = enum.auto()
    """It stays uncommitted and the worker ends."""
    DEAD = enum.auto()
    """It is put aside."""
    SKIPPED = enum.auto()
    """Nothing; it was asked for."""


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

    def run(self) -> None:
        """Process what there is until the node stops."""
        while (batch := self._next()) is not None:
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

    def _next(self) -> Batch | None:
        """Wait for items; None when the node stops and there are none."""
        with self._work:
            batch = self._core.next_delivery(time.monotonic())
            if batch is None:
                self._on_idle()
            while batch is None and not self._stopping.is_set():
                self._work.wait(WAIT_S)
                batch = self._core.next_delivery(time.monotonic())
            return batch

    def _process(self, batch: Batch) -> tuple[Exception | None, float]:
        """Let the application process a batch; return what it raised, and how long it took."""
        started = time.perf_counter()
        failure: Exception | None = None
        rows = batch.count
        batch.replies = []
        try:
            self._on_new_data(batch)
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
