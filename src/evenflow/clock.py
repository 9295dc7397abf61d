"""Where shells get the time.

Cores never read a clock: they are given ``now``. A shell asks a `Clock` once per step and passes
the answer down, so a test can put any other clock in its place and run hours in milliseconds.

There are two times. ``monotonic`` never jumps and means nothing outside the process: deadlines,
leases and durations use it. ``wall`` is the time of day that items carry and people read; two hosts
may disagree about it, so no rule may depend on it.
"""

from __future__ import annotations

import time
from numbers import Real
from typing import Final, Protocol

from evenflow.errors import UsageError

LONGEST_WAIT_S: Final = 1e8
"""Three years: threads cannot wait without end when they are given a time at all."""


class Clock(Protocol):
    """A source of both times, in seconds."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    def wall(self) -> float:
        """Seconds since the Unix epoch."""
        ...


class SystemClock:
    """The clock of the machine."""

    __slots__ = ()

    # The functions themselves: publishing asks for the time of every item.
    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)


def seconds(timeout: object) -> float:
    """How long a caller is ready to wait, as threads can; infinity is very long.

    Raises:
        UsageError: It is no number.
    """
    if not isinstance(timeout, Real) or timeout != timeout:  # noqa: PLR0124 - not a number
        raise UsageError(f"timeout is {timeout!r}: give seconds; infinity waits without end")
    return float(timeout) if timeout < LONGEST_WAIT_S else LONGEST_WAIT_S
