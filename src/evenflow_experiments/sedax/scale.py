"""How long a run takes, and how large it may be: one process, no Spark.

The compiled kernel is warmed first. Time counts the whole run: drawing nodes, cells and candidates,
and adding every topic.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, Any

from evenflow_experiments.sedax.simulation import Setting, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow_experiments.report import Progress

REPEATS = 3
"""Times that a small run is repeated; the fastest counts, as the others waited for somebody."""


def settings(nodes: int, topics: int, *, quick: bool) -> Iterator[tuple[Setting, int]]:
    """Return what is timed, and how often."""
    for per_node in (100, 200, 400):
        yield Setting(topics_per_node=per_node), REPEATS
    per_node = max(topics // nodes, 1)
    if quick:
        nodes //= 10
    yield Setting(nodes=nodes, topics_per_node=per_node, selection="local", queries=10), 1


def measure(nodes: int, topics: int, progress: Progress, *, quick: bool) -> list[dict[str, Any]]:
    """Time all runs."""
    simulate(Setting(nodes=10, topics_per_node=10), 0)
    simulate(Setting(nodes=10, topics_per_node=10, selection="local"), 0)
    rows = []
    for setting, repeats in settings(nodes, topics, quick=quick):
        seconds = []
        for seed in range(repeats):
            began = time.perf_counter()
            placement = simulate(setting, seed)
            seconds.append(time.perf_counter() - began)
        # Linux counts in KiB; the peak of the process so far, so rows come smallest first.
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        loads = placement.relative(setting.level)
        rows.append(
            {
                "nodes": setting.nodes,
                "topics": setting.topics,
                "selection": setting.selection,
                "seconds": round(min(seconds), 3),
                "microseconds_per_topic": round(1e6 * min(seconds) / setting.topics, 2),
                "memory_gib": round(memory, 2),
                "mean": round(100 * float(loads.mean()), 2),
                "max": round(100 * float(loads.max()), 2),
            }
        )
        progress(f"{setting.nodes} nodes, {setting.topics} topics: {min(seconds):.2f} s")
    return rows
