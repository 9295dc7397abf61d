"""What stays in use: of the samples that are out, those that an acknowledgement has left out.

Cyclone asks readers to acknowledge late when a writer hardly pauses, so the samples that are out
rise and fall like a saw, however well its readers are: at 300 a second of 130 bytes, from 0 to 111.
What says that readers do not keep up is what is still out when an acknowledgement has just come, as
a standing queue is told from a good one by its least (CoDel, Nichols and Jacobson). When none has
come for :data:`STALE_S`, all that is out stands.

Constant time and memory.
"""

from __future__ import annotations

from typing import Final

STALE_S: Final = 0.5
"""Longer than a saw's tooth, mostly: writers that pause for 8 ms are acknowledged at once."""


class Standing:
    """What stays in use of a writer."""

    def __init__(self, now: float) -> None:
        self._left = 0
        self._acknowledged_at = now

    def acknowledged(self, used: int, now: float) -> None:
        """An acknowledgement has come, and left so many in use."""
        self._left, self._acknowledged_at = used, now

    def of(self, used: int, now: float) -> int:
        """How many stay of those that are in use now."""
        stale = now - self._acknowledged_at >= STALE_S
        return used if stale else min(self._left, used)
