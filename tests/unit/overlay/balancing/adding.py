"""Topics made in a simulated overlay, and where they should lie by the simulation of the paper."""

from __future__ import annotations

import numpy as np

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow_experiments.sedax.simulation import Setting, Sizes, add_topics, draw_world

TOPIC = 1_000
"""Bytes that a topic counts."""
SELDOM = 3_600.0
"""So that nothing but addition moves anything."""


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


def check_topics_made_at_once(cluster: OverlayCluster) -> None:
    """Not all of them go to the place that was best before the first."""
    publishers = [cluster.publisher(f"topic-{number}", 3) for number in range(30)]
    for publisher in publishers:
        publisher.add(b"x")
    cluster.run_until(lambda: all(one.acknowledged == 1 for one in publishers), 60, "make")
    cluster.run(20)
    names = [publisher.topic for publisher in publishers]
    assert max(loads_in_topics(cluster)) < max(simulated(cluster, names, "home"))
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


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
