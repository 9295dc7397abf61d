"""Live load-balanced addition: new topics go where algorithm 1 puts them, beside the simulation."""

from __future__ import annotations

import numpy as np

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow_experiments.sedax.simulation import Setting, Sizes, add_topics, draw_world

TOPIC = 1_000
"""Bytes that a topic counts."""
SELDOM = 3_600.0
"""So that nothing but addition moves anything."""


def cluster_of(seed: int, brokers: int, topic_bytes: int = TOPIC) -> OverlayCluster:
    settings = Settings(balance_s=SELDOM, topic_bytes=topic_bytes)
    return OverlayCluster(seed, brokers=brokers, settings=settings)


def add(cluster: OverlayCluster, names: list[str]) -> list:
    """Make topics one after the other, each with one small message."""
    publishers = []
    for name in names:
        publisher = cluster.publisher(name, 3)
        publisher.add(b"x")
        publishers.append(publisher)
        cluster.run_until(lambda one=publisher: one.acknowledged == 1, 30, "make")
        cluster.run(0.3)
        cluster.run_until(lambda: nothing_moves(cluster), 30, "place")
        cluster.run(0.3)
    return publishers


def nothing_moves(cluster: OverlayCluster) -> bool:
    return all(broker.core.exchange.idle for broker in cluster.brokers.values())


def loads_in_topics(cluster: OverlayCluster) -> list[float]:
    """What each broker bears at level 3, every topic counting 1."""
    loads: NodeLoads[str] = NodeLoads()
    for broker in cluster.brokers.values():
        for shelf in broker.core.shelves.values():
            copy = shelf.replica.copy
            if copy.leading and copy.delegated_here:
                loads.add(broker.core.members.closest(copy.shelf.coordinate, 3), 1.0)
    return [loads.load(name, Level.THREE) for name in cluster.brokers]


def simulated(cluster: OverlayCluster, names: list[str], selection: str) -> list[float]:
    places = np.array([list(cluster.places[name]) for name in cluster.brokers])
    homes = np.array([list(geographic_hash(name)) for name in names])
    per_node = len(names) // len(places)
    setting = Setting(len(places), per_node, Sizes.HOMOGENEOUS, selection)
    world = draw_world(setting, 0, places=places, homes=homes)
    return list(add_topics(world).relative(3) * per_node)


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
    cluster = cluster_of(5, 6)
    publishers = [cluster.publisher(f"topic-{number}", 3) for number in range(30)]
    for publisher in publishers:
        publisher.add(b"x")
    cluster.run_until(lambda: all(one.acknowledged == 1 for one in publishers), 60, "make")
    cluster.run(20)
    names = [publisher.topic for publisher in publishers]
    assert max(loads_in_topics(cluster)) < max(simulated(cluster, names, "home"))
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


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
