"""An event loop in a thread: a client for asyncio, for programs that block.

Any thread may have work done in it. Nothing is begun after the end, and what is not done by then is
cancelled: nobody waits for a loop that does not run.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.errors import ClosedError
from evenflow.forking import in_parent, watch, watch_no_more

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from evenflow.errors import UsageError

T = TypeVar("T")


class LoopThread:
    """A loop that runs until :meth:`end`.

    Args:
        name: Of the thread.
        owner: What is closed with it, for who uses it later (`ClosedError`).
    """

    def __init__(self, name: str, owner: str) -> None:
        self._owner = owner
        self._lock = threading.Lock()
        """Held while work is begun: nothing is begun after the end."""
        self._ended = False
        self._inherited: UsageError | None = None
        """Said in a child that was forked: the loop runs in the parent."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        watch(self, LoopThread._leave_to_parent)

    @property
    def ended(self) -> bool:
        """Whether nothing more can be done."""
        return self._ended

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the loop, and wait for it.

        Raises:
            ClosedError: The loop has ended, or ends before this is done.
            UsageError: This is a child of the process in which it runs.
        """
        with self._lock:
            if self._ended:
                work.close()
                raise (self._inherited or ClosedError(self._owner)).with_traceback(None)
            done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except CancelledError:
            raise ClosedError(self._owner) from None
        except BaseException:
            done.cancel()  # who was interrupted does not want it any more
            raise

    def end(self, last: Coroutine[Any, Any, None] | None = None) -> None:
        """Begin nothing more, do one last thing, cancel the rest, and end loop and thread.

        Who is not the first to end it does nothing, and does not wait.
        """
        with self._lock:
            if self._ended:
                if last is not None:
                    last.close()
                return
            self._ended = True
        watch_no_more(self)
        try:
            asyncio.run_coroutine_threadsafe(_finish(last), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _leave_to_parent(self) -> None:
        """This is a child: nothing can be done here, and the parent's connections stay open."""
        self._lock, self._ended = threading.Lock(), True
        self._inherited = in_parent(f"the {self._owner}", "open one")


async def _finish(last: Coroutine[Any, Any, None] | None) -> None:
    try:
        if last is not None:
            await last
    finally:
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
