"""Time that passes in a schedule while what is broken stays so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.testing.cluster import TICK
from evenflow.testing.serving_cluster import ServingCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.testing.cluster import SimCluster

LONG_TICK = 0.1
"""Steps of a longer pause: they need not be fine."""


def processes(cluster: SimCluster) -> list[str]:
    """Everybody's address."""
    consumers = list(cluster.consumers) if isinstance(cluster, ServingCluster) else []
    return [*cluster.publishers, *cluster.nodes, *consumers, *cluster.running]


def calm(cluster: SimCluster, seconds: float, *, working: bool = True) -> None:
    """Time passes, what was sent arrives, and unless told otherwise everybody works."""
    end, tick = cluster.now + seconds, TICK if seconds < 1.0 else LONG_TICK
    while cluster.now < end:
        while cluster.network.parcels:
            cluster.network.deliver(0)
        if working:
            cluster.work()
        cluster.advance(tick)


def calm_until(
    cluster: SimCluster, reached: Callable[[], bool], seconds: float, *, working: bool = True
) -> bool:
    """The same until something is reached; whether it was."""
    end = cluster.now + seconds
    while not reached():
        if cluster.now >= end:
            return False
        calm(cluster, TICK, working=working)
    return True


def make_whole(cluster: SimCluster) -> None:
    """Mend all paths and continue everybody, so that there is something to disturb."""
    cluster.network.heal()
    for process in list(cluster.network.stopped):
        cluster.network.go_on(process)
    for name, balancer in cluster.running.items():
        if balancer.stopped:
            cluster.continue_balancer(name)
    for node, sim in cluster.nodes.items():
        if sim.stopped:
            cluster.continue_node(node)
    if not cluster.running:
        cluster.start_balancer()
    while sum(not sim.misfit for sim in cluster.nodes.values()) < 2:
        cluster.start_node()
    calm(cluster, 2.0)
