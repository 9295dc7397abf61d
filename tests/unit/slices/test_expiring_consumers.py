"""A consumer that is not heard for long is forgotten, once for everybody, and never silently."""

from __future__ import annotations

import pytest

from evenflow.model.ids import Position
from evenflow.model.messages import CommitCopy, ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.registry.copies import BALANCER, is_expired
from evenflow.slices.ending.registrations import Registrations
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.consumers.cluster import LapsingCluster
from evenflow.testing.consumers.returning import ReturningConsumer
from evenflow.testing.outages import PATIENCE
from evenflow.testing.schedules import calm
from evenflow.testing.serving_cluster import ServingCluster

EXPIRES = 20.0
WALL = 1_800_000_000.0


def cluster_with(*declared: str) -> ServingCluster:
    settings = NodeSettings(serving=True)
    cluster = ServingCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.balancers.expires = EXPIRES
    cluster.balancers.declared = declared
    cluster.start_balancer()
    cluster.start_node()
    publish(cluster)
    calm(cluster, 2.0)
    return cluster


def publish(cluster: ServingCluster) -> None:
    for writer in cluster.publishers:
        for slice_id in range(4):
            cluster.publish(writer, slice_id)


def away(cluster: ServingCluster, name: str = "query-0") -> None:
    """A query ends and is not started again."""
    consumer = cluster.consumers.pop(name)
    consumer.die()


def uncommitted(cluster: ServingCluster) -> int:
    return sum(core.uncommitted for core in cluster.publishers.values())


def test_one_that_is_away_for_long_holds_up_nobody_any_more() -> None:
    cluster = cluster_with()
    away(cluster)
    publish(cluster)
    calm(cluster, EXPIRES / 2)
    assert uncommitted(cluster) == 8
    calm(cluster, EXPIRES)
    assert uncommitted(cluster) == 0
    for sim in cluster.nodes.values():
        assert sim.core.serving is not None
        assert sim.core.serving.consumers.names() == ("query-1",)


def test_one_that_lives_and_has_nothing_to_do_does_not_expire() -> None:
    cluster = cluster_with()
    calm(cluster, 3 * EXPIRES)
    publish(cluster)
    cluster.settle()
    cluster.check()


def test_one_that_is_declared_does_not_expire() -> None:
    cluster = cluster_with("query-0")
    away(cluster)
    publish(cluster)
    calm(cluster, 3 * EXPIRES)
    assert uncommitted(cluster) == 8


@pytest.mark.parametrize("how", ["killed", "stopped", "replaced"])
def test_a_balancer_that_was_away_itself_lets_nobody_expire_early(how: str) -> None:
    cluster = cluster_with()
    away(cluster)
    publish(cluster)
    calm(cluster, EXPIRES * 0.8)
    [name] = cluster.running
    if how == "stopped":
        cluster.stop_balancer(name)
        calm(cluster, 2 * EXPIRES)
        cluster.continue_balancer(name)
    elif how == "killed":
        cluster.kill_balancer()
        calm(cluster, 2 * EXPIRES)
        cluster.start_balancer()
    else:
        cluster.start_balancer()
        calm(cluster, 2.0)
        cluster.kill_balancer(name)
    calm(cluster, EXPIRES * 0.9)
    assert uncommitted(cluster) == 8
    calm(cluster, EXPIRES * 0.5)
    assert uncommitted(cluster) == 0


def test_one_that_the_balancer_alone_does_not_hear_fails_and_is_not_registered_again() -> None:
    cluster = cluster_with()
    consumer = cluster.consumers["query-0"]
    [balancer] = cluster.running
    cluster.network.cut("query-0", balancer, both=False)
    calm(cluster, 2 * EXPIRES)
    assert consumer.core is not None
    assert consumer.core.expired is not None
    cluster.network.heal()
    calm(cluster, 5.0)
    assert cluster.balancer is not None
    assert cluster.balancer.books.registrations is not None
    assert list(cluster.balancer.books.registrations.registered()) == ["query-1"]


# -- the words, and what is on disk ----------------------------------------------------------------


def expired() -> tuple[Registrations, CommitCopy]:
    registrations = Registrations(expires=EXPIRES)
    registrations.on_commit(said(7, {5: 3}), 0.0)
    registrations.to_save()
    registrations.on_saved(0.0)
    assert registrations.expire(EXPIRES - 1, WALL) == []
    assert registrations.expire(EXPIRES, WALL) == []
    assert registrations.registered() == {"adhoc": 7}
    registrations.to_save()
    registrations.on_saved(EXPIRES)
    [copy] = registrations.expire(EXPIRES, WALL)
    return registrations, copy


def said(number: int, epochs: dict[int, int], *, ended: bool = False) -> ConsumerCommit:
    return ConsumerCommit("t", "adhoc", number, tuple(epochs), tuple(epochs.values()), ended)


def test_it_is_released_when_that_is_on_disk_and_stays_so_after_a_restart() -> None:
    registrations, copy = expired()
    assert is_expired(copy)
    saved = registrations.to_save()
    assert registrations.registered() == {}
    again = Registrations(saved, expires=EXPIRES)
    assert again.registered() == {}
    assert again.copies() == [copy]


def test_its_commits_and_what_nodes_remember_register_nobody_until_it_is_forgotten() -> None:
    registrations, copy = expired()
    back = said(copy.number + 5, {5: 3})
    assert registrations.on_commit(back, 30.0) == copy
    remembered = CommitCopy("t", "adhoc", "n1", True, copy.number + 9, (5,), (3,), False, (), ())
    registrations.on_copy(remembered)
    registrations.to_save()
    registrations.on_saved(31.0)
    assert registrations.registered() == {}
    registrations.on_commit(said(copy.number + 10, {}, ended=True), 32.0)
    registrations.on_commit(said(copy.number + 11, {}), 33.0)
    registrations.to_save()
    registrations.on_saved(34.0)
    assert registrations.registered() == {"adhoc": copy.number + 11}


def test_it_is_told_since_when_what_it_lacks_and_what_to_do() -> None:
    _, copy = expired()
    core = ConsumerCore("t", "adhoc", 1)
    core.handle(copy, 0.0)
    words = core.missing(Position({5: 3}))
    assert "expired at 2027-01-15 08:00:00 UTC" in words
    assert "evenflow consumers forget adhoc" in words
    assert core.missing(Position()), "also one that keeps no position of its own"
    core.handle(CommitCopy("t", "adhoc", BALANCER, True, 9 << 60, (), (), True, (), ()), 0.0)
    assert core.missing(Position()) == ""


# -- while other things go wrong -------------------------------------------------------------------


def publish_and_work(cluster: ServingCluster, seconds: float) -> None:
    end = cluster.now + seconds
    while cluster.now < end:
        publish(cluster)
        calm(cluster, 0.5)


def test_what_one_says_that_does_not_know_it_registers_it_nowhere() -> None:
    """It is heard by all but the balancer, has always something new to say, and then ends."""
    cluster = lapsing_cluster()
    [balancer] = cluster.running
    cluster.network.cut("query-0", balancer)
    publish_and_work(cluster, 2 * EXPIRES)
    cluster.consumers["query-0"].die()
    cluster.network.stop("query-0")
    publish_and_work(cluster, 2.0)
    calm(cluster, 5.0)
    assert uncommitted(cluster) == 0
    for sim in cluster.nodes.values():
        assert sim.core.serving is not None
        assert sim.core.serving.consumers.names() == ("query-1",)


def test_nobody_is_told_before_it_is_on_disk() -> None:
    """The disk is full, and the balancer dies: nobody knows of an expiry, nor does the next one."""
    cluster = lapsing_cluster()
    cluster.consumers["query-0"].die()
    cluster.network.stop("query-0")
    cluster.balancers.full.add(0)
    calm(cluster, 1.5 * EXPIRES)
    publish(cluster)
    cluster.kill_balancer()
    cluster.balancers.full.clear()
    cluster.start_balancer()
    calm(cluster, 2.0)
    cluster.network.go_on("query-0")
    cluster.settle()
    cluster.check()
    assert not cluster.expired_at


@pytest.mark.parametrize("ahead", [0.0, 1e6])
def test_a_standby_that_has_heard_it_since_does_not_undo_it(ahead: float) -> None:
    """Only who leads does not hear it; then who stands by takes over. Its clock may be ahead."""
    cluster = lapsing_cluster(ahead)
    [leader] = cluster.running
    standby = cluster.start_balancer()
    cluster.network.cut("query-0", leader)
    publish_and_work(cluster, 1.5 * EXPIRES)
    assert list(cluster.expired_at) == ["query-0"]
    assert not cluster.running[standby].leads
    cluster.kill_balancer(leader)
    publish_and_work(cluster, 0.5 * EXPIRES)
    assert cluster.running[standby].leads
    assert cluster.consumers["query-0"].core is None, "it has heard of it, and failed"
    assert registered(cluster) == ["query-1"]


def test_a_balancer_that_stood_still_does_not_undo_it() -> None:
    cluster = lapsing_cluster()
    [former] = cluster.running
    cluster.start_balancer()
    calm(cluster, 1.0)
    cluster.stop_balancer(former)
    cluster.consumers["query-0"].die()
    cluster.network.stop("query-0")
    publish_and_work(cluster, 2 * EXPIRES)
    assert list(cluster.expired_at) == ["query-0"]
    cluster.running[former].inbox.clear()  # too much for it while it stood still
    cluster.continue_balancer(former)
    calm(cluster, 2.0)
    for name in [name for name in cluster.running if name != former]:
        cluster.kill_balancer(name)
    publish_and_work(cluster, 5.0)
    assert registered(cluster) == ["query-1"]


def lapsing_cluster(ahead: float = 0.0) -> LapsingCluster:
    """Two queries that look what was kept for them; the clock of the first may be ahead."""
    settings = NodeSettings(serving=True)
    cluster = LapsingCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    consumer = cluster.consumers["query-0"]
    assert isinstance(consumer, ReturningConsumer)
    consumer.wall += ahead
    consumer.start()
    cluster.balancers.expires = EXPIRES
    cluster.start_balancer()
    cluster.start_node()
    publish(cluster)
    calm(cluster, 2.0)
    return cluster


def registered(cluster: LapsingCluster) -> list[str]:
    assert cluster.balancer is not None
    assert cluster.balancer.books.registrations is not None
    return sorted(cluster.balancer.books.registrations.registered())
