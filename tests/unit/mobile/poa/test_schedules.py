"""Random schedules of a whole mobile edge with its PoA-Manager: once, in order, and even."""

from __future__ import annotations

import pytest

from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.testing.mobile.cluster import MobileCluster
from evenflow.testing.mobile.schedules import FAULTS, _publish, _send

from .simulated import SimManager

CLIENTS = 7
CALM_S = 120.0


def played(seed: int, steps: int = 120) -> tuple[MobileCluster, SimManager]:
    settings = GatewaySettings(leave_s=3.0, hello_s=2.0)
    cluster = MobileCluster(seed, settings, clients=CLIENTS)
    manager = SimManager(cluster, rest_s=5.0, least_gain=0.1, pace_per_s=0.0, within_s=5.0)
    faults = cluster.random.choice([0.03, 0.1, 0.25])
    for _ in range(steps):
        choice = cluster.random.random()
        if choice < faults / 6:
            restart_or_stop(manager)
        elif choice < faults:
            cluster.random.choice(FAULTS)(cluster)
        elif choice < 0.55:
            _publish(cluster)
        elif choice < 0.65:
            _send(cluster)
        else:
            pause = cluster.random.choice([0.02, 0.3, 2.0, 6.0])
            cluster.time.run(cluster.now + pause)
    if manager.stopped:
        cluster.time.go_on(manager)
    if not manager.alive:
        manager.start()
    cluster.settle()
    cluster.time.run(cluster.now + CALM_S)
    return cluster, manager


def restart_or_stop(manager: SimManager) -> None:
    """Kill it, to be started again with empty hands; or let it stand still, or go on."""
    cluster = manager.cluster
    if manager.stopped:
        cluster.time.go_on(manager)
    elif manager.alive and cluster.random.random() < 0.3:
        manager.stopped = True
    elif manager.alive:
        manager.kill()
        pause = cluster.random.choice([0.01, 1.0, 10.0])
        cluster.time.later(pause, lambda: None if manager.alive else manager.start())


@pytest.mark.parametrize("seed", range(20))
def test_everything_once_and_in_order_and_gateways_even_in_the_end(seed: int) -> None:
    """`settle` and `check` raise for anything lost, repeated or out of order."""
    cluster, manager = played(seed)
    before = manager.orders
    cluster.time.run(cluster.now + CALM_S)
    cluster.check()
    assert manager.orders == before, "nobody goes to and fro when all is quiet"
    counts = sorted(len(post.nodes) for post in manager.manager.view.posts())
    assert sum(counts) == CLIENTS, "the view is what is"
    assert len(counts) == len(cluster.gateways)
    assert counts[-1] - counts[0] <= 1
    held = {post.name: set(post.nodes) for post in manager.manager.view.posts()}
    for name, gateway in cluster.gateways.items():
        assert gateway.core is not None
        assert gateway.core.sessions.clients == len(held[name])
