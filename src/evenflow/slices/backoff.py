"""Backoff: pauses between repetitions that double, up to a longest one.

An order is repeated until it is answered. Whoever does not answer is dead, cut off or busy, and
none of these gets better by being asked more often.
"""

from __future__ import annotations

LONGEST = 2.0
"""Seconds between two orders of one kind to one node, at the most."""


class Backoff:
    """The pauses before the repetitions of one thing.

    Args:
        first: Seconds before the first repetition.
        longest: No pause is longer, unless the first one is.
    """

    __slots__ = ("_longest", "_pause")

    def __init__(self, first: float, longest: float = LONGEST) -> None:
        self._pause = first
        self._longest = max(first, longest)

    def next(self) -> float:
        """How long to wait before the next repetition."""
        pause = self._pause
        self._pause = min(2 * pause, self._longest)
        return pause
