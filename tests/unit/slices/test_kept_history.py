"""What a topic keeps beyond what is committed: who comes late gets it, and nothing waits for it."""

from __future__ import annotations

import logging

import pytest

from evenflow.config.spans import Keep
from evenflow.model.messages import ConsumerCommit, CutStage, EpochClose, Ledger, WriterCut
from evenflow.slices.ending.kept_streams import MOST_STREAMS, KeptStreams
from evenflow.slices.ending.records import Ended
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.sealing import item_bytes
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.publishers import LIMITS, TOPIC, no_assignment
from evenflow.testing.schedules import calm, calm_until
from evenflow.testing.serving_cluster import FOR_EVER, ServingCluster

SLICES = 4
ALWAYS = Keep(seconds=FOR_EVER)


def cluster_that_keeps(
    keep: Keep | None, *, cache_bytes: int = 1 << 20, nodes: int = 2
) -> ServingCluster:
    settings = NodeSettings(serving=True, cache_bytes=cache_bytes, writer_silence=SILENCE)
    cluster = ServingCluster(
        SLICES, node_settings=settings, balancer_settings=PATIENCE, keep=keep, consumers=1
    )
    cluster.start_balancer()
    for _ in range(nodes):
        cluster.start_node()
    calm(cluster, 2.0)
    return cluster


def publish(cluster: ServingCluster, times: int = 1) -> None:
    for _ in range(times):
        for writer in cluster.publishers:
            for slice_id in range(SLICES):
                cluster.publish(writer, slice_id)
        calm(cluster, 0.3)


def leave(cluster: ServingCluster, publisher: str) -> None:
    """A publisher leaves in order, when everything is committed."""
    core = cluster.publishers[publisher]
    assert core.uncommitted == 0
    core.leave()
    assert core.close_epoch(cluster.now, closing=True) is None
    del cluster.publishers[publisher]


def newcomer_has(cluster: ServingCluster, name: str = "newcomer") -> int:
    newcomer = cluster.add_newcomer(name)
    cluster.settle(60.0)
    cluster.check()
    return len(newcomer.items())


def test_a_newcomer_gets_what_all_others_have_committed() -> None:
    cluster = cluster_that_keeps(ALWAYS)
    publish(cluster, 3)
    assert all(core.uncommitted == 0 for core in cluster.publishers.values())
    assert newcomer_has(cluster) == 24


def test_without_it_a_newcomer_gets_what_comes() -> None:
    cluster = cluster_that_keeps(None)
    publish(cluster, 3)
    assert newcomer_has(cluster) == 0


def test_a_node_that_dies_takes_nothing_with_it_while_the_publisher_lives() -> None:
    cluster = cluster_that_keeps(ALWAYS)
    publish(cluster, 3)
    cluster.kill_node(next(iter(cluster.nodes)))
    calm(cluster, 3.0)
    assert newcomer_has(cluster) == 24


def test_what_only_a_publisher_has_that_stands_still_comes_when_it_speaks_again() -> None:
    """Until then nodes that were started anew do not know it, and a newcomer reads the others."""
    cluster = cluster_that_keeps(ALWAYS)
    publish(cluster, 3)
    still = next(iter(cluster.publishers))
    cluster.network.stop(still)
    for node in list(cluster.nodes):
        cluster.kill_node(node)
    cluster.start_node()
    newcomer = cluster.add_newcomer("newcomer")
    calm(cluster, 10.0)
    assert newcomer.has_everything
    assert not set(newcomer.items()) & set(cluster.publishers.items_of[still])
    cluster.settle(60.0)
    cluster.check()
    assert len(newcomer.items()) == 24


def test_slices_that_move_take_it_along() -> None:
    cluster = cluster_that_keeps(ALWAYS)
    publish(cluster, 3)
    giver, taker = cluster.nodes
    cluster.move(giver, taker, 1)
    calm(cluster, 3.0)
    assert newcomer_has(cluster) == 24


def test_what_a_publisher_had_published_that_has_left_is_kept_for_the_time() -> None:
    cluster = cluster_that_keeps(Keep(seconds=30.0))
    publish(cluster, 3)
    gone = next(iter(cluster.publishers))
    leave(cluster, gone)
    calm(cluster, 10.0)
    assert newcomer_has(cluster) == 24
    assert stage(cluster, gone) is CutStage.COMPLETE
    assert calm_until(cluster, lambda: stage(cluster, gone) is CutStage.CLEARED, 40.0)
    assert newcomer_has(cluster, "too late") == 0


def stage(cluster: ServingCluster, publisher: str) -> CutStage | None:
    assert cluster.balancer is not None
    found = cluster.balancer.books.cutting.ended.get(int(publisher, 16))
    return None if found is None else found.stage


def test_a_balancer_that_is_started_anew_lets_go_later_and_never_earlier() -> None:
    cluster = cluster_that_keeps(Keep(seconds=30.0))
    publish(cluster)
    gone = next(iter(cluster.publishers))
    leave(cluster, gone)
    assert calm_until(cluster, lambda: stage(cluster, gone) is CutStage.COMPLETE, 20.0)
    calm(cluster, 25.0)
    cluster.kill_balancer()
    cluster.start_balancer()
    calm(cluster, 25.0)
    assert stage(cluster, gone) is CutStage.COMPLETE
    assert calm_until(cluster, lambda: stage(cluster, gone) is CutStage.CLEARED, 10.0)


def test_a_stream_of_which_a_node_had_the_only_part_is_let_go_and_holds_up_no_newcomer() -> None:
    cluster = cluster_that_keeps(ALWAYS)
    publish(cluster, 2)
    gone, stays = list(cluster.publishers)
    leave(cluster, gone)
    assert calm_until(cluster, lambda: stage(cluster, gone) is CutStage.COMPLETE, 20.0)
    cluster.kill_node(next(iter(cluster.nodes)))
    assert calm_until(cluster, lambda: stage(cluster, gone) is CutStage.CLEARED, 10.0)
    assert newcomer_has(cluster) == len(cluster.publishers.items_of[stays])


def test_it_is_let_go_when_it_is_old() -> None:
    cluster = cluster_that_keeps(Keep(seconds=5.0))
    publish(cluster, 2)
    assert {core.retention.settled_items for core in cluster.publishers.values()} == {8}
    calm(cluster, 6.0)
    assert {core.retention.settled_items for core in cluster.publishers.values()} == {0}
    assert all(sim.core.cache.size == 0 for sim in cluster.nodes.values())


def test_full_nodes_let_go_of_it_and_the_stream_goes_on() -> None:
    cluster = cluster_that_keeps(ALWAYS, cache_bytes=4_000)
    publish(cluster, 60)
    calm(cluster, 2.0)
    assert all(core.uncommitted == 0 for core in cluster.publishers.values())
    assert len(cluster.consumers["query-0"].items()) == 480
    kept = newcomer_has(cluster)
    assert 0 < kept < 480


def core_that_keeps(keep: Keep, retention_bytes: int = 10_000) -> PublisherCore:
    limits = LIMITS.__class__(3, 10_000, 0.01, retention_bytes, 0.1)
    return PublisherCore(TOPIC, 1, SLICES, limits, assign=no_assignment, served=True, keep=keep)


def fill(core: PublisherCore, now: float) -> float:
    """Publish an epoch that every consumer commits; fails when there is no room."""
    if not core.ledger.version:
        core.handle(Ledger(TOPIC, 1, (), (), (), ("q",), (1,)), now)
    size = item_bytes("sim", b"x" * 500)
    assert core.has_room(size)
    core.opened(now)
    core.add((b"x" * 500, "sim", 1, 0, 0), size)
    core.end_epoch(now)
    core.close_epoch(now)
    epoch = core.epochs.ended
    core.handle_consumer(ConsumerCommit(TOPIC, "q", epoch, (1,), (epoch,), ended=False), now)
    core.forgetting.look(now)
    return now + 1.0


@pytest.mark.parametrize(("keep", "most"), [(ALWAYS, 10_000), (Keep(octets=3_000), 3_000)])
def test_publishing_never_waits_for_it_and_it_stays_within_its_bound(keep: Keep, most: int) -> None:
    core, now = core_that_keeps(keep), 0.0
    for _ in range(100):
        now = fill(core, now)
        assert core.retention.size <= most
    assert core.uncommitted == 0
    assert core.retention.settled_items > 3
    assert core.retention.settled_items == core.retention.items
    assert core.forgetting.forgotten_items == 100 - core.retention.items


@pytest.mark.parametrize("keep", [Keep(seconds=5.0), Keep(octets=3_000)])
def test_what_a_newcomer_has_still_to_read_is_history_no_more_and_stays(keep: Keep) -> None:
    core, now = core_that_keeps(keep, 1 << 20), 0.0
    for _ in range(10):
        now = fill(core, now)
    begin = core.epochs.committed
    assert 0 < begin < 9

    def newcomer_is_at(epoch: int, number: int) -> None:
        core.handle_consumer(ConsumerCommit(TOPIC, "n", number, (1,), (epoch,), ended=False), now)

    newcomer_is_at(begin, 1)
    core.handle(Ledger(TOPIC, 2, (), (), (), ("n", "q"), (1, 1)), now)
    for _ in range(10):
        now = fill(core, now)
    assert core.epochs.committed == begin
    newcomer_is_at(begin + 2, 2)
    now = fill(core, now)
    assert core.epochs.committed == begin + 2
    for version in range(3, 7):  # it is released
        core.handle(Ledger(TOPIC, version, (), (), (), ("q",), (1,)), now)
        now = fill(core, now)
    assert core.epochs.committed > begin + 8


def test_an_idle_publisher_says_no_more_because_of_it_than_that_it_is_there() -> None:
    core, now = core_that_keeps(ALWAYS), 0.0
    core.epochs.hello(now)
    for _ in range(3):
        now = fill(core, now)
    told: list[EpochClose] = []
    for tick in range(100):
        at = now + tick * 0.1
        if core.epoch_due(at):
            core.end_epoch(at)
            close = core.close_epoch(at)
            told += [] if close is None else [close]
    assert len(told) <= 11
    assert {(close.committed, close.last) for close in told} == {(0, (3,))}


def test_the_streams_that_ended_first_go_when_there_are_many() -> None:
    kept = KeptStreams(ALWAYS)
    ended = {n: Ended(n, n, CutStage.COMPLETE) for n in range(1, MOST_STREAMS + 3)}
    assert all(kept.holds(one, 0.0) for one in ended.values())
    kept.bound(ended)
    assert [n for n, one in ended.items() if not kept.holds(one, 0.0)] == [1, 2]
    kept.on_room_wanted(ended)
    assert not kept.holds(ended[1], 0.0)


@pytest.mark.parametrize(
    ("keep", "beyond", "level"),
    [
        (Keep(seconds=60.0), 0, logging.INFO),  # how every publisher of such a topic leaves
        (Keep(seconds=60.0), 3, logging.WARNING),
        (None, 0, logging.WARNING),
    ],
)
def test_an_ordinary_leave_is_no_warning(
    keep: Keep | None, beyond: int, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    KeptStreams(keep).log_cut(WriterCut("items", 7, 1, 5, (), (), (), beyond))
    assert [record.levelno for record in caplog.records] == [level]
