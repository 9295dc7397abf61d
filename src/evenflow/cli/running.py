"""What the commands that run until they are told to stop have in common."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING

from evenflow.cli.output.log import fail
from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers


def exit_code_of(what: str, fault: BaseException | None) -> int:
    """The exit code of a process that has ended, by this fault or by none; say by which.

    Raises:
        EvenflowError: The fault itself, if it says in words what to do: one line, exit code 2.
    """
    if fault is None:
        return 0
    if isinstance(fault, EvenflowError):
        raise fault
    fail(f"the {what} stopped: {fault!r}")
    return 1


class StopSignal:
    """Set by Ctrl-C or SIGTERM.

    Args:
        then: What a second signal does; by default it ends the process the usual, abrupt way.
    """

    def __init__(self, then: Handler = signal.SIG_DFL) -> None:
        self._event = threading.Event()
        self._then = then
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._event.set()
        signal.signal(number, self._then)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the signal; False when the time was up before."""
        return self._event.wait(seconds)

    @property
    def given(self) -> bool:
        """Whether it is time to stop."""
        return self._event.is_set()


async def until_stopped(
    ended: Awaitable[object], stop: asyncio.Event, duration: float | None
) -> BaseException | None:
    """Wait until something ends, or it is time to stop; return what it failed by, if it did."""
    failure = asyncio.ensure_future(ended)
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({failure, stopped}, timeout=duration, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if failure.done():
        return failure.exception()
    failure.cancel()
    return None
