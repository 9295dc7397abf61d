"""The worker: gives items to the application, in a thread of its own.

So a slow application delays no heartbeat and no handover. The worker shares the core with the
node's loop under one lock, which it does not hold while the application is at work.

What an application raises is counted and logged. By default the items count as processed and the
worker goes on; with ``on_error = "stop"`` it leaves them uncommitted and ends, and the node with
it.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Condition, Event

    from evenflow.model.batch import Batch
    from evenflow.slices.actions import Send
    from evenflow.slices.node.core import NodeCore

    OnNewData = Callable[[Batch], object]

WAIT_S: Final = 0.02
"""How often an idle worker looks whether it should end."""

_LOG = logging.getLogger(__name__)


class Worker:
    """Runs the application of one node.

    Args:
        core: The node.
        on_new_data: The application.
        work: Notified when items may be there; its lock guards the core.
        stopping: Set when the worker shall end.
        perform: Does what the core asks for.
        on_idle: Called, with the lock held, when the application has nothing left to do.
        stop_on_error: Whether an error of the application ends the worker.
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
        stop_on_error: bool,
    ) -> None:
        self.error: Exception | None = None
        """What the application raised, when that ended the worker."""
        self.delay_s = 0.0
        """From an item's own time to the end of its processing, of the newest delivery."""
        self._core = core
        self._on_new_data = on_new_data
        self._work = work
        self._stopping = stopping
        self._perform = perform
        self._on_idle = on_idle
        self._stop_on_error = stop_on_error

    def run(self) -> None:
        """Process what there is until the node stops."""
        while (batch := self._next()) is not None:
            error, seconds = self._process(batch)
            self.delay_s = max(0.0, time.time() - batch.first_time / 1e6)
            with self._work:
                if error is not None and self._stop_on_error:
                    self.error = error
                    self._core.delivery.put_back()
                    self._stopping.set()
                    return
                actions = self._core.delivered(seconds, ok=error is None)
                stopping = self._stopping.is_set()
            self._perform(actions)
            if stopping:
                return

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
        try:
            self._on_new_data(batch)
        except Exception as error:  # noqa: BLE001 - whatever an application may raise
            _LOG.exception(
                "the application failed on items %d..%d of slice %d (writer %016x)",
                batch.first,
                batch.last,
                batch.slice,
                batch.writer,
            )
            return error, time.perf_counter() - started
        return None, time.perf_counter() - started
