"""A node's lease: whether it may go on processing what it owns.

A lease answers one question for an application that is a Python callable: might somebody else have
been given my slices without my knowing? Each report of the node has a number; the balancer's beat
says which number it heard; the lease runs from the moment that report was *sent*. It ends in two
ways:

* *silence*: no report was confirmed for ``length`` seconds. A balancer that dies and comes back
  sooner stops nobody.
* *stall*: the node itself stood still (``stall`` seconds without a tick: a stopped process, a
  swapped-out host). It must have looked dead to the others, so it waits until the balancer has
  confirmed a report sent after it woke, and until it has the pages of the slice map which that
  beat names.

Exactly-once commits do not rest on this: publishers refuse the commits of an older term. The lease
keeps a stale owner from doing the work again in vain, and so from showing its side effects twice.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Lease:
    """The lease of one node on one topic."""

    __slots__ = (
        "_confirmed",
        "_last_tick",
        "_length",
        "_needs",
        "_pages",
        "_sent",
        "_since",
        "_stall",
    )

    def __init__(self, length: float, stall: float, now: float) -> None:
        self._length = length
        self._stall = stall
        self._since = now
        self._last_tick = now
        self._confirmed = 0
        self._needs = 0
        """Report that must be confirmed before processing goes on after a stall."""
        self._pages: dict[int, int] = {}
        """Versions of the map's pages that must be known before it goes on."""
        self._sent: deque[tuple[int, float]] = deque(maxlen=1024)

    def tick(self, now: float, next_report: int) -> bool:
        """Tell the time, often. True when the node finds that it stood still."""
        stalled = now - self._last_tick > self._stall
        if stalled:
            self._needs = next_report
        self._last_tick = now
        return stalled

    def on_report_sent(self, number: int, now: float) -> None:
        """The node sent this report."""
        self._sent.append((number, now))

    def on_report_confirmed(self, number: int, pages: Sequence[int]) -> None:
        """A beat confirmed this report and named the version of each page of the slice map."""
        if number < self._confirmed:
            return
        self._confirmed = number
        for page, version in enumerate(pages):
            self._pages[page] = max(version, self._pages.get(page, 0))
        while self._sent and self._sent[0][0] <= number:
            self._since = self._sent.popleft()[1]

    def holds(self, now: float, pages: Mapping[int, int]) -> bool:
        """Whether the node may process, knowing these versions of the slice map's pages."""
        if now - self._last_tick > self._stall or now - self._since > self._length:
            return False
        if self._needs:
            if self._confirmed < self._needs:
                return False
            if any(pages.get(page, 0) < version for page, version in self._pages.items()):
                return False
            self._needs = 0
        return True
