"""Live load-balanced addition: new topics go where algorithm 1 puts them, beside the simulation."""

from __future__ import annotations

from evenflow.overlay.protocol.settings import Settings
from evenflow.testing.overlay.cluster import OverlayCluster

from .adding import (
    SELDOM,
    TOPIC,
    add,
    check_topics_made_at_once,
    loads_in_topics,
    simulated,
)


def cluster_of(seed: int, brokers: int, topic_bytes: int = TOPIC) -> OverlayCluster:
    settings = Settings(balance_s=SELDOM, topic_bytes=topic_bytes)
    return OverlayCluster(seed, brokers=brokers, settings=settings)


def test_the_highest_load_is_that_of_the_simulation() -> None:
    """But for two topics of 48: of equally good places each takes another one first."""
    cluster = cluster_of(1, 8)
    names = [f"topic-{number}" for number in range(48)]
    publishers = add(cluster, names)
    live = max(loads_in_topics(cluster))
    assert sum(loads_in_topics(cluster)) > 2 * len(names)
    assert live <= max(simulated(cluster, names, "global")) + 2
    assert live < 0.7 * max(simulated(cluster, names, "home"))
    moved = [move for _, move in cluster.logged if move.refusal == ""]
    assert len(moved) > len(names) / 2
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


def test_topics_that_are_made_at_once_do_not_all_go_to_one_place() -> None:
    check_topics_made_at_once(cluster_of(5, 6))


def test_a_topic_that_is_large_already_is_not_new() -> None:
    cluster = cluster_of(2, 5, topic_bytes=10)
    publisher = cluster.publisher("large", 3)
    publisher.add(b"x" * 1_000)
    cluster.run_until(lambda: publisher.acknowledged == 1, 30, "make")
    moved = len(cluster.logged)
    for broker in cluster.brokers.values():
        broker.core.exchange._births._tries.clear()
    cluster.run(5)
    assert len(cluster.logged) == moved


def test_without_an_expected_size_new_topics_stay_at_home() -> None:
    cluster = cluster_of(1, 6, topic_bytes=0)
    add(cluster, [f"topic-{number}" for number in range(12)])
    assert not cluster.logged
