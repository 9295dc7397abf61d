"""Consumers that the file names before they run: everything is kept for them from then on."""

from __future__ import annotations

from evenflow.config import TopicConfig
from evenflow.model.messages import ConsumerCommit, CutStage
from evenflow.slices.consumer.registry.declared import declared_consumers, expected_consumers
from evenflow.slices.ending.registrations import Registrations
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.schedules import calm, calm_until
from evenflow.testing.serving_cluster import ServingCluster

SLICES = 4


def cluster_with(*declared: str) -> ServingCluster:
    settings = NodeSettings(serving=True, writer_silence=SILENCE)
    cluster = ServingCluster(SLICES, node_settings=settings, balancer_settings=PATIENCE)
    for name in declared:
        cluster.declare(name)
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    publish(cluster)
    calm(cluster, 3.0)
    return cluster


def publish(cluster: ServingCluster) -> None:
    for writer in cluster.publishers:
        for slice_id in range(SLICES):
            cluster.publish(writer, slice_id)


def test_what_others_have_committed_is_kept_though_everything_is_restarted() -> None:
    cluster = cluster_with("late")
    cluster.kill_balancer()
    for node in list(cluster.nodes):
        cluster.start_node()
        cluster.kill_node(node)
    cluster.start_balancer()
    publish(cluster)
    calm(cluster, 8.0)
    assert all(len(one.items()) == 16 for one in cluster.consumers.values())
    assert all(core.uncommitted == 8 for core in cluster.publishers.values())
    cluster.start_declared()
    cluster.settle()
    cluster.check()
    assert len(cluster.consumers["late"].items()) == 16


def test_one_that_is_taken_out_of_the_file_before_it_ran_holds_up_nothing_any_more() -> None:
    cluster = cluster_with("late")
    assert all(core.uncommitted for core in cluster.publishers.values())
    cluster.balancers.declared = ()
    cluster.kill_balancer()
    cluster.start_balancer()
    cluster.settle()
    assert all("late" not in c.consumers.names() for c in cluster.publishers.values())  # type: ignore[union-attr]
    names = [sim.core.serving.consumers.names() for sim in cluster.nodes.values()]  # type: ignore[union-attr]
    assert all("late" not in one for one in names)


def test_one_that_has_run_stays_registered_when_it_is_taken_out_of_the_file() -> None:
    cluster = cluster_with("late")
    cluster.start_declared()
    calm(cluster, 2.0)
    cluster.consumers["late"].die()
    cluster.balancers.declared = ()
    cluster.kill_balancer()
    cluster.start_balancer()
    publish(cluster)
    calm(cluster, 3.0, working=False)
    late = cluster.consumers.pop("late")
    calm(cluster, 3.0)
    assert all(core.uncommitted == 4 for core in cluster.publishers.values())
    cluster.consumers["late"] = late
    cluster.settle()
    cluster.check()


def test_a_publisher_that_died_is_ended_though_one_that_is_declared_never_ran() -> None:
    cluster = cluster_with("late")
    publisher = next(iter(cluster.publishers))
    cluster.kill_publisher(publisher)
    cut = int(publisher, 16)

    def is_complete() -> bool:
        assert cluster.balancer is not None
        found = cluster.balancer.books.cutting.ended.get(cut)
        return found is not None and found.stage is CutStage.COMPLETE

    assert calm_until(cluster, is_complete, 20.0)
    calm(cluster, 2.0)
    assert is_complete()  # and not cleared: it is kept for the one that comes
    cluster.start_declared()
    cluster.settle()
    cluster.check()
    assert len(cluster.consumers["late"].items()) == 8


def test_one_that_was_forgotten_and_is_still_declared_begins_anew() -> None:
    forgotten = ConsumerCommit("items", "late", 7, (), (), ended=True)
    registrations = Registrations([forgotten], ["late"])
    assert registrations.registered() == {"late": 0}
    assert registrations.consumers.names() == ("late",)
    assert registrations.away([]) == ""


def test_the_archive_and_who_replays_dead_letters_are_declared_by_what_a_topic_is() -> None:
    topic = TopicConfig("t.dead", served=True, durable=True, consumers=("archive", "late"))
    assert expected_consumers(topic) == ("archive", "dead")
    assert declared_consumers(topic) == ("archive", "dead", "late")
