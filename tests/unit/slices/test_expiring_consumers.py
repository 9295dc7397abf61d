"""A consumer that is not heard for long is forgotten, once for everybody, and never silently."""

from __future__ import annotations

import pytest

from evenflow.model.ids import Position
from evenflow.model.messages import CommitCopy, ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.registry import BALANCER, is_expired
from evenflow.slices.ending.registrations import Registrations
from evenflow.slices.node.settings import NodeSettings
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
