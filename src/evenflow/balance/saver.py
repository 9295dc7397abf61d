"""``saver``: the load on as few nodes as can carry it, the others idle and ready to be stopped.

The papers' example of another algorithm in the same place: one that "tries to minimize the
system's global energy consumption" (MAPE-SDDL, section VII). Capacities must be known in the
unit of the loads, configured or learned (:mod:`evenflow.balance.node_strength`).

A node is packed up to ``fill`` of its capacity and relieved only above ``limit``; what lies
between is room for loads to swing without anything moving. A plan is drawn in three steps:

1. *Clear* leaving nodes.
2. *Relieve* nodes above the limit, into nodes at work if they have room, else into an idle one.
3. *Release*: the weakest and least loaded nodes are emptied one by one, as long as all their slices
   find room in the nodes that stay at work.

How slices find room is in :mod:`evenflow.balance.bin_packing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.base import require_node, slices_on_leaving
from evenflow.balance.bin_packing import BinPacking
from evenflow.balance.count import Count
from evenflow.balance.levelling_steps import Economy
from evenflow.errors import ConfigError
from evenflow.model.plan import Plan, grouped

if TYPE_CHECKING:
    from evenflow.model.snapshot import LoadSnapshot


@dataclass(frozen=True, slots=True)
class Saver:
    """As few nodes at work as can carry the load."""

    name: ClassVar[str] = "saver"
    fill: float = 0.7
    """A node is packed up to this part of its capacity."""
    limit: float = 0.9
    """A node above this part of its capacity is relieved."""
    min_nodes: int = 1
    """The least number of nodes that stay at work."""
    settle_s: float = 60.0
    """No slice moves twice within this many seconds, unless its node leaves."""
    return_s: float = 300.0
    """No slice goes back where it came from within this many seconds, unless its node leaves."""
    horizon_s: float = 300.0
    """For how long an emptied node is expected to stay idle."""
    pause_s: float = 0.5
    """For how long the items of a slice wait while it moves."""

    def __post_init__(self) -> None:
        if not 0 < self.fill <= self.limit < inf:
            allowed = "must be above 0 and at most the limit"
            raise ConfigError("balance.saver.fill", self.fill, allowed)
        for key in ("min_nodes", "settle_s", "return_s", "horizon_s", "pause_s"):
            if not 0 <= getattr(self, key) < inf:
                raise ConfigError(f"balance.saver.{key}", getattr(self, key), "must be 0 or more")

    def on_new_processing_node(self, snapshot: LoadSnapshot, node: str) -> Plan:
        """A new node stays idle until it is needed."""
        require_node(snapshot, node)
        return self.analyze_load(snapshot)

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        """Clear, relieve and pack."""
        if not any(each.load for each in snapshot.slices if each.owner is not None):
            plan = Count(max(self.settle_s, self.return_s)).analyze_load(snapshot)
            reason = f"no load measured: {plan.reason}"
            return Plan(plan.moves, self.measure(snapshot), reason)
        packing = BinPacking(snapshot, self.fill, self.settle_s, self.return_s)
        for node in snapshot.nodes:
            if node.leaving:
                packing.clear(node.name)
        for node in snapshot.active:
            packing.relieve(node.name, self.limit * node.capacity)
        released = packing.release(self._pays, max(1, self.min_nodes))
        plan = Plan(
            grouped(packing.moves), reason=f"nodes released: {', '.join(released) or 'none'}"
        )
        return replace(plan, expected=self.measure(plan.applied_to(snapshot)))

    def measure(self, snapshot: LoadSnapshot) -> dict[str, float]:
        """Load of every node, as measured."""
        return snapshot.loads()

    def badness(self, snapshot: LoadSnapshot) -> tuple[float, ...]:
        """Slices on leaving nodes, then load above the limits, then nodes at work."""
        loads = self.measure(snapshot)
        if not any(loads.values()):
            return Count().badness(snapshot)
        held = snapshot.holdings()
        above = sum(max(0.0, loads[n.name] - self.limit * n.capacity) for n in snapshot.active)
        working = sum(bool(held[node.name]) for node in snapshot.active)
        return (float(slices_on_leaving(snapshot)), above, float(working))

    def _pays(self, capacity: float, moved: float) -> bool:
        """Whether an idle node of this capacity is worth moving this load."""
        return Economy(self.horizon_s, self.pause_s).pays(capacity, moved)
