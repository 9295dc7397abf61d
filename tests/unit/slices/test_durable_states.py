"""States of a durable topic survive the death of nodes: each item is in them exactly once."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.durable_cluster import DurableCluster, random_durable_schedule
from evenflow.testing.schedules import PATIENCE, calm

pytestmark = pytest.mark.timeout(900)
THOROUGH = settings().max_examples >= 80
SEEDS = range(max(200, settings().max_examples) if THOROUGH else 40)


@pytest.mark.parametrize("block", range(4))
def test_each_item_is_in_the_states_once_whatever_happens(block: int) -> None:
    """Deaths, two owners, and a store that is asked late, twice or not at all."""
    stores = [random_durable_schedule(seed).store for seed in SEEDS[block::4]]
    assert sum(store.fetched for store in stores) > 5, "slices are begun from snapshots"
    assert sum(store.first for store in stores) > 50, "what nobody needs is trimmed"


def test_the_log_does_not_grow_with_time() -> None:
    """A busy application: what is stored is what was written since the last refresh, about."""
    settings = NodeSettings(stateful=True, durable=True, snapshot_every=1.0)
    cluster = DurableCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    writer = cluster.start_publisher()
    calm(cluster, 2.0)
    kept = []
    for _ in range(4):
        for number in range(70):
            cluster.publish(writer, number % 3)  # the fourth slice never changes
            calm(cluster, 1.0)
        kept.append((len(cluster.store.records), len(cluster.store.bundles)))
    assert cluster.store.end > 4 * 70
    assert max(max(each) for each in kept) < 2 * 80
    cluster.settle(120.0)
    cluster.check_states()
