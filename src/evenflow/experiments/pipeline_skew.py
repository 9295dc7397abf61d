"""The skew part of ``evenflow experiment pipeline``: what balancing does to a micro-batch's time.

Four serving nodes, so four tasks, on two cores. The slices' popularity follows Zipf's law, and the
popular slices begin on one node, as when one region gets busy. Every item costs the same work in
Spark, a chain of hashes over its payload. A micro-batch is over when its last task is: without
balancing (``count``: every node has equally many slices) the task of the busy node decides; with
balancing (``weighted``, by what Spark has measured of the slices' tasks) slices move until all
tasks are alike.

With two cores a batch cannot take less than half of its tasks' time, and not less than its longest
task; so what can be gained is the part by which the busy node's share is above one half. The first
quarter of :data:`SLICES` slices has about 77 % of the items.

An epoch is never split, so micro-batches differ a little in size. Times are given as measured and,
for the comparison, for equally many items (:data:`ROWS`).
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.experiments.pipeline import Bench

NODES = 4
SLICES = 256
EXPONENT = 1.0
"""Of Zipf's law."""
ROWS = 20_000
"""Items of a micro-batch."""
WORK = 200
"""Hashes computed on every item: most of a micro-batch's time is such work."""
CHUNK = 1_000
"""Items published at once; as many as are taken, so that every micro-batch is full."""
EPOCH_MS = 20
RETAINED = 32 << 20
"""Bytes that wait at most, so that a move has little to carry."""
ANALYZE_S = 2.0
"""How often the balancer looks at the loads."""
SETTLE_BATCHES = 12
"""Batches until costs are learned and the moves are over; left out with and without balancing."""
ALGORITHMS = {"off": "count", "on": "weighted"}


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


def measure_skew(bench: Bench) -> dict[str, Any]:
    """What a micro-batch takes with balancing off and on; ``batch_s`` are means, in seconds."""
    found: dict[str, Any] = {}
    for name, algorithm in ALGORITHMS.items():
        figures = figures_of(bench.skewed(algorithm)[SETTLE_BATCHES:])
        found |= {f"{key}_{name}": value for key, value in figures.items()}
    found["saved"] = round(1 - found["batch_s_on"] / found["batch_s_off"], 3)
    return found


def figures_of(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean and median time of a micro-batch of :data:`ROWS` items, and how it was made up."""
    seconds = [batch["ms"]["triggerExecution"] / 1_000 for batch in batches]
    rows = fmean(batch["rows"] for batch in batches)
    tasks = [batch["task_s"] for batch in batches if batch["task_s"]]
    return {
        "batch_s": round(fmean(seconds) * ROWS / rows, 3),
        "median_s": round(
            median(s * ROWS / b["rows"] for s, b in zip(seconds, batches, strict=True)), 3
        ),
        "measured_s": round(fmean(seconds), 3),
        "rows": round(rows),
        "batches": len(batches),
        "longest_task_s": round(fmean(max(times) for times in tasks), 3),
        "all_tasks_s": round(fmean(sum(times) for times in tasks), 3),
    }
