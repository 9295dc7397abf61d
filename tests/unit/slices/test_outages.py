"""The network breaks, or a process stands still: nothing is lost, nothing comes twice.

Each fault that was seen once is here as it was seen; then everything at any time
(:mod:`evenflow.testing.outages`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from evenflow.model.messages import CutStage, ReplayAnswer
from evenflow.model.sample import Sample
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.network import Parcel
from evenflow.testing.outages import (
    PATIENCE,
    SILENCE,
    application_schedule,
    served_schedule,
    stateful_schedule,
)
from evenflow.testing.schedules import processes
from evenflow.testing.serving_cluster import ServingCluster

if TYPE_CHECKING:
    from collections.abc import Callable

THOROUGH = settings().max_examples >= 80
LONG = 20.0
"""Seconds; many times what makes a writer silent."""
SLICES = 4
pytestmark = pytest.mark.timeout(900)


def application(nodes: int = 2, *, cache_bytes: int = 1 << 20) -> SimCluster:
    node_settings = NodeSettings(deliver_items=2, cache_bytes=cache_bytes, writer_silence=SILENCE)
    cluster = SimCluster(SLICES, node_settings=node_settings, balancer_settings=PATIENCE)
    return begun(cluster, nodes)


def served(nodes: int = 2, *, cache_bytes: int = 1 << 20) -> ServingCluster:
    node_settings = NodeSettings(serving=True, cache_bytes=cache_bytes, writer_silence=SILENCE)
    cluster = ServingCluster(SLICES, node_settings=node_settings, balancer_settings=PATIENCE)
    begun(cluster, nodes)
    return cluster


def begun(cluster: SimCluster, nodes: int) -> SimCluster:
    cluster.start_balancer()
    for _ in range(nodes):
        cluster.start_node()
    publish(cluster, 2)
    passes(cluster, 3.0)
    return cluster


def publish(cluster: SimCluster, times: int) -> None:
    for _ in range(times):
        for writer in cluster.publishers:
            for slice_id in range(SLICES):
                cluster.publish(writer, slice_id)


def leave_gaps(cluster: SimCluster) -> None:
    """Nodes have what follows something that is missing, and have not asked for it yet."""
    publish(cluster, 1)
    cluster.advance(0.15)
    parcels = cluster.network.parcels
    parcels[:] = [parcel for parcel in parcels if not isinstance(parcel.what, Sample)]
    publish(cluster, 1)
    cluster.advance(0.15)
    while parcels:
        cluster.network.deliver(0)


def passes(cluster: SimCluster, seconds: float) -> None:
    """Time passes, everybody works, what is broken stays so."""
    cluster.run_until(lambda: False, seconds)


def gaps(cluster: SimCluster, node: str, publisher: str) -> int:
    """In how many slices a node has something of a publisher behind what it lacks."""
    tracks = cluster.nodes[node].core.cache.tracks_of(int(publisher, 16))
    return sum(bool(track.out_of_order) for _, track in tracks)


def stages(cluster: SimCluster) -> set[CutStage]:
    assert cluster.balancer is not None
    return {one.stage for one in cluster.balancer.books.cutting.ended.values()}


@pytest.mark.parametrize("how", ["stopped", "cable"])
@pytest.mark.parametrize("seconds", [SILENCE + 1, LONG])
def test_a_publisher_that_stands_still_under_a_query(how: str, seconds: float) -> None:
    cluster = served()
    publisher = next(iter(cluster.publishers))
    leave_gaps(cluster)
    away(cluster, publisher, how)
    passes(cluster, seconds)
    back(cluster, publisher)
    publish(cluster, 2)
    cluster.settle(60.0)
    cluster.check()
    if seconds == LONG:
        assert cluster.publishers[publisher].writer != int(publisher, 16)


def test_an_end_that_waits_says_why_and_since_when() -> None:
    cluster = served()
    publisher, stopped = next(iter(cluster.publishers)), "query-1"
    writer = int(publisher, 16)
    cluster.network.stop(stopped)
    cluster.network.stop(publisher)
    passes(cluster, LONG)
    assert cluster.balancer is not None
    delays = cluster.balancer.books.cutting.delays
    told = delays.told(1, cluster.now)
    assert told is not None
    assert told.writers == (writer,)
    assert told.reasons[0].startswith("consumer query-1 is away")
    assert LONG / 2 < told.waited_s[0] < LONG
    cluster.network.go_on(stopped)
    cluster.run_until(lambda: bool(stages(cluster)), 4 * LONG)
    assert delays.reason(writer) == ""


@pytest.mark.parametrize("limit", [1, 7])
def test_a_publisher_that_comes_back_to_consumers_that_read_small_batches(limit: int) -> None:
    """The epochs of its new id begin behind those of the old: what is before them was never."""
    cluster = served()
    for consumer in cluster.consumers.values():
        consumer.limit = limit
    publisher = next(iter(cluster.publishers))
    for _ in range(10):
        publish(cluster, 1)
        passes(cluster, 0.5)
    away(cluster, publisher, "stopped")
    passes(cluster, LONG)
    back(cluster, publisher)
    publish(cluster, 4)
    cluster.settle(60.0)
    cluster.check()
    assert cluster.publishers[publisher].writer != int(publisher, 16)


@pytest.mark.parametrize("how", ["stopped", "cable"])
@pytest.mark.parametrize("cache_bytes", [1 << 20, 1_000])
def test_a_publisher_that_stands_still_before_applications(how: str, cache_bytes: int) -> None:
    cluster = application(cache_bytes=cache_bytes)
    publisher = next(iter(cluster.publishers))
    publish(cluster, 4)
    for sim in cluster.nodes.values():
        sim.slow = True
    leave_gaps(cluster)
    away(cluster, publisher, how)
    passes(cluster, LONG)
    back(cluster, publisher)
    publish(cluster, 2)
    cluster.settle(60.0)
    assert cluster.checker.repeated == 0


def away(cluster: SimCluster, publisher: str, how: str) -> None:
    if how == "stopped":
        cluster.network.stop(publisher)
    for other in processes(cluster) if how == "cable" else ():
        cluster.network.cut(publisher, other)


def back(cluster: SimCluster, publisher: str) -> None:
    cluster.network.heal()
    cluster.network.go_on(publisher)


def test_gaps_wait_for_a_publisher_that_cannot_be_reached() -> None:
    """The query is paused, the nodes are full, so gaps are normal; then the cable is pulled."""
    cluster = served(cache_bytes=2_000)
    for name in cluster.consumers:
        cluster.network.stop(name)
    publisher = next(iter(cluster.publishers))
    publish(cluster, 8)
    passes(cluster, 1.0)
    leave_gaps(cluster)
    away(cluster, publisher, "cable")
    passes(cluster, LONG)
    back(cluster, publisher)
    cluster.settle(120.0)
    cluster.check()


@pytest.mark.parametrize("slow", [False, True])
def test_one_node_that_cannot_hear_one_publisher_waits(slow: bool) -> None:
    """Nobody else does: what it lacks it gets when it hears it again, and nothing is ended."""
    cluster = application()
    publisher = next(iter(cluster.publishers))
    deaf = next(iter(cluster.nodes))
    leave_gaps(cluster)
    cluster.nodes[deaf].slow = slow
    cluster.network.cut(publisher, deaf)
    publish(cluster, 3)
    passes(cluster, LONG)
    assert gaps(cluster, deaf, publisher) == len(cluster.nodes[deaf].core.cache.held)
    assert stages(cluster) == set()
    cluster.network.heal()
    cluster.settle(60.0)
    assert cluster.checker.repeated == 0


def test_a_query_that_is_away_is_remembered_when_everything_else_is_restarted() -> None:
    cluster = served()
    cluster.consumers["query-0"].die()
    cluster.kill_balancer()
    for node in list(cluster.nodes):
        cluster.kill_node(node)
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    cluster.network.stop("query-0")
    cluster.start_publisher()
    publish(cluster, 3)
    passes(cluster, LONG)
    cluster.network.go_on("query-0")
    cluster.consumers["query-0"].start()
    cluster.settle(60.0)
    cluster.check()


def test_an_answer_of_an_earlier_ownership_does_not_begin_anything() -> None:
    cluster = application()
    assert cluster.balancer is not None
    [one, other] = cluster.nodes
    kept: list[Parcel] = []
    publish(cluster, 1)
    cluster.kill_node(other)
    cluster.run_until(
        lambda: any(isinstance(p.what, ReplayAnswer) for p in cluster.network.parcels)
    )
    kept = [p for p in cluster.network.parcels if isinstance(p.what, ReplayAnswer)]
    passes(cluster, 2.0)
    taker = cluster.start_node()
    passes(cluster, 2.0)
    publish(cluster, 2)
    passes(cluster, 1.0)
    cluster.kill_node(taker)
    cluster.run_until(
        lambda: set(cluster.balancer.owners.of) == {one} if cluster.balancer else False
    )
    for parcel in kept:
        cluster.network.post(parcel)
    cluster.settle(60.0)
    assert cluster.checker.repeated == 0 or all(
        len(nodes) == 2 for nodes in cluster.checker.begun.values() if len(nodes) > 1
    )


def test_a_publisher_that_died_is_ended_and_all_consumers_have_the_same_of_it() -> None:
    cluster = served()
    publish(cluster, 2)
    cluster.kill_publisher(next(iter(cluster.publishers)))
    passes(cluster, LONG)
    cluster.settle(60.0)
    cluster.check()
    assert stages(cluster) == {CutStage.CLEARED}


@pytest.mark.parametrize("block", range(4))
def test_anything_at_any_time(block: int) -> None:
    """More of them: ``python -m evenflow.testing.outages FIRST COUNT``."""
    count = 12 if THOROUGH else 6
    for seed in range(block * count, (block + 1) * count):
        for schedule in (application_schedule, served_schedule):
            try:
                schedule(seed)
            except Exception as error:
                error.add_note(f"{schedule.__name__}({seed})")
                raise


@pytest.mark.parametrize("block", range(2))
def test_state_moves_with_its_slice_whatever_breaks(block: int) -> None:
    count = 12 if THOROUGH else 4
    for seed in range(block * count, (block + 1) * count):
        stateful_schedule(seed)


def test_who_is_refused_for_a_term_that_nobody_alive_gave_out_keeps_its_positions():
    """A balancer whose clock was ahead is lost with its nodes; its successor is behind it."""
    stateful_schedule(1201373)


def test_who_takes_a_slice_over_after_a_cut_learns_where_its_numbers_start():
    """The writer is back, and its closes do not name that slice: all of it is committed."""
    served_schedule(305062, skewed=False)


def test_a_giver_that_is_heard_late_has_the_newer_word():
    """Another balancer had given it the slice, and was moving it on: the map names neither."""
    application_schedule(401100, skewed=False)


def test_a_writer_whose_cut_one_consumer_alone_remembers_goes_on():
    """Balancer, disk and nodes that knew it are gone, and the others have read on."""
    served_schedule(700597, skewed=False)


@pytest.mark.parametrize("schedule", [application_schedule, stateful_schedule])
def test_of_a_writer_that_two_parts_have_cut_the_complete_cut_counts(
    schedule: Callable[[int], None],
):
    """A node that knew it kept the numbers of the other one: the writer was frozen for ever."""
    schedule(805681)


def test_a_newcomer_of_whom_a_publisher_hears_late_begins_anew():
    """It let its history go by its own clock, and the newcomer had planned to read it."""
    served_schedule(700858, skewed=False)


def test_a_writer_that_was_cut_twice_is_read_from_its_first_epoch():
    """Of a topic that keeps a history, by a query that takes few items and was late."""
    served_schedule(811278, skewed=False)


def test_a_newcomer_reads_a_publisher_that_stood_still_when_it_speaks_again():
    """All nodes were started anew meanwhile: nobody but the publisher has its history."""
    served_schedule(821045, skewed=False)


def test_a_balancer_does_not_overwrite_what_another_has_saved_on_their_disk():
    """Both led, in two parts of the domain; the writer whose end was lost waited for ever."""
    served_schedule(810454, skewed=False)


@pytest.mark.parametrize("begin", [application, served])
def test_a_balancer_with_an_earlier_clock_learns_how_late_its_predecessor_was(
    begin: Callable[[], SimCluster],
) -> None:
    """Only publishers and consumers heard the first one: its disk and its nodes are lost."""
    cluster = begin()
    cluster.kill_balancer()
    cluster.balancers.skew, cluster.balancers.own_disks = iter([900.0, -900.0]).__next__, True
    ahead, lost = cluster.start_balancer(), list(cluster.nodes)
    publish(cluster, 1)
    passes(cluster, LONG)
    cluster.stop_balancer(ahead)  # it keeps its disk to itself
    cluster.start_balancer()
    cluster.kill_balancer(ahead)
    for node in lost:
        cluster.kill_node(node)
        cluster.start_node()
    publish(cluster, 1)
    cluster.settle(60.0)
    if isinstance(cluster, ServingCluster):
        cluster.check()
