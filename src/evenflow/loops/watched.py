"""Tasks in the background that cannot die unseen.

A task that nobody awaits keeps its exception to itself: what it was to do is not done any more, and
the process looks well. Whoever has such tasks begins them here, and is told when one has failed.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_log = logging.getLogger(__name__)


class WatchedTasks:
    """The background tasks of a service.

    Args:
        fail: Told what a task failed by, in the loop; to be cancelled is no failure.
    """

    def __init__(self, fail: Callable[[BaseException], object]) -> None:
        self._fail = fail
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Begin one; ``what`` names it to who reads the log."""
        task = asyncio.get_running_loop().create_task(work, name=what)
        self._running.add(task)
        task.add_done_callback(partial(self._on_done, what))
        return task

    def _on_done(self, what: str, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            if not isinstance(failure, EvenflowError):  # which says by itself what is wrong
                _log.error("%s failed", what, exc_info=failure)
            self._fail(failure)

    async def close(self) -> None:
        """Cancel all that are running, and wait for them."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
