"""Faults that were found by looking for what the schedules cannot express, each as it was found."""

from __future__ import annotations

import pytest

from evenflow.model.messages import CutStage, ReplayAnswer
from evenflow.model.sample import Sample
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import TICK, SimCluster
from evenflow.testing.consumers.cluster import LapsingCluster
from evenflow.testing.durable_cluster import STORE, DurableCluster
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.schedules import calm, processes

pytestmark = pytest.mark.timeout(900)


def deliver_all(cluster: SimCluster) -> None:
    while cluster.network.parcels:
        cluster.network.deliver(0)


def passes_idle(cluster: SimCluster, seconds: float) -> None:
    """Time passes, what was sent arrives, and no application works."""
    for _ in range(int(seconds / TICK)):
        cluster.advance(TICK)
        deliver_all(cluster)


def publish(cluster: SimCluster, times: int) -> None:
    for _ in range(times):
        for writer in cluster.publishers:
            for slice_id in range(cluster.slice_count):
                cluster.publish(writer, slice_id)


def cut_off(cluster: SimCluster, publisher: str, *, hears: bool = False) -> None:
    for other in processes(cluster):
        if other != publisher:
            cluster.network.cut(publisher, other, both=not hears)


def a_first_run_partly_committed() -> tuple[SimCluster, str, str]:
    """A publisher sends its first three items in one run; two are committed, and the owner dies."""
    settings = NodeSettings(deliver_items=2, writer_silence=SILENCE)
    cluster = SimCluster(1, publishers=1, node_settings=settings, balancer_settings=PATIENCE)
    cluster.start_balancer()
    first = cluster.start_node()
    cluster.run_until(lambda: False, 2.0)
    [publisher] = cluster.publishers
    publish(cluster, 3)
    cluster.advance(0.05)
    deliver_all(cluster)
    assert cluster.begin(first)
    cluster.finish(first)
    passes_idle(cluster, 0.8)
    assert cluster.publishers[publisher].retention.floors.tolist() == [2]
    return cluster, publisher, first


def test_a_first_item_that_is_sent_again_is_not_taken_for_new() -> None:
    """The answer that names the floor is lost, and the publisher dies: nobody knows the floor."""
    cluster, publisher, first = a_first_run_partly_committed()
    cluster.kill_node(first)
    second, parcels = cluster.start_node(), cluster.network.parcels
    while not any(isinstance(p.what, Sample) and p.to == second for p in parcels):
        if parcels:
            cluster.network.deliver(0)
        else:
            cluster.advance(TICK)
    parcels[:] = [p for p in parcels if not isinstance(p.what, ReplayAnswer)]
    cluster.kill_publisher(publisher)
    cluster.run_until(lambda: False, 20.0)
    assert all(len(nodes) == 1 for nodes in cluster.checker.begun.values())


def test_what_an_outbox_recalls_is_sent_without_what_is_committed() -> None:
    """The new owner hears the publisher and is not heard by it; then nobody hears it."""
    cluster, publisher, first = a_first_run_partly_committed()
    second = cluster.start_node()
    cluster.network.cut(second, publisher, both=False)
    cluster.kill_node(first)
    passes_idle(cluster, 8.0)
    core = cluster.publishers[publisher]
    [serial] = core.retention.serials()
    cluster._write(core.sealing.addressed(serial), publisher)  # as a flush does after a restart
    passes_idle(cluster, 0.2)
    cut_off(cluster, publisher)
    cluster.run_until(lambda: False, 20.0)
    cluster.settle(60.0)
    assert all(len(nodes) == 1 for nodes in cluster.checker.begun.values())


def test_no_cut_while_the_state_of_a_slice_is_still_to_be_read() -> None:
    """What its former owner stored of a silent writer the new one learns from the store."""
    settings = NodeSettings(
        deliver_items=2, stateful=True, durable=True, snapshot_every=0.3, writer_silence=SILENCE
    )
    cluster = DurableCluster(
        1, publishers=1, node_settings=settings, balancer_settings=PATIENCE, patience=3.5
    )
    cluster.start_balancer()
    first = cluster.start_node()
    calm(cluster, 2.0)
    [publisher] = cluster.publishers
    for other in (first, *cluster.running):
        cluster.network.cut(other, publisher, both=False)  # it is heard, and hears nobody
    publish(cluster, 3)
    calm(cluster, 1.5)
    second = cluster.start_node()
    cluster.network.cut(second, publisher, both=False)
    calm(cluster, 1.5)
    cut_off(cluster, publisher)
    cluster.network.cut(second, STORE)
    cluster.kill_node(first)
    calm(cluster, 15.0)
    assert cluster.nodes[second].core.cache.held[0].loading
    for other in processes(cluster):
        cluster.network.heal(publisher, other)
    calm(cluster, 6.0)
    cluster.network.heal()
    cluster.settle(60.0)
    cluster.check_states()


def with_own_disks() -> LapsingCluster:
    """Consumers, of which one is declared, and two balancers with a disk each."""
    settings = NodeSettings(serving=True, writer_silence=SILENCE, lease=6.0)
    cluster = LapsingCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.balancers.own_disks = True
    cluster.declare("archive")
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    cluster.run_until(lambda: False, 2.0)
    cluster.start_declared()
    cluster.start_balancer()
    cluster.run_until(lambda: False, 4.0)
    publish(cluster, 2)
    cluster.run_until(lambda: False, 3.0)
    return cluster


def test_a_writer_that_was_cleared_is_told_to_a_balancer_that_does_not_know_it() -> None:
    cluster = with_own_disks()
    first, _ = cluster.running
    publisher = next(iter(cluster.publishers))
    cut_off(cluster, publisher)
    cluster.run_until(lambda: False, 15.0)
    ended = cluster.running[first].core.books.cutting.ended[int(publisher, 16)]
    assert ended.stage is CutStage.CLEARED
    cluster.kill_balancer(first)
    cluster.run_until(lambda: False, 8.0)
    cluster.network.heal()
    publish(cluster, 2)
    cluster.settle(60.0)
    cluster.check()


def test_a_balancer_whose_disk_is_full_names_the_consumers_that_it_has_heard() -> None:
    """It has led before: its disk knows some of them, and not the one that came since."""
    cluster = with_own_disks()
    first, second = cluster.running
    cluster.kill_balancer(first)
    cluster.run_until(lambda: False, 8.0)
    third = cluster.start_balancer()
    cluster.run_until(lambda: False, 3.0)
    cluster.add_consumer("new")
    cluster.run_until(lambda: False, 5.0)
    cluster.network.stop("new")
    cluster.balancers.full.add(cluster.running[third].disk)
    cluster.kill_balancer(second)
    cluster.run_until(lambda: False, 8.0)
    publish(cluster, 3)
    cluster.run_until(lambda: False, 6.0)
    cluster.network.go_on("new")
    cluster.run_until(lambda: False, 6.0)
    cluster.balancers.full.clear()
    publish(cluster, 2)
    cluster.settle(60.0)
    cluster.check()


def test_one_that_has_expired_and_only_nodes_hear_reads_no_new_publisher_with_a_gap() -> None:
    settings = NodeSettings(serving=True, writer_silence=SILENCE, lease=6.0)
    cluster = LapsingCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.balancers.expires = 6.0
    balancer = cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    cluster.run_until(lambda: False, 4.0)
    slow, quick = cluster.consumers["query-0"], cluster.consumers["query-1"]
    cluster.network.cut("query-0", balancer)
    cluster.run_until(lambda: False, 9.0)
    assert "query-0" not in cluster.balancer.books.registrations.registered()
    publisher = cluster.start_publisher()
    for reader in (quick, quick, quick, slow):
        for slice_id in range(4):
            cluster.publish(publisher, slice_id)
        for _ in range(40):
            deliver_all(cluster)
            cluster.read(reader)
            cluster.advance(0.05)
    assert cluster.publishers[publisher].epochs.committed
    assert int(publisher, 16) not in slow.offsets[-1].position
    cluster.network.heal()
    cluster.run_until(lambda: False, 3.0)
    cluster.work()
    assert "expired" in slow.failed or "forgotten" in slow.failed


def test_who_has_expired_is_not_registered_again_by_a_balancer_with_another_disk() -> None:
    cluster = with_own_disks()
    first, second = cluster.running
    for name in (first, second):
        cluster.running[name].core.books.registrations._expires = 6.0
    cluster.balancers.expires = 6.0
    cluster.network.stop("query-0")
    cluster.run_until(lambda: False, 10.0)
    assert "query-0" not in cluster.running[first].core.books.registrations.registered()
    cluster.kill_balancer(first)
    cluster.run_until(lambda: False, 6.0)
    cluster.network.go_on("query-0")
    cluster.run_until(lambda: False, 6.0)
    assert "query-0" not in cluster.running[second].core.books.registrations.registered()
