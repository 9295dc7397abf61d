"""Node loads of the three resilience levels, kept as topics come and go (section IV-C, eq. 1-4).

A topic at a coordinate lies on its *spot*: the nodes closest to the coordinate, closest first, at
most three. All coordinates with the same spot are alike for every load. The load of a topic counts

- on ``N_1`` at level 1,
- on ``N_1`` and ``N_2`` at level 2,
- and at level 3 also on ``N_3``, but only while ``N_1`` or ``N_2`` has failed. One node fails at a
  time, so ``N_3`` needs room for its worst failure, not for the sum of them.

So a node keeps one sum per level and, for each node whose failure would burden it, one more. Adding
or removing a topic touches at most seven sums, however many topics there are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from evenflow.errors import OverlayError

if TYPE_CHECKING:
    from collections.abc import Mapping

N = TypeVar("N", int, str)

LEVELS = 3
"""Nodes in a spot: as many as the highest resilience level uses."""


class Level(IntEnum):
    """How many nodes must fail before a topic is lost."""

    ONE = 1
    """No resilience: one copy."""
    TWO = 2
    """Two copies; survives one failure."""
    THREE = 3
    """Two copies and a third made after a failure; survives two failures, one after the other."""


class _Sums(dict[N, tuple[float, int]]):
    """Sums of topic loads by node, exactly zero again when the last topic is gone."""

    __slots__ = ()

    def add(self, node: N, load: float, topics: int) -> None:
        before, count = self.get(node, (0.0, 0))
        if count + topics:
            self[node] = (before + load, count + topics)
        else:
            del self[node]

    def lessen(self, node: N, load: float) -> None:
        if node in self:
            before, count = self[node]
            self[node] = (max(0.0, before - load), count)

    def of(self, node: N) -> float:
        return self.get(node, (0.0, 0))[0]


class NodeLoads(Generic[N]):
    """The loads of all nodes under the topics placed so far."""

    __slots__ = ("_additional", "_primary", "_stored")

    def __init__(self) -> None:
        self._primary: _Sums[N] = _Sums()
        self._stored: _Sums[N] = _Sums()
        self._additional: dict[N, _Sums[N]] = {}

    def add(self, spot: tuple[N, ...], load: float) -> None:
        """Count a topic that is placed on a spot."""
        self._count(spot, load, 1)

    def remove(self, spot: tuple[N, ...], load: float) -> None:
        """Forget a topic that was placed on a spot with this load."""
        if not self._primary.get(spot[0], (0.0, 0))[1]:
            raise OverlayError(f"no topic lies on {spot[0]!r}: remove what was added, once")
        self._count(spot, -load, -1)

    def move(self, old: tuple[N, ...], new: tuple[N, ...], load: float) -> None:
        """Count a topic on another spot than before."""
        self.remove(old, load)
        self.add(new, load)

    def _count(self, spot: tuple[N, ...], load: float, topics: int) -> None:
        if not 1 <= len(spot) <= LEVELS or len(set(spot)) != len(spot):
            raise OverlayError(f"a spot is one to three different nodes, not {spot!r}")
        holders, third = spot[:2], spot[2:]
        self._primary.add(spot[0], load, topics)
        for node in holders:
            self._stored.add(node, load, topics)
        for node in third:
            additional = self._additional.setdefault(node, _Sums())
            for failed in holders:
                additional.add(failed, load, topics)

    def put(self, node: N, stored: float, failures: Mapping[N, float]) -> None:
        """Take what a node itself says it bears: eq. 2, and the sums in eq. 3 by failed node."""
        self._stored[node] = (stored, 1)
        self._additional[node] = _Sums({failed: (load, 1) for failed, load in failures.items()})

    def lighten(self, spot: tuple[N, ...], load: float) -> None:
        """Leave a topic out of what was put, as far as the nodes of its spot are known."""
        for node in spot[:2]:
            self._stored.lessen(node, load)
        for node in spot[2:]:
            for failed in spot[:2]:
                self._additional.get(node, _Sums()).lessen(failed, load)

    def failures(self, node: N) -> dict[N, float]:
        """Return the sums in eq. 3 of a node, by the node whose failure brings them."""
        return {failed: load for failed, (load, _) in self._additional.get(node, _Sums()).items()}

    def stored(self, node: N) -> float:
        """Return the load of the topics kept by a node while no node fails: L_N^2, eq. 2."""
        return self._stored.of(node)

    def additional_if_failed(self, node: N, failed: N) -> float:
        """Return the load that the failure of ``failed`` puts on a node: the sum in eq. 3."""
        return self._additional[node].of(failed) if node in self._additional else 0.0

    def additional(self, node: N) -> float:
        """Return the load of a node's worst single failure: L_aN^3, eq. 3."""
        sums = self._additional.get(node)
        return max((load for load, _ in sums.values()), default=0.0) if sums else 0.0

    def load(self, node: N, level: Level) -> float:
        """Return the load of a node at a resilience level: L_N^i, eq. 1, 2 and 4."""
        if level == Level.ONE:
            return self._primary.of(node)
        if level == Level.TWO:
            return self.stored(node)
        return self.stored(node) + self.additional(node)
