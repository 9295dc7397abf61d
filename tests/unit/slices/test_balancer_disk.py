"""The disk of a balancer is full, or tells what nobody has heard: a cut is the same for everybody.

What a balancer decides counts for everybody when it is on disk and every node knows it. Before, the
next balancer learns it from the nodes, or it is void.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenflow.model.messages import Commit, ConsumerCommit
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.serving_cluster import ServingCluster

SLICES = 4
LONG = 20.0
"""Seconds; many times what makes a writer silent."""


def application() -> SimCluster:
    settings = NodeSettings(deliver_items=2, writer_silence=SILENCE)
    return SimCluster(SLICES, node_settings=settings, balancer_settings=PATIENCE)


def served() -> ServingCluster:
    settings = NodeSettings(serving=True, writer_silence=SILENCE)
    return ServingCluster(SLICES, node_settings=settings, balancer_settings=PATIENCE)


@pytest.fixture(params=[application, served])
def cluster(request: pytest.FixtureRequest) -> SimCluster:
    make: Callable[[], SimCluster] = request.param
    cluster = make()
    cluster.balancers.own_disks = True
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    publish(cluster, *cluster.publishers)
    passes(cluster, 3.0)
    return cluster


def publish(cluster: SimCluster, *publishers: str, times: int = 2) -> None:
    for _ in range(times):
        for publisher in publishers:
            for slice_id in range(SLICES):
                cluster.publish(publisher, slice_id)


def passes(cluster: SimCluster, seconds: float) -> None:
    """Time passes, everybody works, what is broken stays so."""
    cluster.run_until(lambda: False, seconds)


def others(cluster: SimCluster, process: str) -> list[str]:
    consumers = list(cluster.consumers) if isinstance(cluster, ServingCluster) else []
    everybody = [*cluster.nodes, *cluster.publishers, *consumers, *cluster.running]
    return [name for name in everybody if name != process]


def pull_cable(cluster: SimCluster, process: str) -> None:
    for other in others(cluster, process):
        cluster.network.cut(process, other)


def hide_commits(cluster: SimCluster) -> None:
    """Publishers do not hear for now what was processed, so they would publish it again."""
    cluster.network.slow_down(Commit, ConsumerCommit)


def check(cluster: SimCluster, *, died: bool = False) -> None:
    """Everything comes to an end, once; what a node that died had in hand may come again."""
    cluster.settle(120.0)
    if isinstance(cluster, ServingCluster):
        cluster.check()
    elif not died:
        assert cluster.checker.repeated == 0


def decided(cluster: SimCluster) -> bool:
    assert cluster.balancer is not None
    return bool(cluster.balancer.books.cutting.ended)


def test_a_cut_that_cannot_be_written_down_is_not_changed_by_what_comes_meanwhile(
    cluster: SimCluster,
) -> None:
    first, second = cluster.publishers
    cluster.balancers.full.add(0)
    pull_cable(cluster, first)
    assert cluster.run_until(lambda: decided(cluster), LONG)
    pull_cable(cluster, second)  # so there is more to tell in the ledger
    passes(cluster, 5.0)
    cluster.network.heal()
    hide_commits(cluster)
    publish(cluster, first, second)
    passes(cluster, 3.0)
    cluster.balancers.full.clear()
    passes(cluster, 3.0)
    check(cluster)


def test_while_a_cut_cannot_be_written_down_a_dead_node_is_replaced(cluster: SimCluster) -> None:
    first, second = cluster.publishers
    cluster.balancers.full.add(0)
    pull_cable(cluster, first)
    assert cluster.run_until(lambda: decided(cluster), LONG)
    cluster.kill_node(next(iter(cluster.nodes)))
    cluster.start_node()
    passes(cluster, 5.0)
    publish(cluster, second)
    passes(cluster, 3.0)
    cluster.network.heal()
    hide_commits(cluster)
    publish(cluster, first, second)
    passes(cluster, 3.0)
    cluster.balancers.full.clear()
    passes(cluster, 3.0)
    check(cluster, died=True)


def test_what_a_balancer_decided_and_told_nobody_has_not_happened(cluster: SimCluster) -> None:
    """Its cable is pulled in the moment of the decision; much later it leads again."""
    publisher = next(iter(cluster.publishers))
    former = next(iter(cluster.running))
    successor = cluster.start_balancer()
    passes(cluster, 1.0)
    pull_cable(cluster, publisher)
    assert cluster.run_until(lambda: decided(cluster), LONG)
    parcels = cluster.network.parcels
    parcels[:] = [parcel for parcel in parcels if parcel.sender != former]
    cluster.network.heal()
    pull_cable(cluster, former)
    assert cluster.run_until(lambda: cluster.running[successor].leads, LONG)
    publish(cluster, publisher, times=4)
    passes(cluster, 5.0)
    cluster.network.heal()
    passes(cluster, 2.0)
    hide_commits(cluster)
    publish(cluster, publisher, times=4)
    passes(cluster, 1.0)
    cluster.kill_balancer(successor)
    assert cluster.run_until(lambda: cluster.running[former].leads, LONG)
    passes(cluster, 3.0)
    check(cluster)


@pytest.mark.parametrize("hears_successor", [True, False])
@pytest.mark.parametrize("owner", [0, 1])
def test_what_one_node_alone_was_told_is_void(
    cluster: SimCluster, owner: int, hears_successor: bool
) -> None:
    """It stands still, its balancer is cut off, the others go on; it comes back to a third."""
    publisher, witness = next(iter(cluster.publishers)), list(cluster.nodes)[owner]
    former = next(iter(cluster.running))
    successors = [cluster.start_balancer(), cluster.start_balancer()]
    passes(cluster, 1.0)
    pull_cable(cluster, publisher)
    assert cluster.run_until(lambda: decided(cluster), LONG)
    parcels = cluster.network.parcels
    parcels[:] = [parcel for parcel in parcels if parcel.to == witness]
    while parcels:
        cluster.network.deliver(0)
    cluster.stop_node(witness)
    cluster.network.heal()
    pull_cable(cluster, former)
    assert cluster.run_until(lambda: bool(leading(cluster, successors)), LONG)
    hide_commits(cluster)
    publish(cluster, publisher, times=4)
    passes(cluster, 3.0)
    cluster.nodes[witness].inbox.clear()
    if hears_successor:
        cluster.continue_node(witness)
        passes(cluster, 2.0)
    [successor] = leading(cluster, successors)
    cluster.kill_balancer(successor)
    cluster.continue_node(witness)
    cluster.network.cuts.clear()
    passes(cluster, 5.0)
    check(cluster, died=True)
    assert cluster.publishers[publisher].writer == int(publisher, 16)


def leading(cluster: SimCluster, among: list[str]) -> list[str]:
    return [each.name for each in cluster.leaders if each.name in among and each.core.settled]
