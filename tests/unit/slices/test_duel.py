"""Several balancers, balancers that stand still, broken paths and nodes that do not fit.

Of several balancers one leads within three seconds, whatever happened before; nobody outbids
anybody; nothing is lost, and repeated only what a node that was taken for dead had not committed.
"""

from __future__ import annotations

from collections import Counter

import pytest

from evenflow.model.messages import Ack, MapPage, Order, SliceState
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.testing.cluster import TICK, SimCluster

SLICES = 6
SETTLES_S = 3.0
"""Within this time it is decided who leads, and the owners are known."""
MOST_ORDERS = 20
"""Orders a second that a small cluster needs while much changes."""
PATIENCE = BalancerSettings(settle=0.5, deadline=1.0, silence=3.0, join_after=0.02)


def cluster_of(balancers: int, nodes: int = 2, *, own_disks: bool = False) -> SimCluster:
    """Balancers that are started at the same moment, and nodes."""
    cluster = SimCluster(SLICES, balancer_settings=PATIENCE)
    cluster.balancers.own_disks = own_disks
    for _ in range(nodes):
        cluster.start_node()
    for _ in range(balancers):
        cluster.start_balancer()
    return cluster


def pass_time(cluster: SimCluster, seconds: float, *, publish: bool = True) -> Counter[type]:
    """Everybody works, nothing is lost; returns how many parcels of each type were sent."""
    sent: Counter[type] = Counter()
    end = cluster.now + seconds
    while cluster.now < end:
        if publish:
            for slice_id in range(SLICES):
                cluster.publish(next(iter(cluster.publishers)), slice_id)
        cluster.work()
        cluster.advance(TICK)
        while cluster.network.parcels:
            sent[type(cluster.network.parcels[0].what)] += 1
            cluster.network.deliver(0)
    return sent


def leader(cluster: SimCluster) -> str:
    [one] = cluster.leaders
    assert one.core.settled
    return one.name


def test_of_two_that_start_together_one_leads_and_nobody_outbids_the_other() -> None:
    cluster = cluster_of(2)
    sent = pass_time(cluster, SETTLES_S)
    first = leader(cluster)
    cluster.start_node()  # any change
    sent += pass_time(cluster, 10.0)
    assert leader(cluster) == first
    assert sent[Order] <= MOST_ORDERS * 13
    cluster.settle()
    assert cluster.checker.repeated == 0


def test_two_that_claim_at_once_settle_on_the_same_one_however_late_they_hear() -> None:
    cluster = cluster_of(2)
    one, other = cluster.running
    for balancer in cluster.running.values():
        balancer.core.leadership.claim_anew("both believe that they are alone", cluster.now)
    assert len(cluster.leaders) == 2
    cluster.network.cut(one, other)
    pass_time(cluster, SETTLES_S)
    cluster.network.heal()
    pass_time(cluster, SETTLES_S)
    assert leader(cluster) in (one, other)
    cluster.settle()
    assert cluster.checker.repeated == 0


def test_one_that_stood_still_steps_down_beside_its_successor() -> None:
    cluster = cluster_of(2)
    pass_time(cluster, SETTLES_S)
    former = leader(cluster)
    cluster.stop_balancer(former)
    pass_time(cluster, SETTLES_S + 2.0)
    [successor] = [name for name in cluster.running if name != former]
    assert successor in [each.name for each in cluster.leaders]
    cluster.start_node()
    pass_time(cluster, 1.0)
    cluster.continue_balancer(former)
    pass_time(cluster, 0.5)
    assert leader(cluster) == successor
    sent = pass_time(cluster, 10.0)
    assert sent[Order] <= MOST_ORDERS * 10
    cluster.settle()
    assert cluster.checker.repeated == 0


def test_a_standby_leads_when_the_leader_dies_and_is_silent_before() -> None:
    cluster = cluster_of(2)
    pass_time(cluster, SETTLES_S)
    former = leader(cluster)
    [standby] = [name for name in cluster.running if name != former]
    for _ in range(50):
        cluster.work()
        cluster.advance(TICK)
        assert not [parcel for parcel in cluster.network.parcels if parcel.sender == standby]
        while cluster.network.parcels:
            cluster.network.deliver(0)
    cluster.kill_balancer(former)
    pass_time(cluster, SETTLES_S + 1.0)
    assert leader(cluster) == standby
    cluster.settle()
    assert cluster.checker.repeated == 0


def test_where_only_the_path_between_two_balancers_is_broken_the_leader_goes_on() -> None:
    cluster = cluster_of(2)
    pass_time(cluster, SETTLES_S)
    former = leader(cluster)
    turn = cluster.running[former].core.leadership.turn
    cluster.network.cut(*cluster.running)
    pass_time(cluster, 20.0)
    assert leader(cluster) == former
    assert cluster.running[former].core.leadership.turn == turn


@pytest.mark.parametrize("own_disks", [True, False], ids=["two disks", "one disk"])
def test_a_standby_that_was_cut_off_from_everybody_takes_over_without_a_repetition(
    own_disks: bool,
) -> None:
    """Unless both have one disk, and the former leader has claimed it back meanwhile."""
    cluster = cluster_of(2, own_disks=own_disks)
    pass_time(cluster, SETTLES_S)
    former = leader(cluster)
    [standby] = [name for name in cluster.running if name != former]
    for other in (former, *cluster.nodes):
        cluster.network.cut(standby, other)
    pass_time(cluster, 10.0)
    assert len(cluster.leaders) == 2  # each on its side
    cluster.network.heal()
    pass_time(cluster, SETTLES_S)
    assert leader(cluster) == (standby if own_disks else former)
    cluster.settle()
    assert cluster.checker.repeated == 0


@pytest.mark.parametrize("both", [True, False], ids=["both ways", "one way"])
def test_a_network_in_two_halves_that_heals_has_one_leader(both: bool) -> None:
    cluster = cluster_of(2, nodes=4)
    pass_time(cluster, SETTLES_S)
    one, other = cluster.running
    nodes, writers = list(cluster.nodes), list(cluster.publishers)
    for left in (one, *nodes[:2], writers[0]):
        for right in (other, *nodes[2:], writers[1]):
            cluster.network.cut(left, right, both=both)
    pass_time(cluster, 8.0)
    cluster.network.heal()
    pass_time(cluster, SETTLES_S)
    leader(cluster)
    cluster.settle()


# -- nodes that do not fit -----------------------------------------------------------------------


def test_a_node_with_fewer_slices_is_told_so_and_given_nothing() -> None:
    cluster = cluster_of(1)
    pass_time(cluster, SETTLES_S)
    misfit = cluster.start_node(SLICES - 2)
    sent = pass_time(cluster, 10.0)
    core = cluster.nodes[misfit].core
    assert not core.cache.held
    for said in ("6 slices", "4 slices", "[topics.items]"):
        assert said in core.refusal
    assert cluster.balancer is not None
    assert misfit not in cluster.balancer.owners.of
    assert cluster.balancer.admission.refused == {misfit: core.refusal}
    assert sent[Order] + sent[Ack] <= MOST_ORDERS
    assert sent[MapPage] < 100
    cluster.settle()


def test_alone_with_a_node_that_does_not_fit_the_map_names_nobody() -> None:
    cluster = cluster_of(1, nodes=0)
    cluster.start_node(SLICES - 2)
    pass_time(cluster, 5.0, publish=False)
    assert cluster.balancer is not None
    assert set(cluster.balancer.owners.of) == {""}


def test_a_balancer_with_another_number_of_slices_takes_nothing_away() -> None:
    cluster = cluster_of(1)
    pass_time(cluster, SETTLES_S)
    cluster.kill_balancer()
    topics = cluster.balancers.config.topics
    wrong = SimCluster(SLICES + 2).balancers.config
    cluster.balancers.config = wrong
    assert wrong.topics != topics
    cluster.start_balancer()
    pass_time(cluster, 5.0)
    held = [h.state for sim in cluster.nodes.values() for h in sim.core.cache.held.values()]
    assert held == [SliceState.AVAILABLE] * SLICES
    assert all("8 slices" in sim.core.refusal for sim in cluster.nodes.values())


# -- orders ---------------------------------------------------------------------------------------


def test_a_refused_order_is_repeated_with_growing_pauses() -> None:
    """A node that refuses whatever it is ordered: a newer term was met there, say its acks."""
    cluster = cluster_of(1, nodes=1)
    [node] = cluster.nodes
    pass_time(cluster, 0.4)
    orders = 0
    for _ in range(500):
        cluster.advance(TICK)
        for parcel in list(cluster.network.parcels):
            cluster.network.parcels.remove(parcel)
            order = parcel.what
            if isinstance(order, Order):
                orders += 1
                refused = (False, "no", 0, 0, 0)
                ack = Ack(order.topic, node, order.term, order.step, *refused)
                for name in cluster.running:
                    cluster._at_balancer(cluster.running[name], type(parcel)(name, ack))
            else:
                cluster._arrive(parcel)
    assert 3 <= orders <= 20
