"""Moves for the sake of balance: planned when the membership changed, begun when nodes are free.

The algorithm is asked once for all that changed, not for each node that joins, and not before a
while has passed: a new node has to find the publishers first, and what failed just now would fail
again. A node is in one session at a time, so the moves of a plan wait in a queue for one another.
Every move carries the reason: what changed, and what the algorithm makes of it.

No plan is begun that :mod:`evenflow.balance.verify` finds a fault with. ``count`` stands in for an
algorithm whose plan is refused, so that a node can leave whatever algorithm is at work.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from evenflow.balance.count import Count
from evenflow.balance.verify import sound_plan
from evenflow.errors import PlanError
from evenflow.model.plan import Move
from evenflow.slices.balancer.members import name_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from evenflow.balance import Algorithm
    from evenflow.model.messages import NodeReport
    from evenflow.model.snapshot import LoadSnapshot
    from evenflow.slices.balancer.owners import Found, Owners


MOST_REASONS = 5
"""So many changes are named in the reason of a plan."""


class Rebalancing:
    """What one topic's balancer moves because nodes came or went."""

    def __init__(self, now: float, pause: float) -> None:
        self.refused = 0
        """Plans with faults, which were not carried out."""
        self._wanted: list[str] = []
        """What has changed since the last plan."""
        self._queue: deque[tuple[Move, str]] = deque()
        self._pause = pause
        self._not_before = now

    def want(self, why: str) -> None:
        """The membership changed."""
        if why not in self._wanted:
            self._wanted.append(why)

    def begin_with(self, reasons: Iterable[str]) -> None:
        """A new balancer knows the nodes: what was uneven stays, unless something calls for moves.

        Args:
            reasons: What calls for moves.
        """
        self._wanted = list(reasons)

    def wait(self, now: float) -> None:
        """Plan nothing for a while."""
        self._not_before = now + self._pause

    def due(self, now: float) -> bool:
        """Whether it is time for a plan."""
        return bool(self._wanted) and now >= self._not_before and not self._queue

    def plan(self, algorithm: Algorithm, snapshot: LoadSnapshot) -> None:
        """Ask the algorithm what to move."""
        why = _listed(self._wanted)
        self._wanted = []
        if not snapshot.nodes:
            return
        try:
            plan = sound_plan(algorithm, snapshot)
        except PlanError as error:
            self.refused += 1
            plan = sound_plan(Count(), snapshot)
            why += f"; count stands in, because the plan was {error.reason}"
        self._queue.extend((move, f"{why}: {plan.reason}") for move in plan.moves)

    def forget(self, node: str) -> None:
        """A node is gone: what it should give or take is void."""
        self._queue = deque(
            (move, why) for move, why in self._queue if node not in (move.giver, move.taker)
        )

    def startable(
        self, busy: set[str], owners: Owners, nodes: Container[str]
    ) -> list[tuple[Move, str]]:
        """The queued moves whose two nodes are free, with the slices the giver still owns; why."""
        taken = set(busy)
        ready: list[tuple[Move, str]] = []
        waiting: deque[tuple[Move, str]] = deque()
        for move, why in self._queue:
            if move.giver in taken or move.taker in taken:
                waiting.append((move, why))
            else:
                owned = tuple(s for s in move.slices if owners.of[s] == move.giver)
                if owned and move.taker in nodes:
                    ready.append((Move(owned, move.giver, move.taker), why))
            taken |= {move.giver, move.taker}
        self._queue = waiting
        return ready


def calls_for_moves(
    sessions: Mapping[int, Found], owners: Owners, nodes: Mapping[str, NodeReport]
) -> Iterator[str]:
    """What a new balancer finds that tells of a membership that changed while nobody balanced."""
    if sessions:
        yield "a handover was interrupted"
    if "" in owners.of:
        yield "slices had no owner"
    for node, report in nodes.items():
        if report.leaving:
            yield f"{name_of(node)} leaves"
        elif not report.slices:
            yield f"{name_of(node)} had no slices"


def _listed(reasons: list[str]) -> str:
    more = len(reasons) - MOST_REASONS
    return ", ".join(reasons[:MOST_REASONS]) + (f" and {more} more" if more > 0 else "")
