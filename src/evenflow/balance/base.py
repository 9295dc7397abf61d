"""What a load balancing algorithm is.

The interface of the papers (``onNewProcessingNode``, ``analyzeLoad``; MAPE-SDDL, section IV.B)
with the slices named: an algorithm looks at a :class:`~evenflow.model.snapshot.LoadSnapshot`
and returns a :class:`~evenflow.model.plan.Plan`. It holds settings and nothing else: no clock,
no state, no random numbers. The same snapshot gives the same plan, wherever and whenever it is
asked.

Rules that bind every algorithm, and that :mod:`evenflow.balance.verify` checks:

- A leaving node takes nothing, and gives everything as soon as any other node can take it.
- A slice that moved less than ``settle_s`` ago stays, and one that moved less than ``return_s``
  ago does not go back where it came from, unless its node leaves. To a node that has just joined
  slices may go at once: it has never had them, so nothing can swing to and fro.
- What the algorithm makes small (:meth:`Algorithm.badness`) does not grow.
- Slices without an owner are left alone: :func:`evenflow.balance.count.assign_unowned` places
  those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from evenflow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.plan import Plan
    from evenflow.model.snapshot import LoadSnapshot, PlacedSlice


class Algorithm(Protocol):
    """A load balancing algorithm: settings and two questions it can answer."""

    name: ClassVar[str]
    """Its name in the operator's file."""

    @property
    def settle_s(self) -> float:
        """No slice moves twice within this many seconds."""
        ...

    @property
    def return_s(self) -> float:
        """No slice goes straight back to the node it came from within this many seconds."""
        ...

    def on_new_processing_node(self, snapshot: LoadSnapshot, node: str) -> Plan:
        """What to move because ``node``, which is in the snapshot, has just joined."""
        ...

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        """What to move now; an empty plan when all is well."""
        ...

    def measure(self, snapshot: LoadSnapshot) -> dict[str, float]:
        """The load of every node as this algorithm sees it; the unit of ``Plan.expected``."""
        ...

    def badness(self, snapshot: LoadSnapshot) -> tuple[float, ...]:
        """What the algorithm makes small, the most important first; compared part by part."""
        ...


def require_node(snapshot: LoadSnapshot, node: str) -> None:
    """Refuse a node that the snapshot does not know."""
    if all(each.name != node for each in snapshot.nodes):
        raise PlanError(f"node {node!r} is not in the snapshot; take a snapshot after it joined")


def settled(each: PlacedSlice, now: float, settle_s: float) -> bool:
    """Whether the slice's last move is long enough ago for another."""
    return now - each.moved_at >= settle_s


def barred_from(each: PlacedSlice, now: float, return_s: float) -> str | None:
    """The node to which the slice may not go because it has only just come from there."""
    return each.came_from if now - each.moved_at < return_s else None


def admitted(
    moves: Iterable[tuple[int, str, str]], snapshot: LoadSnapshot, settle_s: float, joined: str
) -> list[tuple[int, str, str]]:
    """Of moves ``(slice, giver, taker)`` those that a join allows: to the new node, or settled."""
    leaving = {node.name for node in snapshot.nodes if node.leaving}
    placed = {each.id: each for each in snapshot.slices}
    return [
        (slice_id, giver, taker)
        for slice_id, giver, taker in moves
        if taker == joined or giver in leaving or settled(placed[slice_id], snapshot.time, settle_s)
    ]


def slices_on_leaving(snapshot: LoadSnapshot) -> int:
    """How many slices are still on leaving nodes, when there is another node to take them."""
    leaving = {node.name for node in snapshot.nodes if node.leaving}
    if len(leaving) == len(snapshot.nodes):
        return 0
    return sum(each.owner in leaving for each in snapshot.slices)
