"""A publisher falls silent while consumers plan: what makes the rules about plans needed.

* *Plans count*: the owner of a slice dies with what consumers have planned, so that the nodes have
  less than that (:func:`owner_dies_with_plans`).
* *Plans stand*: a consumer says what it has planned; then it could plan more, by the word of an
  owner that it does not know to be dead (:func:`consumers_plan_when_asked`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import CutAnswer, MapPage, Progress
from evenflow.slices.actions import NodeGone
from evenflow.testing.cluster import TICK
from evenflow.testing.schedules import calm, calm_until, consumer_step, make_whole, processes
from evenflow.testing.serving_cluster import ServingCluster
from evenflow.testing.silences import SILENT, somebody_awake, wait_for_preparation

if TYPE_CHECKING:
    import random

    from evenflow.testing.cluster import SimCluster


def owner_dies_with_plans(cluster: SimCluster, rng: random.Random) -> None:
    """An owner dies with what consumers have planned of a publisher that has fallen silent."""
    if not isinstance(cluster, ServingCluster):
        return
    network = cluster.network
    publisher = _publish_without_hearing(cluster, rng)
    if not publisher:
        return
    _read_in_part(cluster, rng)
    for other in processes(cluster):
        network.cut(publisher, other)
    network.slow_down(*rng.choice([(), (MapPage, NodeGone), (MapPage, NodeGone, CutAnswer)]))
    cluster.kill_node(rng.choice(list(cluster.nodes)))
    calm(cluster, SILENT, working=False)
    wait_for_preparation(cluster, working=False)
    _read_now_and_then(cluster, rng)
    network.slow_down()
    calm(cluster, 0.2, working=False)
    for other in processes(cluster):
        if other not in cluster.consumers:
            network.heal(publisher, other)
    calm(cluster, 0.4)
    network.heal()


def consumers_plan_when_asked(cluster: SimCluster, rng: random.Random) -> None:
    """Consumers say what they have planned of a silent publisher, and look for more then.

    What they have heard last is that two owners have more whole. One of them died with its part,
    so the cut will lie before that; the other gives its part to whoever asks.
    """
    if not isinstance(cluster, ServingCluster):
        return
    network = cluster.network
    publisher = _publish_without_hearing(cluster, rng)
    if not publisher:
        return
    network.slow_down(MapPage, NodeGone, Progress)
    victim = rng.choice(list(cluster.nodes))
    cluster.kill_node(victim)
    calm_until(cluster, lambda: _is_replaced(cluster, victim), 8.0, working=False)
    for other in processes(cluster):
        network.cut(publisher, other)
    network.slow_down(MapPage, NodeGone, Progress, CutAnswer)
    calm_until(cluster, lambda: _all_have_answered(cluster), 8.0, working=False)
    for consumer in cluster.consumers.values():
        if rng.random() < 0.8:
            consumer.plan(cluster.slice_count)
        for sim in cluster.nodes.values():
            for slice_id in list(sim.core.cache.held):
                consumer.read(sim, [slice_id], rng.choice([1, 1000]))
    network.slow_down(MapPage, NodeGone, Progress)
    calm(cluster, 4 * TICK, working=False)
    network.heal()


def _publish_without_hearing(cluster: ServingCluster, rng: random.Random) -> str:
    """A publisher writes to every slice and hears nobody: neither commits nor requests.

    Returns:
        Which one; empty when there is none.
    """
    make_whole(cluster)
    publisher = somebody_awake(cluster, rng)
    if publisher:
        for other in processes(cluster):
            cluster.network.cut(other, publisher, both=False)
        for slice_id in range(cluster.slice_count):
            cluster.publish(publisher, slice_id)
        calm(cluster, 0.4, working=False)
    return publisher


def _is_replaced(cluster: ServingCluster, node: str) -> bool:
    """Whether others own what a node had."""
    balancer = cluster.balancer
    return balancer is not None and not {node, ""} & set(balancer.owners.of)


def _all_have_answered(cluster: ServingCluster) -> bool:
    """Whether all that are asked have said what they have of a writer, and it is on its way."""
    asked = cluster.nodes.keys() | cluster.consumers.keys()
    balancer = cluster.balancer
    preparing = balancer.books.cutting.preparing if balancer is not None else {}
    terms = {one.term for one in preparing.values()}
    answered = {
        parcel.sender
        for parcel in cluster.network.held_back
        if isinstance(parcel.what, CutAnswer) and parcel.what.term in terms
    }
    return asked <= answered


def _read_in_part(cluster: ServingCluster, rng: random.Random) -> None:
    """Consumers plan, read some or all of it, and may die or stand still then."""
    for consumer in cluster.consumers.values():
        if consumer.core is None:
            consumer.start()
        consumer.commits_late = rng.random() < 0.5
        if rng.random() < 0.7:
            consumer.plan(cluster.slice_count)
        for sim in cluster.nodes.values():
            if consumer.in_hand and rng.random() < 0.7:
                consumer.read(sim, list(sim.core.cache.held), rng.choice([1, 1000]))
        fate = rng.random()
        if fate < 0.15:
            consumer.die()
        elif fate < 0.3:
            cluster.network.stop(consumer.name)


def _read_now_and_then(cluster: ServingCluster, rng: random.Random) -> None:
    for _ in range(rng.randint(10, 30)):
        if rng.random() < 0.5:
            consumer_step(cluster, rng)
        calm(cluster, TICK, working=False)
