"""The figures of the experiment ``pipeline``, as tables and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow_experiments.report import print_table, write_plot
from evenflow_experiments.spark import pipeline_skew
from evenflow_experiments.spark.pipeline_domain import DELAY_RATE

if TYPE_CHECKING:
    from pathlib import Path


def show(figures: dict[str, Any]) -> None:
    """Print the tables of what was measured."""
    if "rows" in figures:
        show_rates(figures["rows"])
    if "delay_ms" in figures:
        show_delay(figures)
    if "skew" in figures:
        show_skew(figures["skew"])


def show_rates(rows: list[dict[str, Any]]) -> None:
    """Print items per second, and what part of the ceiling they are."""
    ceilings = {row["bytes"]: row["items_per_s"] for row in rows if row["path"] == "ceiling"}
    print_table(
        "Items per second into Spark",
        ["path", "bytes", "items/s", "rows a batch", "of the ceiling"],
        [
            [
                row["path"],
                row["bytes"],
                row["items_per_s"],
                row["rows_a_batch"],
                f"{row['items_per_s'] / ceilings[row['bytes']]:.0%}",
            ]
            for row in rows
        ],
    )


def show_delay(figures: dict[str, Any]) -> None:
    """Print the delay beside the duration of an empty micro-batch."""
    delay, empty = figures["delay_ms"], figures["empty_batch_ms"]
    print_table(
        f"Delay at {DELAY_RATE:,} items/s, ms",
        ["p50", "p99", "micro-batch", "empty micro-batch", "p50 / empty"],
        [[delay["p50"], delay["p99"], figures["batch_ms"], empty, f"{delay['p50'] / empty:.2f}"]],
    )


def show_skew(skew: dict[str, Any]) -> None:
    """Print the time of a micro-batch with balancing off and on."""
    print_table(
        f"A micro-batch of {pipeline_skew.ROWS:,} items under Zipf skew, seconds",
        ["balancing", "mean", "median", "longest task", "all tasks", "batches", "saved"],
        [
            [
                f"{name} ({algorithm})",
                skew[f"batch_s_{name}"],
                skew[f"median_s_{name}"],
                skew[f"longest_task_s_{name}"],
                skew[f"all_tasks_s_{name}"],
                skew[f"batches_{name}"],
                f"{skew['saved']:.0%}" if name == "on" else "",
            ]
            for name, algorithm in pipeline_skew.ALGORITHMS.items()
        ],
    )


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw the rates."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    sizes = sorted({row["bytes"] for row in rows})
    figure, axes = plt.subplots(1, len(sizes), figsize=(4 * len(sizes), 3), squeeze=False)
    for axis, size in zip(axes[0], sizes, strict=True):
        chosen = [row for row in rows if row["bytes"] == size]
        axis.bar([row["path"] for row in chosen], [row["items_per_s"] for row in chosen])
        axis.set_title(f"{size} B")
        axis.set_ylabel("items/s")
    figure.tight_layout()
    write_plot(path, figure)
    plt.close(figure)
