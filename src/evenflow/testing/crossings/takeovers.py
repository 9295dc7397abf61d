"""A slice changes hands, and something old crosses it: what makes the rules about owners needed.

Chance alone seldom brings about what the rules of ``docs/protocol.md``, "What always holds" and
"When the balancer dies", are for. So each has a step in which it matters, with the rest left to
chance:

* *fencing*: the commits of an owner come when the next one has asked (:func:`commits_come_late`);
* *nothing uncertain is delivered*: what a publisher answered comes when others have owned the slice
  since (:func:`answers_come_late`); a taker merges, commits and dies, and nobody has heard that it
  has merged (:func:`taker_dies_unheard`);
* *frozen is frozen*: a giver's application has items in hand while all else of a handover is done
  (:func:`giver_is_slow`);
* *a newer term ends a session*: a giver's cache comes when its slices are the giver's again
  (:func:`caches_come_late`);
* *no older balancer is obeyed*: its orders come when the next one has listened to the nodes
  (:func:`orders_come_late`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import (
    Beat,
    CacheChunk,
    Commit,
    MapPage,
    NodeReport,
    Order,
    ReplayAnswer,
)
from evenflow.model.sample import Sample
from evenflow.slices.balancer.session import Stage
from evenflow.testing.schedules import calm, calm_until, make_whole

if TYPE_CHECKING:
    import random

    from evenflow.testing.cluster import SimCluster


def commits_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """What a node has processed others process again; then its commits come, before theirs."""
    make_whole(cluster)
    cluster.network.slow_down(Commit)
    _publish_everywhere(cluster)
    calm(cluster, 0.4)
    victim = rng.choice(list(cluster.nodes))
    rng.choice([cluster.kill_node, cluster.stop_node])(victim)
    calm_until(cluster, lambda: not _owns_any(cluster, victim), 8.0)
    calm(cluster, rng.choice([0.2, 0.6]))
    cluster.network.slow_down()
    calm(cluster, 0.4)


def answers_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """A node owns slices, loses them and owns them again; then it is answered what it asked first.

    Samples that were sent to it the first time come together with that.
    """
    make_whole(cluster)
    network = cluster.network
    former = rng.choice([node for node, sim in cluster.nodes.items() if not sim.misfit])
    network.slow_down(ReplayAnswer)
    for node in [node for node in cluster.nodes if node != former]:
        cluster.kill_node(node)
    calm_until(cluster, lambda: _owns_all(cluster, former), 8.0)
    calm(cluster, 0.4)
    _publish_everywhere(cluster)
    cluster.advance(0.15)
    late = [p for p in network.parcels if isinstance(p.what, Sample)]
    network.parcels[:] = [p for p in network.parcels if not isinstance(p.what, Sample)]
    answers = [p for p in network.held_back if p.to == former]
    network.held_back.clear()
    network.slow_down()
    cluster.stop_node(former)
    successor = cluster.start_node()
    calm_until(cluster, lambda: _owns_all(cluster, successor), 8.0)
    calm(cluster, 2.0)
    cluster.continue_node(former)
    calm(cluster, 0.2)
    network.slow_down(ReplayAnswer)
    cluster.kill_node(successor)
    calm_until(cluster, lambda: _owns_all(cluster, former), 8.0)
    network.parcels += late + answers
    calm(cluster, 0.2)
    network.slow_down()


def taker_dies_unheard(cluster: SimCluster, rng: random.Random) -> None:
    """A taker merges and works, and nobody hears that; it dies, or is not heard for long.

    What it has processed is committed, or on its way.
    """
    make_whole(cluster)
    network, balancer = cluster.network, cluster.balancer
    fit = [node for node, sim in cluster.nodes.items() if not sim.misfit]
    giver, taker = rng.sample(fit, 2)
    if balancer is None or not balancer.owners.owned_by(giver):
        return
    for node in (giver, taker):
        cluster.begin(node, slow=True)  # it has no time for what comes now
    cluster.nodes[giver].slow = True
    _publish_everywhere(cluster)
    network.slow_down(CacheChunk)
    cluster.move(giver, taker, len(balancer.owners.owned_by(giver)))

    def is_sending() -> bool:
        return any(one.stage is Stage.SENDING for one in balancer.sessions.values())

    if not calm_until(cluster, is_sending, 2.0):
        network.slow_down()
        return
    cluster.nodes[giver].slow = cluster.nodes[taker].slow = False
    for name in cluster.running:
        network.cut(taker, name, both=False)
    network.slow_down(*rng.choice([(), (Commit,)]))
    calm(cluster, rng.choice([0.4, 1.6]))
    if rng.random() < 0.5:
        cluster.kill_node(taker)
    calm(cluster, rng.choice([1.0, 4.0]))
    network.heal()


def caches_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """A taker is taken for dead, and is not; it hears of that, and then the giver's cache comes."""
    make_whole(cluster)
    network, balancer = cluster.network, cluster.balancer
    giver, taker = rng.sample([node for node, sim in cluster.nodes.items() if not sim.misfit], 2)
    if balancer is None or not balancer.owners.owned_by(giver):
        return
    network.slow_down(CacheChunk, Commit)
    cluster.move(giver, taker, len(balancer.owners.owned_by(giver)))
    calm(cluster, 0.4)
    caches = list(network.held_back)
    _publish_everywhere(cluster)
    calm(cluster, 0.2)
    cluster.lose_sight_of(taker)
    calm(cluster, rng.choice([0.2, 0.6]))
    network.parcels += [parcel for parcel in caches if isinstance(parcel.what, CacheChunk)]
    calm(cluster, 0.2)
    network.slow_down()
    calm(cluster, 0.4)


def giver_is_slow(cluster: SimCluster, rng: random.Random) -> None:
    """A node gives slices away while its application has items of them in hand."""
    make_whole(cluster)
    fit = [node for node, sim in cluster.nodes.items() if not sim.misfit]
    giver, taker = rng.sample(fit, 2)
    _publish_everywhere(cluster)
    calm(cluster, 0.2, working=False)
    cluster.begin(giver, slow=True)
    balancer = cluster.balancer
    if balancer is not None:
        cluster.move(giver, taker, len(balancer.owners.owned_by(giver)))
    calm(cluster, rng.choice([0.2, 0.6]))
    cluster.nodes[giver].slow = False
    calm(cluster, 0.4)


def orders_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """A balancer dies, and its orders come when the next one has heard what the nodes hold.

    Or the next one is not heard by them for long, and they obey the old one.
    """
    make_whole(cluster)
    network = cluster.network
    network.slow_down(Order)
    cluster.kill_node(rng.choice(list(cluster.nodes)))
    calm_until(cluster, lambda: bool(network.held_back), 4.0)
    orders = list(network.held_back)
    network.held_back.clear()
    cluster.kill_balancer()
    cluster.start_node()
    if rng.random() < 0.5:
        cluster.start_node()
    _publish_everywhere(cluster)
    cluster.start_balancer()
    if rng.random() < 0.5:
        network.slow_down(Commit)
        calm(cluster, 0.3)  # they have said that they hear it
        network.slow_down(Commit, NodeReport)
    else:
        network.slow_down(Commit, Beat, MapPage, Order)
        calm_until(cluster, lambda: bool(_orders(cluster)), 6.0)
    network.parcels += orders
    calm(cluster, rng.choice([0.1, 0.6]))
    network.slow_down(Commit)
    calm(cluster, 1.0)
    network.heal()


def _orders(cluster: SimCluster) -> list[Order]:
    return [p.what for p in cluster.network.held_back if isinstance(p.what, Order)]


def _publish_everywhere(cluster: SimCluster) -> None:
    """Every publisher that is awake publishes an item in every slice."""
    for publisher in [p for p in cluster.publishers if p not in cluster.network.stopped]:
        for slice_id in range(cluster.slice_count):
            cluster.publish(publisher, slice_id)


def _owns_any(cluster: SimCluster, node: str) -> bool:
    return cluster.balancer is None or node in cluster.balancer.owners.of


def _owns_all(cluster: SimCluster, node: str) -> bool:
    """Whether a node owns everything, by the balancer's word and by its own."""
    balancer, sim = cluster.balancer, cluster.nodes[node]
    if balancer is None or {*balancer.owners.of} != {node} or balancer.takeovers:
        return False
    return len(list(sim.core.cache.available())) == cluster.slice_count
