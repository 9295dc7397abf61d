"""What the commands that run until they are told to stop have in common."""

from __future__ import annotations

import argparse
import re
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


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


def seconds(text: str) -> float:
    """Read a length of time: ``90``, ``500ms``, ``60s``, ``5m``, ``1h``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text.strip())
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a time such as 500ms, 60s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2] or ""]
