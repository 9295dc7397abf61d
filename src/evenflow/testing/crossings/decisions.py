"""What is told of a cut comes to few, or too late: what makes the stages of a cut needed.

* *Complete before a publisher goes by it*: a publisher hears what is decided, the nodes do not, and
  the balancer dies (:func:`publisher_hears_a_decision`).
* *The newest ledger counts*: one from before the preparation comes when every node has answered
  (:func:`old_ledgers_come_late`).
* *Frozen until complete*: what is decided is taken back, and the writer goes on
  (:func:`decision_is_taken_back`).

The steps for the other rules are in :mod:`evenflow.testing.silences` and
:mod:`evenflow.testing.planning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import CutStage, Ledger, NodeReport, WriterCut
from evenflow.testing.cluster import TICK
from evenflow.testing.schedules import calm, calm_until, make_whole
from evenflow.testing.silences import (
    begin_end,
    fall_silent,
    keep_back,
    somebody_awake,
    stage_of,
    wait_for_answers,
)

if TYPE_CHECKING:
    import random

    from evenflow.testing.cluster import SimCluster


def publisher_hears_a_decision(cluster: SimCluster, rng: random.Random) -> None:
    """A publisher alone hears that its stream shall be cut; the balancer that says so dies.

    The next one does not know it, so the publisher lives. Samples from beyond the cut come then.
    """
    network, publisher = cluster.network, begin_end(cluster, rng, balancers=2)
    if not publisher:
        return
    writer, former = cluster.publishers[publisher].writer, cluster.leaders[0].name
    late = keep_back(cluster, rng, publisher)
    network.slow_down(Ledger, WriterCut)
    calm_until(cluster, lambda: stage_of(cluster, writer) >= CutStage.DECIDED, 4.0)
    network.heal(publisher, former)
    calm(cluster, 1.3)  # it is told again
    network.parcels += [parcel for parcel in network.held_back if parcel.to == publisher]
    calm(cluster, 0.1)
    cluster.kill_balancer(former)
    network.held_back.clear()
    network.slow_down()
    network.cuts.clear()
    calm_until(cluster, lambda: _lives(cluster, writer), 6.0)
    network.parcels += late
    calm(cluster, rng.choice([0.4, 2.0]))
    network.heal()


def old_ledgers_come_late(cluster: SimCluster, rng: random.Random) -> None:
    """Every node has said what it has of a publisher; then an older ledger comes, and samples."""
    make_whole(cluster)
    network = cluster.network
    network.slow_down(Ledger)
    calm(cluster, 1.3)
    old = list(network.held_back)
    publisher = somebody_awake(cluster, rng)
    if not publisher:
        return
    late = fall_silent(cluster, rng, publisher, share=0.7)
    wait_for_answers(cluster)
    network.parcels += old + late
    calm(cluster, TICK * rng.randint(1, 3))
    network.slow_down()
    calm(cluster, 0.2)
    network.heal()


def decision_is_taken_back(cluster: SimCluster, rng: random.Random) -> None:
    """Every node hears what is decided; one of them dies before the balancer knows that.

    By then the publisher is heard again, and has what lies beyond the cut.
    """
    network, publisher = cluster.network, begin_end(cluster, rng, balancers=1)
    if not publisher:
        return
    writer = cluster.publishers[publisher].writer
    keep_back(cluster, rng, publisher)
    network.slow_down(NodeReport)
    calm_until(cluster, lambda: stage_of(cluster, writer) >= CutStage.DECIDED, 2.0)
    calm(cluster, 4 * TICK)
    network.cuts.clear()
    cluster.kill_node(rng.choice(list(cluster.nodes)))
    calm(cluster, rng.choice([TICK, 1.0]))
    network.heal()
    calm(cluster, 1.0)


def _lives(cluster: SimCluster, writer: int) -> bool:
    """Whether every node takes a writer for living."""
    return all(sim.core.writers.ledger.stage(writer) is None for sim in cluster.nodes.values())
