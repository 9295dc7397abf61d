"""What the commands that run until they are told to stop have in common."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Final

from evenflow.cli.output.log import fail
from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


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
        for number in STOPPING:
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


def stop_events() -> tuple[asyncio.Event, asyncio.Event]:
    """Events of Ctrl-C or SIGTERM, in a loop: set by the first, and by the second (hurry).

    A third one ends the process the usual, abrupt way.
    """
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if not stop.is_set():
            stop.set()
            return
        hurry.set()
        for number in STOPPING:
            loop.remove_signal_handler(number)

    for number in STOPPING:
        loop.add_signal_handler(number, on_signal)
    return stop, hurry


async def unless_hurried(work: Awaitable[object], hurry: asyncio.Event) -> None:
    """Wait for something, but not beyond a second signal."""
    waits = [asyncio.ensure_future(work), asyncio.ensure_future(hurry.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()


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
