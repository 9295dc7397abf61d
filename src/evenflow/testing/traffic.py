"""No storm: what a simulated cluster sends in a second of its time stays within a bound.

Messages are small and repeated on purpose, so some hundreds a second are normal. What grows without
anything new to tell is not: an order that is answered by a refusal and given again at once, or two
processes that outbid one another.
"""

from __future__ import annotations

from typing import Final

from evenflow.testing.invariants import Violation

PER_PROCESS: Final = 100
"""Parcels a second and process that a small cluster sends at the most, on average over a while."""
WINDOW_S: Final = 5.0
"""Over this time they are counted: what was held up may go out together."""


class Traffic:
    """Counts what is sent."""

    def __init__(self, now: float) -> None:
        self.most = 0.0
        """The highest rate that was seen, in parcels a second."""
        self._since, self._posted = now, 0

    def look(self, posted: int, processes: int, now: float) -> None:
        """So many parcels were sent since the start; raise a violation when that is a storm."""
        elapsed = now - self._since
        if elapsed < WINDOW_S:
            return
        rate = (posted - self._posted) / elapsed
        self._since, self._posted = now, posted
        self.most = max(self.most, rate)
        if rate > PER_PROCESS * processes:
            raise Violation(f"{rate:.0f} parcels a second among {processes} processes: a storm")
