"""A publisher falls silent, and something crosses its end: what makes each rule of a cut needed.

Chance alone seldom brings about what the rules of ``docs/protocol.md``, "How a writer ends", are
for. So each has a step in which it matters, with the rest left to chance; those about consumers'
plans are in :mod:`evenflow.testing.planning`, here are the others:

* *answered is frozen*: samples come in between a node's answer and the decision
  (:func:`answers_cross_samples`);
* *who owns knows*: a node joins and has not heard of a cut, which the publisher has not heard of
  either (:func:`newcomer_hears_no_ledger`);
* *the newest ledger counts*: one node alone hears what a balancer has decided, stands still while
  others go on under the next balancer, and comes back to a third (:func:`one_node_knows_a_cut`);
* *what nodes know is waited for*: everybody knows what was decided, the balancer dies, and where
  the stream ends is told late to the next one (:func:`numbers_come_late`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    CutAnswer,
    CutStage,
    Ledger,
    NodeReport,
    Progress,
    WriterCut,
)
from evenflow.model.sample import Sample
from evenflow.testing.cluster import TICK
from evenflow.testing.schedules import calm, calm_until, make_whole, processes

if TYPE_CHECKING:
    import random

    from evenflow.testing.cluster import SimCluster
    from evenflow.testing.network import Parcel

SLOW: tuple[tuple[type, ...], ...] = (
    (),
    (),
    (Ledger,),
    (WriterCut,),
    (CutAnswer,),
    (Ledger, WriterCut),
    (NodeReport,),
    (Progress, ConsumerCommit),
)
"""What may be late while a writer is being ended."""
SILENT = 2.0
"""Seconds of a pause in which a publisher that is cut off becomes silent."""


def long_silence(cluster: SimCluster, rng: random.Random) -> None:
    """What a publisher has sent is processed and it does not hear of it; then nobody hears it.

    Some of its samples are late, and come in while it is being ended; and what is said about its
    end is slow.
    """
    network = cluster.network
    publisher = somebody_awake(cluster, rng)
    if not publisher:
        return
    late = fall_silent(cluster, rng, publisher)
    if rng.random() < 0.7:
        wait_for_preparation(cluster)
    calm(cluster, TICK * rng.randint(0, 3))
    network.slow_down(*rng.choice(SLOW))
    _publish(cluster, rng, publisher, rng.randint(0, 3))
    while late:
        network.parcels.append(late.pop())
        for _ in range(rng.randint(0, 6)):
            if network.parcels:
                network.deliver(rng.randrange(len(network.parcels)))
        cluster.advance(TICK)
    calm(cluster, rng.choice([0.1, 2.0]))
    network.slow_down()
    if rng.random() < 0.6:
        network.heal()


def answers_cross_samples(cluster: SimCluster, rng: random.Random) -> None:
    """Late samples come in when every node has said what it has, and nothing is decided yet."""
    make_whole(cluster)
    network = cluster.network
    publisher = somebody_awake(cluster, rng)
    if not publisher:
        return
    late = fall_silent(cluster, rng, publisher, share=0.7)
    wait_for_answers(cluster)
    network.parcels += late
    calm(cluster, TICK * rng.randint(1, 3))
    network.slow_down()
    calm(cluster, 0.2)
    if rng.random() < 0.8:
        network.heal()


def newcomer_hears_no_ledger(cluster: SimCluster, rng: random.Random) -> None:
    """A publisher is cut; before it hears of that, a node joins that does not hear of it either.

    What the node processes is committed late: else the publisher knows that it need not come again.
    """
    make_whole(cluster)
    network = cluster.network
    publisher = somebody_awake(cluster, rng)
    if not publisher:
        return
    writer = cluster.publishers[publisher].writer
    fall_silent(cluster, rng, publisher)
    _publish(cluster, rng, publisher, rng.randint(1, 4))
    calm_until(cluster, lambda: stage_of(cluster, writer) >= CutStage.COMPLETE, 8.0)
    network.slow_down(Ledger, WriterCut, Commit)
    former = list(cluster.nodes)
    cluster.start_node()
    for node in rng.sample(former, rng.choice([0, 1, len(former)])):
        cluster.kill_node(node)
    for other in processes(cluster):
        network.heal(publisher, other)
    calm(cluster, rng.choice([2.0, 4.0]))
    network.slow_down(Commit)
    calm(cluster, 0.4)
    network.slow_down()


def one_node_knows_a_cut(cluster: SimCluster, rng: random.Random) -> None:
    """One node hears what a balancer has decided and stands still; the others go on without both.

    What is processed meanwhile is committed late: a publisher that is told of the cut afterwards
    would publish it again.
    """
    network, publisher = cluster.network, begin_end(cluster, rng, balancers=3)
    if not publisher:
        return
    writer, former = cluster.publishers[publisher].writer, cluster.leaders[0].name
    witness = rng.choice(list(cluster.nodes))
    network.slow_down(Ledger, WriterCut)
    if calm_until(cluster, lambda: stage_of(cluster, writer) == CutStage.DECIDED, 4.0):
        network.parcels += [parcel for parcel in network.held_back if parcel.to == witness]
        calm(cluster, TICK)
    network.held_back.clear()
    cluster.stop_node(witness)
    network.cuts.clear()
    for other in processes(cluster):
        network.cut(former, other)
    calm_until(cluster, lambda: bool(_settled_beside(cluster, former)), 12.0)
    network.slow_down(Commit, ConsumerCommit)
    _publish(cluster, rng, publisher, rng.randint(2, 8))
    calm(cluster, 2.0)
    if rng.random() < 0.5:
        cluster.continue_node(witness)
        calm(cluster, rng.choice([0.4, 2.0]))
    cluster.nodes[witness].inbox.clear()  # too much for it while it stood still
    for name in _settled_beside(cluster, former):
        cluster.kill_balancer(name)
    cluster.continue_node(witness)
    network.cuts.clear()
    calm_until(cluster, lambda: stage_of(cluster, writer) >= CutStage.COMPLETE, 8.0)
    calm(cluster, 1.0)
    network.heal()


def numbers_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """A publisher hears that it was cut, the nodes only that this was decided; the balancer dies.

    The next one hears late where the stream ends; then come samples from beyond that were late.
    """
    network, publisher = cluster.network, begin_end(cluster, rng, balancers=2)
    if not publisher:
        return
    writer, former = cluster.publishers[publisher].writer, cluster.leaders[0].name
    late = keep_back(cluster, rng, publisher)
    network.slow_down()
    calm_until(cluster, lambda: _all_know(cluster, writer), 4.0)
    for node in cluster.nodes:
        network.cut(former, node, both=False)
    network.heal(publisher, former)
    calm_until(cluster, lambda: cluster.publishers[publisher].writer != writer, 4.0)
    network.cuts.clear()
    cluster.kill_balancer(former)
    network.slow_down(WriterCut)
    calm(cluster, rng.choice([2.0, 6.0, 8.0]))
    network.parcels += late
    calm(cluster, 1.0)
    network.heal()


def keep_back(cluster: SimCluster, rng: random.Random, publisher: str) -> list[Parcel]:
    """A publisher whose cut is being prepared sends samples; return them, they are late."""
    network = cluster.network
    paths, network.cuts = network.cuts, set()
    _publish(cluster, rng, publisher, rng.randint(2, 6))
    cluster.advance(0.15)
    late = [p for p in network.parcels if isinstance(p.what, Sample)]
    network.parcels[:] = [p for p in network.parcels if p.sender != publisher]
    network.cuts = paths
    return late


def _all_know(cluster: SimCluster, writer: int) -> bool:
    """Whether every node has the numbers of a cut."""
    views = [sim.core.writers.ledger for sim in cluster.nodes.values() if not sim.misfit]
    stages = [view.stage(writer) or 0 for view in views if view.complete_version]
    return len(stages) == len(views) and min(stages, default=0) >= CutStage.DECIDED


def begin_end(cluster: SimCluster, rng: random.Random, balancers: int) -> str:
    """A publisher falls silent before so many balancers, and its cut is being prepared."""
    make_whole(cluster)
    publisher = somebody_awake(cluster, rng)
    while len(cluster.running) < balancers:
        cluster.start_balancer()
    calm(cluster, 1.0)
    if not publisher or not cluster.leaders:
        return ""
    fall_silent(cluster, rng, publisher)
    wait_for_answers(cluster)
    return publisher if cluster.leaders else ""


def wait_for_answers(cluster: SimCluster) -> None:
    """Until every node has said what it has of a writer; what they say is on its way."""
    network = cluster.network
    network.slow_down(CutAnswer)
    wait_for_preparation(cluster)

    def all_have_answered() -> bool:
        return cluster.nodes.keys() <= {parcel.sender for parcel in network.held_back}

    calm_until(cluster, all_have_answered, 2.0)


def _settled_beside(cluster: SimCluster, former: str) -> list[str]:
    """Who leads, and knows the nodes, beside one that is cut off."""
    return [b.name for b in cluster.leaders if b.name != former and b.core.settled]


def fall_silent(
    cluster: SimCluster, rng: random.Random, publisher: str, share: float = 0.3
) -> list[Parcel]:
    """Cut a publisher off, from what others say and then altogether; return what is late of it.

    Args:
        cluster: The cluster.
        rng: Decides.
        publisher: Who falls silent.
        share: The share of its last samples that are late.
    """
    network = cluster.network
    others = [name for name in processes(cluster) if name != publisher]
    for other in others:
        network.cut(other, publisher, both=False)
    _publish(cluster, rng, publisher, rng.randint(1, 6))
    cluster.advance(0.15)
    late = [p for p in network.parcels if isinstance(p.what, Sample) and rng.random() < share]
    network.parcels[:] = [p for p in network.parcels if not any(p is one for one in late)]
    calm(cluster, 0.4)
    for other in others:
        network.cut(publisher, other, both=False)
    calm(cluster, SILENT)
    return late


def somebody_awake(cluster: SimCluster, rng: random.Random) -> str:
    """A publisher that is not stopped; empty when there is none."""
    awake = [name for name in cluster.publishers if name not in cluster.network.stopped]
    return rng.choice(awake) if awake else ""


def _publish(cluster: SimCluster, rng: random.Random, publisher: str, times: int) -> None:
    for _ in range(times):
        cluster.publish(publisher, rng.randrange(cluster.slice_count))


def stage_of(cluster: SimCluster, writer: int) -> int:
    """How far the end of a writer is; 0 while it lives."""
    balancer = cluster.balancer
    ended = balancer.books.cutting.ended.get(writer) if balancer is not None else None
    return 0 if ended is None else ended.stage


def wait_for_preparation(cluster: SimCluster, *, working: bool = True) -> None:
    """Until a writer is being ended, or nobody thinks of it."""

    def is_preparing() -> bool:
        balancer = cluster.balancer
        return balancer is not None and bool(balancer.books.cutting.preparing)

    calm_until(cluster, is_preparing, 60 * TICK, working=working)
