"""``capacity``: as ``weighted``, for nodes of different strength.

A node's share is in proportion to its capacity in the snapshot, which the balancer learns from
what the node achieves (:mod:`evenflow.balance.node_strength`), so that all nodes are equally busy
and not equally loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.levelling import Levelling

if TYPE_CHECKING:
    from evenflow.model.snapshot import ClusterNode


@dataclass(frozen=True, slots=True)
class Capacity(Levelling):
    """Load in proportion to the nodes' capacities."""

    name: ClassVar[str] = "capacity"

    def strength_of(self, node: ClusterNode) -> float:
        """The capacity that was configured or learned."""
        return node.capacity
