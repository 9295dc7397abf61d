"""Strength: how much load a node can carry, learned from what it achieves.

A node that did 300 items in a second in which it was at work 60 % of the time could have done
500. The estimate is the work of the recent past divided by the busy time of the recent past.
Both sums fade with ``memory_s``, so a node that is slowed down by a neighbour on the same
machine is known to be weaker a while later. A moment of little work adds little to both sums
and so hardly moves the estimate.

The unit is that of the load: the same weights must be used for slices and for work done.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class _Past:
    work: float = 0.0
    busy_s: float = 0.0


class StrengthLearner:
    """Learns the strength of every node.

    Args:
        memory_s: After this many seconds an observation counts for about a third.
        enough_s: So much busy time must have been seen before anything is said about a node.
    """

    def __init__(self, *, memory_s: float = 120.0, enough_s: float = 2.0) -> None:
        self._memory_s = memory_s
        self._enough_s = enough_s
        self._past: dict[str, _Past] = {}

    def observe(self, node: str, *, work: float, busy_s: float, elapsed_s: float) -> None:
        """A node did this much work, was busy for this long, in this much time."""
        past = self._past.setdefault(node, _Past())
        fade = exp(-elapsed_s / self._memory_s)
        past.work = past.work * fade + work
        past.busy_s = past.busy_s * fade + min(busy_s, elapsed_s)

    def strength(self, node: str) -> float | None:
        """Load the node can carry; ``None`` while too little is known."""
        past = self._past.get(node)
        if past is None or past.busy_s < self._enough_s or past.work <= 0:
            return None
        return past.work / past.busy_s

    def capacities(self, nodes: Iterable[str]) -> dict[str, float]:
        """A capacity for every node; one that is not known yet counts as an average one."""
        known = {node: self.strength(node) for node in nodes}
        learned = [strength for strength in known.values() if strength is not None]
        average = fmean(learned) if learned else 1.0
        return {node: average if value is None else value for node, value in known.items()}

    def forget(self, node: str) -> None:
        """The node has left."""
        self._past.pop(node, None)
