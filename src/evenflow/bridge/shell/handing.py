"""How threads hand work to the bridge's loop."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Handing:
    """Has things called in a loop. Any thread may use it; a loop that is closed does nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def soon(self, work: Callable[[], object]) -> threading.Event:
        """Have something called; return what is set when that is over."""
        handled = threading.Event()

        def do() -> None:
            try:
                work()
            finally:
                handled.set()

        try:
            self._loop.call_soon_threadsafe(do)
        except RuntimeError:  # the loop is closed
            handled.set()
        return handled

    def post(self, work: Callable[[], object]) -> None:
        """Have something called, and do not care when."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(work)
