"""``weighted``: every node the same load, by what each slice was measured to weigh.

What the papers' future work asks for (MAPE-SDDL, section VIII): to "decide which specific Slices,
not only how many, should be moved". All nodes count as equally strong, except that one whose
machine is busy with other work counts for what that work leaves to it, so a node that is hot is
relieved whatever made it hot. The method is in :mod:`evenflow.balance.levelling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.levelling import Levelling

if TYPE_CHECKING:
    from evenflow.model.snapshot import ClusterNode


@dataclass(frozen=True, slots=True)
class Weighted(Levelling):
    """Even load over nodes that count as equal."""

    name: ClassVar[str] = "weighted"

    def strength_of(self, node: ClusterNode) -> float:
        """What other programs leave of the node's machine."""
        return node.headroom
