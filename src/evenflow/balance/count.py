"""``count``: every node the same number of slices, with the fewest moves (the papers' algorithm).

With ``m`` slices on ``n`` nodes every node's quota is ``m // n`` and ``m % n`` nodes hold one
more. The larger quotas go to the nodes that hold the most, so that the number of moved slices,
the sum of what lies above the quotas, is the least possible. Givers and takers are then paired
from the largest surplus and the largest want down, so there are fewer sessions than nodes.

Time does not matter here: loads are not looked at, so there is nothing that could swing to and
fro, and ``settle_s`` is 0 unless the operator says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.base import admitted, require_node, settled, slices_on_leaving
from evenflow.model.plan import Plan, grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.model.snapshot import LoadSnapshot, PlacedSlice


@dataclass(frozen=True, slots=True)
class Count:
    """Even number of slices over the nodes that stay."""

    name: ClassVar[str] = "count"
    settle_s: float = 0.0
    """No slice moves twice within this many seconds, unless its node leaves."""
    return_s: ClassVar[float] = 0.0
    """Only nodes that join or leave make a slice go back."""

    def on_new_processing_node(self, snapshot: LoadSnapshot, node: str) -> Plan:
        """Give the new node its share."""
        require_node(snapshot, node)
        return self._even(snapshot, joined=node)

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        """Bring every node to its quota."""
        return self._even(snapshot)

    def _even(self, snapshot: LoadSnapshot, joined: str | None = None) -> Plan:
        held = snapshot.holdings()
        quotas = _quotas(snapshot, held)
        if not quotas:
            return Plan(expected=self.measure(snapshot), reason="no node can take slices")
        spare = {
            name: _surplus(
                slices,
                quotas.get(name, 0),
                snapshot.time,
                0.0 if joined else self._settle_of(name, quotas),
            )
            for name, slices in held.items()
            if len(slices) > quotas.get(name, 0)
        }
        wanted = {
            name: quota - len(held[name])
            for name, quota in quotas.items()
            if quota > len(held[name])
        }
        single: Iterable[tuple[int, str, str]] = _paired(spare, wanted)
        if joined is not None:
            single = admitted(single, snapshot, self.settle_s, joined)
        moves = grouped(single)
        after = {name: float(len(slices)) for name, slices in held.items()}
        for move in moves:
            after[move.giver] -= len(move.slices)
            after[move.taker] += len(move.slices)
        return Plan(moves, after, "even number of slices" if moves else "number of slices is even")

    def measure(self, snapshot: LoadSnapshot) -> dict[str, float]:
        """Slices on every node."""
        return {name: float(len(slices)) for name, slices in snapshot.holdings().items()}

    def badness(self, snapshot: LoadSnapshot) -> tuple[float, ...]:
        """Slices on leaving nodes, then slices above the quota."""
        held = snapshot.holdings()
        quotas = _quotas(snapshot, held)
        above = sum(max(0, len(held[name]) - quota) for name, quota in quotas.items())
        return (float(slices_on_leaving(snapshot)), float(above))

    def _settle_of(self, name: str, quotas: dict[str, int]) -> float:
        """A leaving node (it has no quota) waits for nothing."""
        return self.settle_s if name in quotas else 0.0


def assign_unowned(snapshot: LoadSnapshot) -> dict[str, tuple[int, ...]]:
    """Owners for the slices that have none: each goes to the node that then holds the fewest.

    Only nodes that get something are in the answer; it is empty when no node can take slices.
    """
    held = snapshot.holdings()
    heap = [(len(held[node.name]), node.name) for node in snapshot.active]
    if not heap:
        return {}
    heapify(heap)
    given: dict[str, list[int]] = {}
    for each in snapshot.unowned:
        size, name = heap[0]
        given.setdefault(name, []).append(each.id)
        heapreplace(heap, (size + 1, name))
    return {name: tuple(ids) for name, ids in sorted(given.items())}


def _quotas(snapshot: LoadSnapshot, held: dict[str, list[PlacedSlice]]) -> dict[str, int]:
    """How many slices each staying node should hold; the fullest nodes get the larger quotas."""
    names = sorted(
        (node.name for node in snapshot.active), key=lambda name: (-len(held[name]), name)
    )
    if not names:
        return {}
    even, more = divmod(sum(len(slices) for slices in held.values()), len(names))
    return {name: even + (rank < more) for rank, name in enumerate(names)}


def _surplus(slices: list[PlacedSlice], quota: int, now: float, settle_s: float) -> list[int]:
    """The slices a node gives away: those that moved the longest ago, then by number."""
    free = sorted((each.moved_at, each.id) for each in slices if settled(each, now, settle_s))
    return [slice_id for _, slice_id in free[: len(slices) - quota]]


def _paired(spare: dict[str, list[int]], wanted: dict[str, int]) -> Iterator[tuple[int, str, str]]:
    """Hand the spare slices out, the fullest giver to the emptiest taker."""
    takers = sorted(wanted, key=lambda name: (-wanted[name], name))
    places = (taker for taker in takers for _ in range(wanted[taker]))
    for giver in sorted(spare, key=lambda name: (-len(spare[name]), name)):
        for slice_id in spare[giver]:
            taker = next(places, None)
            if taker is None:
                return
            yield slice_id, giver, taker
