"""Serving nodes stay within their bound, whatever consumers do, and nobody waits for ever."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evenflow.testing.cluster import TICK
from evenflow.testing.serving_cluster import ServingCluster

CACHE = 2_000
"""Bytes a node may keep."""
STEP = 2_000
"""Bytes of what one publisher publishes in an epoch here, and then some."""


def small(nodes: int = 2, consumers: int = 1) -> ServingCluster:
    """A cluster whose nodes can keep little."""
    cluster = ServingCluster(slice_count=4, consumers=consumers)
    cluster.node_settings = replace(cluster.node_settings, cache_bytes=CACHE)
    cluster.start_balancer()
    for _ in range(nodes):
        cluster.start_node()
    cluster.run_until(lambda: False, 2.0)
    return cluster


def publish(cluster: ServingCluster, seconds: float, *, working: tuple[str, ...] = ()) -> int:
    """Publish for a time; some consumers read meanwhile. Return the most that a node kept."""
    largest, item = 0, 0
    for _ in range(int(seconds / TICK)):
        for writer in cluster.publishers:
            cluster.publish(writer, item % cluster.slice_count)
            item += 1
        for name in working:
            cluster.read(cluster.consumers[name])
        while cluster.network.parcels:
            cluster.network.deliver(0)
        cluster.advance(TICK)
        largest = max([largest, *(sim.core.cache.size for sim in cluster.nodes.values())])
    return largest


def stand_still(cluster: ServingCluster, seconds: float) -> None:
    """Nothing is published, and nobody reads."""
    for _ in range(int(seconds / TICK)):
        while cluster.network.parcels:
            cluster.network.deliver(0)
        cluster.advance(TICK)


def refused(cluster: ServingCluster) -> int:
    return sum(sim.core.cache.refused for sim in cluster.nodes.values())


def bound(cluster: ServingCluster) -> int:
    """What a node may keep: its cache, and a step of each publisher."""
    return CACHE + STEP * len(cluster.publishers)


def test_a_node_whose_consumers_stand_still_keeps_no_more_than_its_bound() -> None:
    cluster = small()
    largest = publish(cluster, 60.0)
    assert CACHE < largest <= bound(cluster)
    cluster.settle(60.0)
    cluster.check()


def test_what_is_refused_is_asked_for_at_a_bounded_rate() -> None:
    cluster = small()
    publish(cluster, 10.0)
    before, published = refused(cluster), cluster.checker.published
    publish(cluster, 30.0)
    # Each item is sent once, and refused. Nothing is asked for that would be refused again.
    assert refused(cluster) - before <= 1.1 * (cluster.checker.published - published)
    stand_still(cluster, 5.0)
    before = refused(cluster)
    stand_still(cluster, 30.0)
    assert refused(cluster) == before


def test_one_consumer_that_is_away_bounds_what_another_may_run_ahead() -> None:
    cluster = small(consumers=2)
    cluster.consumers["query-1"].die()
    largest = publish(cluster, 30.0, working=("query-0",))
    assert largest <= bound(cluster)
    cluster.settle(60.0)
    cluster.check()


def test_a_consumer_that_commits_with_its_next_batch_is_never_stuck() -> None:
    cluster = small()
    publish(cluster, 5.0)
    consumer = cluster.consumers["query-0"]
    consumer.commits_late = True
    publish(cluster, 20.0, working=("query-0",))
    newest = consumer.offsets[-1].position
    publish(cluster, 5.0, working=("query-0",))
    later = consumer.offsets[-1].position
    assert all(later[writer] > newest[writer] for writer in newest)


@pytest.mark.parametrize("seed", range(20))
def test_a_planned_batch_is_read_though_its_owner_died_and_the_others_are_full(seed: int) -> None:
    rng = random.Random(seed)
    cluster = small(nodes=3)
    publish(cluster, rng.uniform(1.0, 8.0))
    consumer = cluster.consumers["query-0"]
    consumer.plan(cluster.slice_count)
    cluster.kill_node(rng.choice(list(cluster.nodes)))
    publish(cluster, rng.uniform(1.0, 8.0), working=("query-0",))
    cluster.settle(60.0)
    cluster.check()
