"""The figures of the handover experiment: cells of Table II, what follows from them, the plot.

The paper's cells are means. A mean of a few moves is that of the slowest, when the machine does
other work too, so medians stand beside ours.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenflow_experiments.derived import process_times
from evenflow_experiments.report import print_table, write_plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenflow.model.messages import Receipt
    from evenflow_experiments.slices.arrivals import Arrivals

PAPER_MS = {
    (10, 1.4): 401, (100, 1.4): 422, (1000, 1.4): 432,
    (10, 4.0): 406, (100, 4.0): 433, (1000, 4.0): 450,
    (10, 10.0): 454, (100, 10.0): 479, (1000, 10.0): 491,
}  # fmt: skip
"""Table II of MAPE-SDDL."""
Cell = dict[str, Any]
MEAN, MEDIAN = "move_ms_mean", "move_ms_median"


class Move(NamedTuple):
    """One handover."""

    receipt: Receipt
    """Its time ends when the taker owns the slices."""
    complete_ms: float
    """From the first order until the balancer has told that nothing is missing any more."""


def summary(
    slices: int, rate: float, moves: Sequence[Move], arrivals: Arrivals, published: int
) -> Cell:
    """One cell's figures."""
    receipts = [move.receipt for move in moves]
    times = [receipt.ms for receipt in receipts]
    delays = np.concatenate(
        [arrivals.delays_ms(r.time, r.time + r.ms / 1000 + 0.5) for r in receipts]
    )
    return {
        "slices": slices,
        "mb_per_s": rate,
        "paper_ms": PAPER_MS.get((slices, rate)),
        MEAN: round(fmean(times), 1),
        MEDIAN: round(median(times), 1),
        "move_ms_max": round(max(times), 1),
        "complete_ms_mean": round(fmean(move.complete_ms for move in moves), 1),
        "complete_ms_median": round(median(move.complete_ms for move in moves), 1),
        "item_delay_ms_p99": round(float(np.percentile(delays, 99)), 1) if len(delays) else None,
        "moves": len(times),
        "moved": sum(receipt.moved for receipt in receipts),
        "replayed": sum(receipt.replayed for receipt in receipts),
        "published": published,
        "lost": arrivals.lost(published),
        "repeated": arrivals.repeated + sum(receipt.repeated for receipt in receipts),
    }


def figures(found: Mapping[str, list[Cell]]) -> dict[str, Any]:
    """All set-ups for the JSON file, the paper's table and what follows from it beside them."""
    return {
        "setups": {
            name: {
                "cells": cells,
                "derived": process_times(cell_times(cells, MEAN)),
                "derived_from_medians": process_times(cell_times(cells, MEDIAN)),
            }
            for name, cells in found.items()
        },
        "paper": {
            "cells": [
                {"slices": slices, "mb_per_s": rate, "ms": ms}
                for (slices, rate), ms in PAPER_MS.items()
            ],
            "derived": process_times(PAPER_MS),
        },
    }


def cell_times(cells: Sequence[Cell], which: str) -> dict[tuple[int, float], float]:
    """The mean or the median time of a move in each cell."""
    return {(cell["slices"], cell["mb_per_s"]): cell[which] for cell in cells}


def show(setup: str, cells: Sequence[Cell]) -> None:
    """Print the cells of a set-up, and what follows from them."""
    columns = {
        "slices": "slices",
        "MB/s": "mb_per_s",
        "paper ms": "paper_ms",
        "mean ms": MEAN,
        "median ms": MEDIAN,
        "max ms": "move_ms_max",
        "all replayed, mean ms": "complete_ms_mean",
        "item delay p99 ms": "item_delay_ms_p99",
        "moved": "moved",
        "replayed": "replayed",
        "lost": "lost",
        "repeated": "repeated",
    }
    print_table(
        f"Moving half of all slices to a new node, {setup} (MAPE-SDDL, Table II)",
        list(columns),
        [[cell[key] for key in columns.values()] for cell in cells],
    )
    derived = [process_times(cell_times(cells, which)) for which in (MEAN, MEDIAN)]
    derived.append(process_times(PAPER_MS))
    names = {
        "by_rate_percent": "10 slices, 1.4 to 10 MB/s",
        "by_10_times_the_slices_percent": "1.4 MB/s, 10 to 100 slices",
        "by_100_times_the_slices_percent": "1.4 MB/s, 10 to 1,000 slices",
    }
    print_table(
        f"By how many percent a move takes longer, {setup}",
        ["", "means", "medians", "paper"],
        [[title, *(column[key] for column in derived)] for key, title in names.items()],
    )


def plot(path: Path, found: Mapping[str, Sequence[Cell]]) -> None:
    """Draw the times over the number of slices, a line for each rate, the paper's dashed."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(6.5 * len(found), 4.5), layout="constrained")
    grid = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, (setup, cells) in zip(grid, found.items(), strict=True):
        for colour, rate in enumerate(sorted({cell["mb_per_s"] for cell in cells})):
            mine = [cell for cell in cells if cell["mb_per_s"] == rate]
            slices = [cell["slices"] for cell in mine]
            style: dict[str, Any] = {"color": f"C{colour}", "marker": "o"}
            axes.plot(slices, [c[MEDIAN] for c in mine], label=f"{rate:g} MB/s", **style)
            axes.plot(slices, [c["paper_ms"] for c in mine], **style, ls="--", alpha=0.5,
                      label=f"{rate:g} MB/s, paper")  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="slices", title=setup)
        axes.set(ylabel="time of a move, ms (median)")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    write_plot(path, figure)
