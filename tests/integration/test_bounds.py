"""Memory of real serving nodes while a consumer stands still, and what it gets afterwards."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from typing import TYPE_CHECKING

import psutil
import pytest

import evenflow
from evenflow.config import Config
from evenflow.model.ids import NOWHERE
from evenflow.processes import LocalCluster
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

LOG = logging.getLogger(__name__)
MIB = 1 << 20
ITEM = 8_000
ITEMS_A_TICK = 25
TICK_S = 0.01
STANDING_S = int(os.environ.get("EVENFLOW_TEST_STANDING_S", "6"))
ITEMS = 2_500 * STANDING_S
"""Of 8 kB, at 20 MB/s: in 6 s 120 MB, of which each of two nodes would have half."""
MOST_GROWTH = 40 * MIB
"""Of a node that may keep 1 MiB: that, some epochs of 2 MB each, and what has just arrived."""


def memory(cluster: LocalCluster, node: str) -> int:
    return int(psutil.Process(cluster.processes[node].pid).memory_info().rss)


def publish_steadily(publisher: Publisher) -> None:
    begin = time.monotonic()
    for first in range(0, ITEMS, ITEMS_A_TICK):
        for number in range(first, first + ITEMS_A_TICK):
            publisher.publish(bytes(ITEM), id=number, sender=f"car-{number % 500}")
        time.sleep(max(0.0, begin + TICK_S * first / ITEMS_A_TICK - time.monotonic()))


def test_nodes_stay_small_while_a_consumer_stands_still_and_it_gets_everything_once(
    domain_id: int, tmp_path: Path
) -> None:
    settings = {
        "domain.id": domain_id,
        "topics": {"items": {"slices": 40, "served": True}},
        "balancer.settle_s": 0.2,
        "node": {"cache_bytes": MIB, "spill_bytes": 0},
        "publisher.retention_bytes": 2048 * MIB,
    }
    config, nodes = Config.load(None, settings), ("node-1", "node-2")
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start_balancer()
        for node in nodes:
            cluster.start(node, ["node", "--serve", "--name", node])
        standing = Follower("items", "audit", config)
        standing.wait_until_served()
        standing.register(NOWHERE)
        before = {node: memory(cluster, node) for node in nodes}
        publisher = Publisher("items", config=config)
        try:
            publish_steadily(publisher)
            grown = {node: memory(cluster, node) - before[node] for node in nodes}
            LOG.info("grown by %s MiB", {node: size // MIB for node, size in grown.items()})
            assert max(grown.values()) < MOST_GROWTH
            standing.close()
            ids: Counter[int] = Counter()
            for batch in evenflow.follow("items", consumer="audit", config=config, timeout=20.0):
                ids.update(batch.ids.tolist())
                if len(ids) == ITEMS:
                    break
            assert ids == Counter(range(ITEMS))
        finally:
            publisher.__exit__(RuntimeError, None, None)
