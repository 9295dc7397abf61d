"""The load snapshot: everything a balancing algorithm may know, at one moment.

The balancer builds one from the nodes' reports; the algorithms of :mod:`evenflow.balance` are
pure functions of it (DPSLB thesis, ch. 3; MAPE-SDDL, section IV.B). It names each slice with
its owner, its load and when it last moved, so that a plan can say *which* slices move and not
only how many.

A snapshot that contradicts itself (two nodes of one name, an owner nobody knows, a load below
zero) is refused when it is made: no algorithm has to think about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING

from evenflow.errors import SnapshotError
from evenflow.model.load import NodeState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.load import Outlook


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A processing node as the balancer sees it."""

    name: str
    capacity: float = 1.0
    """Strength, relative to the other nodes; where learned, the load it can carry."""
    leaving: bool = False
    """It gives all its slices away and takes none."""
    cpu: float = 0.0
    """Percent of all cores of its machine that are busy, whoever keeps them so."""
    memory: float = 0.0
    """Percent of the memory of its machine that is in use."""
    headroom: float = 1.0
    """The part of its machine that other programs leave to the nodes there."""
    state: NodeState = NodeState.NORMAL


@dataclass(frozen=True, slots=True)
class PlacedSlice:
    """A slice, where it is and what it weighs."""

    id: int
    owner: str | None
    """The node that processes it, ``None`` while it has no owner."""
    load: float = 0.0
    """Measured load, in the unit the operator chose (:class:`~evenflow.model.load.LoadWeights`)."""
    moved_at: float = -inf
    """When it last changed its owner, on the clock of ``LoadSnapshot.time``."""
    came_from: str | None = None
    """The node that gave it away when it last moved."""
    outlook: Outlook | None = None
    """Its expected load, when enough has been seen to expect anything."""


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """Nodes and slices at one moment, both kept sorted: equal clusters are equal snapshots."""

    time: float
    """When it was taken, in seconds of the balancer's clock."""
    nodes: tuple[ClusterNode, ...]
    slices: tuple[PlacedSlice, ...]
    quiet: bool = False
    """No node has more than hardly anything to do: numbers of slices say more than loads."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(sorted(self.nodes, key=lambda node: node.name)))
        object.__setattr__(self, "slices", tuple(sorted(self.slices, key=lambda each: each.id)))
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        names = {node.name for node in self.nodes}
        if len(names) != len(self.nodes):
            raise SnapshotError("two nodes of one name; give every node its own name")
        if "" in names:
            raise SnapshotError("a node without a name; give every node a name")
        for node in self.nodes:
            if not (isfinite(node.capacity) and node.capacity > 0):
                raise SnapshotError(
                    f"capacity of node {node.name!r} is {node.capacity}; it must be above 0"
                )
            if not 0 < node.headroom <= 1:
                raise SnapshotError(
                    f"headroom of node {node.name!r} is {node.headroom}; it must be from 0 to 1"
                )
        previous = None
        for each in self.slices:
            if each.id == previous:
                raise SnapshotError(
                    f"slice {each.id} is in the snapshot twice; a slice has one owner"
                )
            if each.owner is not None and each.owner not in names:
                raise SnapshotError(
                    f"slice {each.id} belongs to unknown node {each.owner!r}; "
                    "add the node or leave the slice without an owner"
                )
            if not (isfinite(each.load) and each.load >= 0):
                raise SnapshotError(f"load of slice {each.id} is {each.load}; it must be 0 or more")
            previous = each.id

    @property
    def active(self) -> tuple[ClusterNode, ...]:
        """The nodes that may take slices: all but the leaving ones."""
        return tuple(node for node in self.nodes if not node.leaving)

    @property
    def unowned(self) -> tuple[PlacedSlice, ...]:
        """Slices without an owner."""
        return tuple(each for each in self.slices if each.owner is None)

    def holdings(self) -> dict[str, list[PlacedSlice]]:
        """The slices of every node, by name of the node, each list ordered by slice id."""
        held: dict[str, list[PlacedSlice]] = {node.name: [] for node in self.nodes}
        for each in self.slices:
            if each.owner is not None:
                held[each.owner].append(each)
        return held

    def loads(self) -> dict[str, float]:
        """The sum of the loads on every node, by name of the node."""
        sums = {node.name: 0.0 for node in self.nodes}
        for each in self.slices:
            if each.owner is not None:
                sums[each.owner] += each.load
        return sums

    def with_owners(self, owners: Mapping[int, str], at: float) -> LoadSnapshot:
        """The snapshot after the given slices went to the given nodes at time ``at``."""
        return replace(
            self,
            time=at,
            slices=tuple(
                replace(each, owner=owners[each.id], moved_at=at, came_from=each.owner)
                if each.id in owners
                else each
                for each in self.slices
            ),
        )
