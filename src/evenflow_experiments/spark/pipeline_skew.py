"""The skew part of ``evenflow experiment pipeline``: what balancing does to a micro-batch's time.

Four serving nodes, so four tasks, on two cores. The slices' popularity follows Zipf's law, and the
popular slices begin on one node, as when one region gets busy. Every item costs the same work in
Spark, a chain of hashes over its payload. A micro-batch is over when its last task is: without
balancing (``count``: every node has equally many slices) the task of the busy node decides; with
balancing (``weighted``, by what Spark has measured of the slices' tasks) slices move until all
tasks are alike.

With two cores a batch cannot take less than half of its tasks' time, and not less than its longest
task; so what can be gained is the part by which the busy node's share is above one half. The first
quarter of :data:`SLICES` slices has about 81 % of the items.

One case runs after the other: side by side, the idle processes of one would take from the other the
second core, which only the balanced case can use. So the machine must have nothing else to do. The
items of a micro-batch are published at once, as one epoch, when the one
before is done: so all have exactly :data:`ROWS` items, and their times can be compared as they are.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.closing import Closing
from evenflow_experiments.spark.pipeline_domain import ServedDomain
from evenflow_experiments.spark.query import QueryProcess

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config
    from evenflow_experiments.report import Progress

NODES = 4
SLICES = 1_000
EXPONENT = 1.0
"""Of Zipf's law."""
ROWS = 20_000
"""Items of a micro-batch."""
WORK = 400
"""Hashes computed on every item: most of a micro-batch's time is such work."""
OCTETS = 100
SENDER = "sender"
EPOCH_MS = 500
"""Longer than it takes to publish the items of a micro-batch."""
ANALYZE_S = 2.0
"""How often the balancer looks at the loads."""
SETTLE_BATCHES = 12
"""Batches until Spark is warm, costs are learned and the moves are over; not counted."""
WITHIN_S = 600.0
"""How long to wait for room, or for a batch."""
ALGORITHMS = {"off": "count", "on": "weighted"}


def skew_config(config: Config, algorithm: str) -> Config:
    """The domain of a case."""
    topic = replace(config.topics[0], slices=SLICES, assignment="modulo:id")
    balancer = replace(config.balancer, algorithm=algorithm, analyze_s=ANALYZE_S)
    publisher = replace(config.publisher, epoch_ms=EPOCH_MS)
    return replace(config, topics=(topic,), balancer=balancer, publisher=publisher)


def zipf_ids(owners: tuple[int, ...], count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Ids whose slices follow Zipf's law, the most popular ones those of the first owner."""
    ranked = sorted(range(len(owners)), key=lambda slice_id: (owners[slice_id], slice_id))
    weights = 1.0 / np.arange(1, len(owners) + 1) ** EXPONENT
    chosen = np.random.default_rng(seed).choice(ranked, count, p=weights / weights.sum())
    return np.asarray(chosen, np.int64)


class Case(Closing):
    """A domain under skewed load and a query that reads it."""

    def __init__(self, config: Config, folder: Path) -> None:
        folder.mkdir()
        self._domain = ServedDomain(config, folder, NODES)
        self._ids = zipf_ids(self._domain.await_even(), ROWS)
        self._query = QueryProcess(
            *self._domain.options(),
            "--tasks", "--work", str(WORK),
            "--checkpoint", str(folder / "checkpoint"),
            log=folder / "spark.log",
        ).await_start()  # fmt: skip

    def read(self, batches: int) -> list[dict[str, Any]]:
        """Publish the items of so many micro-batches, one after the other; those that were full.

        An epoch that ended while items were published makes two small ones of a micro-batch.
        """
        first = len(self._query.batches)
        payloads = np.zeros((ROWS, OCTETS), np.uint8)
        for _ in range(batches):
            wanted = sum(batch["rows"] for batch in self._query.batches) + ROWS
            self._domain.publisher.publish_columns(
                payloads, senders=SENDER, ids=self._ids, timeout=WITHIN_S
            )
            while sum(batch["rows"] for batch in self._query.batches) < wanted:
                self._query.wait_for("batch", WITHIN_S)
        return [batch for batch in self._query.batches[first:] if batch["rows"] == ROWS]

    def close(self) -> None:
        """End the query and its domain."""
        self._query.kill()
        self._domain.close()


def measure_skew(config: Config, folder: Path, batches: int, tell: Progress) -> dict[str, Any]:
    """What a micro-batch takes with balancing off and on; ``batch_s`` are means, in seconds."""
    found: dict[str, Any] = {}
    for name, algorithm in ALGORITHMS.items():
        tell(f"skewed load, balancing {name} ({algorithm}), until it has settled")
        with Case(skew_config(config, algorithm), folder / f"skew-{name}") as case:
            case.read(SETTLE_BATCHES)
            tell(f"skewed load, balancing {name}: {batches} micro-batches")
            figures = figures_of(case.read(batches))
        found |= {f"{key}_{name}": value for key, value in figures.items()}
    found["saved"] = round(1 - found["batch_s_on"] / found["batch_s_off"], 3)
    return found


def figures_of(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean and median time of the micro-batches, and how it was made up."""
    seconds = [batch["ms"]["triggerExecution"] / 1_000 for batch in batches]
    tasks = [batch["task_s"] for batch in batches if batch["task_s"]]
    return {
        "batch_s": round(fmean(seconds), 3),
        "median_s": round(median(seconds), 3),
        "batches": len(batches),
        "longest_task_s": round(fmean(max(times) for times in tasks), 3),
        "all_tasks_s": round(fmean(sum(times) for times in tasks), 3),
    }
