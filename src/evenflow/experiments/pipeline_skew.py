"""The skew part of ``evenflow experiment pipeline``: what balancing does to a micro-batch's time.

Four serving nodes, so four tasks, on two cores. The slices' popularity follows Zipf's law, and the
popular slices begin on one node, as when one region gets busy. Every item costs the same work in
Spark. A micro-batch is over when its last task is: without balancing the task of the busy node
decides; with balancing by load the slices move until all tasks are alike.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.experiments.pipeline import Bench

NODES = 4
SLICES = 64
EXPONENT = 1.2
"""Of Zipf's law."""
ROWS = 40_000
"""Items of a micro-batch."""
WORK = 16
"""Hashes computed on every item."""
CHUNK = 2_000
"""Items published at once; as many as are taken, so that every micro-batch is full."""
EPOCH_MS = 20
RETAINED = 32 << 20
"""Bytes that wait at most, so that a move has little to carry."""
ANALYZE_S = 2.0
"""How often the balancer looks at the loads."""
SETTLE_BATCHES = 12
"""Batches until the moves are over; as many are left out without balancing."""


def skew_config(config: Config, algorithm: str) -> Config:
    """The domain of this part."""
    topic = replace(config.topics[0], slices=SLICES, assignment="modulo:id")
    balancer = replace(config.balancer, algorithm=algorithm, analyze_s=ANALYZE_S)
    publisher = replace(config.publisher, retention_bytes=RETAINED, epoch_ms=EPOCH_MS)
    return replace(config, topics=(topic,), balancer=balancer, publisher=publisher)


def zipf_ids(owners: tuple[int, ...], count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Ids whose slices follow Zipf's law, the most popular ones those of the first owner."""
    ranked = sorted(range(len(owners)), key=lambda slice_id: (owners[slice_id], slice_id))
    weights = 1.0 / np.arange(1, len(owners) + 1) ** EXPONENT
    chosen = np.random.default_rng(seed).choice(ranked, count, p=weights / weights.sum())
    return np.asarray(chosen, np.int64)


def measure_skew(bench: Bench) -> dict[str, float]:
    """Mean time of a micro-batch of :data:`ROWS` items with balancing off and on, seconds."""
    found = {}
    for name, algorithm in (("batch_s_off", "count"), ("batch_s_on", "weighted")):
        found[name] = round(batch_seconds(bench.skewed(algorithm)[SETTLE_BATCHES:]), 3)
    return found


def batch_seconds(batches: list[dict[str, Any]]) -> float:
    """Time for :data:`ROWS` items: an epoch is never split, so batches differ a little in size."""
    rows = fmean(batch["rows"] for batch in batches)
    return fmean(batch["ms"]["triggerExecution"] for batch in batches) / 1_000 * ROWS / rows
