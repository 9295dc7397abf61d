"""The load snapshot that a balancing algorithm is shown, from what is known of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.messages import NodeReport
    from evenflow.slices.balancer.loads import Loads
    from evenflow.slices.balancer.owners import Owners


def load_snapshot(
    now: float, nodes: Mapping[str, NodeReport], owners: Owners, loads: Loads
) -> LoadSnapshot:
    """Nodes, slices and loads; a slice whose owner is not among the nodes has none."""
    capacities = loads.capacities(nodes)
    return LoadSnapshot(
        now,
        tuple(
            ClusterNode(node, capacities[node], report.leaving) for node, report in nodes.items()
        ),
        tuple(
            PlacedSlice(
                slice_id,
                owner if owner in nodes else None,
                loads.of(slice_id),
                moved_at=owners.moved_at[slice_id],
                came_from=owners.came_from[slice_id] or None,
                outlook=loads.outlook(slice_id),
            )
            for slice_id, owner in enumerate(owners.of)
        ),
    )
