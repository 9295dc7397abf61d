"""CPU clocks of processes, read all the while, and what an event has cost one of them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from evenflow.closing import Closing
from evenflow_experiments.slices.watch import cpu_clock_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.model.batch import Int64s

EARLY_S, LATE_S = 0.02, 0.1
"""What belongs to an event before its beginning and after its end."""
USUAL_S = 1.0
"""How long after it is looked at for what is usual."""
Clock = list[tuple[float, float]]
"""Moments of the wall clock, with the CPU seconds that a process had used by then."""


class CpuClocks(Closing):
    """Reads the CPU clocks of processes every few milliseconds, in a thread."""

    def __init__(self, pids: Sequence[int], every_s: float = 0.005) -> None:
        self.read: dict[int, Clock] = {pid: [] for pid in pids}
        self._stop = threading.Event()
        self._every_s = every_s
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            for pid, clock in self.read.items():
                clock.append((time.time(), cpu_clock_s(pid)))

    def close(self) -> None:
        """Read no more."""
        self._stop.set()
        self._thread.join()


def beside(clock: Clock, work: Int64s) -> Clock:
    """The clock without what some pieces of work have used, each evenly from begin to end.

    Args:
        clock: Of the process.
        work: Rows of begin, end and CPU time in nanoseconds, one after the other.
    """
    if not len(work):
        return clock
    moments = work[:, :2].ravel() / 1e9
    after = np.cumsum(work[:, 2]) / 1e9
    before = np.concatenate([[0.0], after[:-1]])
    used = np.stack([before, after], axis=1).ravel()
    taken = np.interp([at for at, _ in clock], moments, used)
    return [(at, seconds - off) for (at, seconds), off in zip(clock, taken.tolist(), strict=True)]


def extra_s(clock: Clock, start: float, end: float) -> float:
    """CPU seconds that an event from ``start`` to ``end`` has cost beyond what is usual after."""
    begun, over = start - EARLY_S, end + LATE_S
    usual = _used(clock, over, over + USUAL_S) / USUAL_S
    return _used(clock, begun, over) - usual * (over - begun)


def percent(clock: Clock) -> float:
    """CPU that was used all the while, in percent of a core."""
    (began, before), (ended, after) = clock[0], clock[-1]
    return 100 * (after - before) / (ended - began)


def _used(clock: Clock, start: float, end: float) -> float:
    times, seconds = zip(*clock, strict=True)
    first, last = np.interp([start, end], times, seconds)
    return float(last - first)
