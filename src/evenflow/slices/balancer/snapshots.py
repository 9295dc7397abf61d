"""The load snapshot that a balancing algorithm is shown, from what is known of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.load import NodeState
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.messages import NodeReport
    from evenflow.slices.balancer.loads import Loads
    from evenflow.slices.balancer.machines import Machines
    from evenflow.slices.balancer.owners import Owners
    from evenflow.slices.balancer.settings import BalancerSettings


def load_snapshot(
    now: float,
    nodes: Mapping[str, NodeReport],
    owners: Owners,
    loads: Loads,
    machines: Machines,
    settings: BalancerSettings,
) -> LoadSnapshot:
    """Nodes, slices and loads; a slice whose owner is not among the nodes has none."""
    capacities = loads.capacities(nodes)
    headrooms = machines.headrooms(nodes)
    return LoadSnapshot(
        now,
        tuple(
            ClusterNode(
                node,
                capacities[node],
                report.leaving,
                report.cpu,
                report.memory,
                headrooms[node],
                _state(report),
            )
            for node, report in nodes.items()
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
        quiet=_is_quiet(owners, loads, settings),
    )


def _state(report: NodeReport) -> NodeState:
    """What a node says of its state; a number that is none counts as normal."""
    known = report.state in NodeState.__members__.values()
    return NodeState(report.state) if known else NodeState.NORMAL


def _is_quiet(owners: Owners, loads: Loads, settings: BalancerSettings) -> bool:
    """Whether the node with the most to do has hardly anything to do."""
    items: dict[str, float] = {}
    busy: dict[str, float] = {}
    for slice_id, owner in enumerate(owners.of):
        rate, work = loads.activity(slice_id)
        items[owner] = items.get(owner, 0.0) + rate
        busy[owner] = busy.get(owner, 0.0) + work
    most_items, most_work = max(items.values(), default=0.0), max(busy.values(), default=0.0)
    return most_items < settings.quiet_items and most_work < settings.quiet_busy
