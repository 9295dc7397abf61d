"""Moves for the sake of balance: planned when the membership changed, begun when nodes are free.

The algorithm is asked once for all that changed, not for each node that joins, and not before a
while has passed: a new node has to find the publishers first, and what failed just now would fail
again. A node is in one session at a time, so the moves of a plan wait in a queue for one another.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from evenflow.model.plan import Move

if TYPE_CHECKING:
    from collections.abc import Container

    from evenflow.balance import Algorithm
    from evenflow.model.snapshot import LoadSnapshot
    from evenflow.slices.owners import Owners


class Rebalancing:
    """What one topic's balancer moves because nodes came or went."""

    def __init__(self, now: float, pause: float) -> None:
        self._wanted = False
        self._queue: deque[Move] = deque()
        self._pause = pause
        self._not_before = now

    @property
    def under_way(self) -> bool:
        """Whether planned moves wait for their nodes."""
        return bool(self._queue)

    def want(self) -> None:
        """The membership changed."""
        self._wanted = True

    def recovered(self, *, wanted: bool) -> None:
        """What was uneven before a new balancer stays, unless something calls for moves."""
        self._wanted = wanted

    def wait(self, now: float) -> None:
        """Plan nothing for a while."""
        self._not_before = now + self._pause

    def due(self, now: float) -> bool:
        """Whether it is time for a plan."""
        return self._wanted and now >= self._not_before and not self._queue

    def plan(self, algorithm: Algorithm, snapshot: LoadSnapshot) -> None:
        """Ask the algorithm what to move."""
        self._wanted = False
        if snapshot.nodes:
            self._queue.extend(algorithm.analyze_load(snapshot).moves)

    def forget(self, node: str) -> None:
        """A node is gone: what it should give or take is void."""
        self._queue = deque(m for m in self._queue if node not in (m.giver, m.taker))

    def startable(self, busy: set[str], owners: Owners, nodes: Container[str]) -> list[Move]:
        """The queued moves whose two nodes are free, with what the giver still owns of them."""
        taken = set(busy)
        ready: list[Move] = []
        waiting: deque[Move] = deque()
        for move in self._queue:
            if move.giver in taken or move.taker in taken:
                waiting.append(move)
            else:
                owned = tuple(s for s in move.slices if owners.of[s] == move.giver)
                if owned and move.taker in nodes:
                    ready.append(Move(owned, move.giver, move.taker))
            taken |= {move.giver, move.taker}
        self._queue = waiting
        return ready
