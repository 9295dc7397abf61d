"""What the throughput experiment saw, as the paper's figures: per second, and around each join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow_experiments.derived import around_joins
from evenflow_experiments.report import print_table, write_plot
from evenflow_experiments.slices.throughput.landmarks import (
    CPU,
    PAPER_RATES,
    PAPER_RISE_S,
    THROUGHPUT,
    Landmark,
    as_rows,
    landmarks,
    speedups,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from evenflow.model.batch import Int64s
    from evenflow.model.messages import Receipt

PAPER_TABLE: dict[str, dict[str, tuple[float, ...]]] = {
    "rtd_s": {"before": (10.61, 11.159, 12.335, 12.856), "during": (11.115, 11.944, 12.145, 12.652),
              "after": (6.94, 8.856, 9.838, 10.227)},
    "throughput": {"before": (48, 83, 142, 189), "during": (40, 72, 143, 180),
                   "after": (68, 100, 195, 231)},
}  # fmt: skip
"""Table I of MAPE-SDDL, for the second to the fifth node."""
AROUND_S = 3.0
"""How long before and after a load balancing process is looked at."""
WARM = 0.2
"""Part of a phase that is left out at its beginning."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that was seen."""

    joins: tuple[float, ...]
    rise: float
    end: float
    share: float
    image_bytes: int
    wall: float
    """When the client began, in seconds since 1970."""
    published: int
    processed: Int64s
    """The ids of what the nodes have processed."""
    replies: Int64s
    """Rows of id, times published and answered, in us since 1970, and CPU time in us."""
    cpu: list[list[float]]
    """For each second, of each node that has joined: percent of its share."""
    receipts: list[Receipt]

    def throughput(self, start: float, end: float) -> float:
        """Replies a second between two moments of the story."""
        return len(self._between(start, end)) / (end - start)

    def rtd_s(self, start: float, end: float) -> float | None:
        """Mean round-trip delay of what was answered between two moments."""
        rows = self._between(start, end)
        return float(np.mean(rows[:, 2] - rows[:, 1]) / 1e6) if len(rows) else None

    def image_ms(self, start: float, end: float) -> float | None:
        """Mean CPU time of an image that was answered between two moments."""
        rows = self._between(start, end)
        return float(np.mean(rows[:, 3]) / 1000) if len(rows) else None

    def _between(self, start: float, end: float) -> Int64s:
        at = self.replies[:, 2] / 1e6 - self.wall
        chosen: Int64s = self.replies[(at >= start) & (at < end)]
        return chosen


def summary(run: Run) -> dict[str, Any]:
    """The figures."""
    seconds = range(int(run.end))
    last = run.joins[-1]
    phases = {
        "1_node": (WARM * run.joins[0], run.joins[0]),
        "5_nodes": (last + WARM * (run.rise - last), run.rise),
        "5_nodes_flooded": (run.rise + WARM * (run.end - run.rise), run.end),
    }
    one, five, flooded = (run.throughput(*span) for span in phases.values())
    costs = {name: run.image_ms(*span) for name, span in phases.items()}
    unique = len(np.unique(run.processed))
    joins = [around(run, join) for join in run.joins]
    marks = landmarks_of(run)
    means = dict(zip(PAPER_RATES, (five, flooded, marks[4].ours), strict=True))
    return {
        "speedup_5_nodes": round(five / one, 2) if one else None,
        "speedup_5_nodes_flooded": round(flooded / one, 2) if one else None,
        "cpu_speedup_5_nodes": _cpu_speedup(five, costs["5_nodes"], one, costs["1_node"]),
        "cpu_speedup_5_nodes_flooded": _cpu_speedup(
            flooded, costs["5_nodes_flooded"], one, costs["1_node"]
        ),
        "lost": run.published - unique,
        "repeated": len(run.processed) - unique,
        "unanswered": run.published - len(np.unique(run.replies[:, 0])),
        "published": run.published,
        "image_ms": {name: _rounded(cost) for name, cost in costs.items()},
        "throughput_1_node": round(one, 1),
        "throughput_5_nodes": round(five, 1),
        "throughput_5_nodes_flooded": round(flooded, 1),
        "share_of_a_core": run.share,
        "image_bytes": run.image_bytes,
        "joins_s": list(run.joins),
        "rise_s": run.rise,
        "throughput": [run.throughput(s, s + 1) for s in seconds],
        "rtd": [_rounded(run.rtd_s(s, s + 1)) for s in seconds],
        "cpu": run.cpu,
        "joins": joins,
        "speedups": speedups(means, marks[0].ours, joins[0]["throughput"]["before"]),
        "landmarks": as_rows(marks),
        "derived": {
            "ours": around_joins(*(_columns(joins, what) for what in PAPER_TABLE)),
            "paper": around_joins(*PAPER_TABLE.values()),
        },
        "paper": {"table": PAPER_TABLE},
    }


def landmarks_of(run: Run) -> list[Landmark]:
    """The points that the paper names, in this run."""
    seconds = range(int(run.end))
    rates = [run.throughput(s, s + 1) for s in seconds]
    return landmarks(rates, run.cpu, run.joins, run.rise)


def _columns(joins: list[dict[str, Any]], what: str) -> dict[str, list[float | None]]:
    """A quantity of all joins, by phase, as Table I has it."""
    return {phase: [join[what][phase] for join in joins] for phase in ("before", "during", "after")}


def _cpu_speedup(
    many: float, cost: float | None, one: float, cost_of_one: float | None
) -> float | None:
    """CPU time that went into images, against that of one node: what is left beside overheads."""
    if not (one and cost and cost_of_one):
        return None
    return round(many * cost / (one * cost_of_one), 2)


def around(run: Run, join: float) -> dict[str, Any]:
    """Before, during and after the load balancing process that a join leads to."""
    times = [(r.time - run.wall, r.ms / 1000) for r in run.receipts]
    following = [j for j in run.joins if j > join]
    until = following[0] if following else run.rise
    moves = [(start, start + length) for start, length in times if join <= start < until]
    begin = min((start for start, _ in moves), default=join)
    over = max((end for _, end in moves), default=join)
    over = max(over, begin + 0.001)
    phases = {
        "before": (max(0.0, begin - AROUND_S), begin),
        "during": (begin, over),
        "after": (over, min(over + AROUND_S, run.end)),
    }
    return {
        "at_s": round(join, 1),
        "moves": len(moves),
        "process_ms": round(1000 * (over - begin), 1),
        "throughput": {name: round(run.throughput(*span), 1) for name, span in phases.items()},
        "rtd_s": {name: _rounded(run.rtd_s(*span)) for name, span in phases.items()},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def show(figures: dict[str, Any]) -> None:
    """Print Table I and the points of the curves beside the paper's, and what follows."""
    rows: list[list[object]] = []
    for what, table in PAPER_TABLE.items():
        for phase, paper in table.items():
            rows.append([f"{what} {phase}", *(join[what][phase] for join in figures["joins"]), ""])
            rows.append(["paper", *paper, ""])
    ours, theirs = figures["derived"]["ours"], figures["derived"]["paper"]
    for what, changes, mean in (
        ("rtd during, % more", "rtd_change_percent", "rtd_mean_percent"),
        ("throughput during, % more", "throughput_change_percent", "throughput_mean_loss_percent"),
    ):
        rows.append([what, *ours[changes], ours[mean]])
        rows.append(["paper", *theirs[changes], theirs[mean]])
    columns = ["", *(f"{nodes} nodes" for nodes in range(2, len(figures["joins"]) + 2)), "mean"]
    note = "items/s, seconds; the mean of the throughput is that of what was lost"
    print_table("Around each join (MAPE-SDDL, Table I)", columns, rows, note=note)
    print_table(
        "Points of the curves (MAPE-SDDL, Figures 15 and 16)",
        ["", "", "ours", "at s", "paper", "paper at s"],
        [[mark["curve"], mark["what"], mark["ours"], mark["ours_s"], mark["paper"],
          mark["paper_s"]] for mark in figures["landmarks"]],
    )  # fmt: skip
    print_table(
        "Five nodes against one: which baseline (MAPE-SDDL, Figure 15)",
        ["", "items/s", "of the start", "of before the 2nd", "paper items/s", "paper of 40",
         "paper of 48"],
        [list(row.values()) for row in figures["speedups"]],
        note=f"{_costs(figures)}; {figures['published']:,} images, {figures['lost']} lost, "
        f"{figures['repeated']} repeated",
    )  # fmt: skip


def _costs(figures: dict[str, Any]) -> str:
    """What an image cost, and how much CPU time went into images: apart from a busy machine."""
    cost, five = figures["image_ms"], figures["cpu_speedup_5_nodes"]
    return (
        f"{cost['1_node']}, {cost['5_nodes']}, {cost['5_nodes_flooded']} ms an image; CPU time "
        f"in images {five} and {figures['cpu_speedup_5_nodes_flooded']} times that of one node"
    )


def plot(path: Path, run: Run) -> None:
    """Draw Figures 15 to 17, with the points that the paper names (of 17, those of its Table I)."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    seconds = list(range(int(run.end)))
    figure = Figure(figsize=(7, 8))
    axes = figure.subplots(3, 1, sharex=True)
    axes[0].plot(seconds, [run.throughput(s, s + 1) for s in seconds])
    axes[0].set(ylabel=THROUGHPUT)
    for node in range(len(run.joins) + 1):
        values = [row[node] if node < len(row) else float("nan") for row in run.cpu]
        axes[1].plot(range(1, len(values) + 1), values, label=f"node {node + 1}")
    axes[1].set(ylabel="CPU, % of the share")
    axes[2].plot(seconds, [run.rtd_s(s, s + 1) for s in seconds])
    axes[2].set(ylabel="round-trip delay, s", xlabel="s")
    marks = landmarks_of(run)
    for place, curve in ((axes[0], THROUGHPUT), (axes[1], CPU)):
        points = [(mark.paper_s, mark.paper) for mark in marks if mark.curve == curve]
        _mark(place, points, run.rise / PAPER_RISE_S)
    before = zip(run.joins, PAPER_TABLE["rtd_s"]["before"], strict=True)
    _mark(axes[2], list(before), 1.0)
    for each in axes:
        for join in run.joins:
            each.axvline(join, color="red", linewidth=0.8)
        each.axvline(run.rise, color="green", linewidth=0.8)
        each.grid(visible=True, alpha=0.3)
        each.margins(y=0.15)
        each.set_ylim(bottom=0)
    axes[1].set_ylim(0, 130)  # in its first second a node may have saved up quota
    write_plot(path, figure)


def _mark(axes: Axes, points: list[tuple[float, float]], scale: float) -> None:
    """The paper's points as stars with their values, at the moment of our story they belong to."""
    for at, value in points:
        place = (at * scale, value)
        axes.plot(*place, "*", color="black", markersize=9, zorder=5)
        axes.annotate(
            f"{value:g}", place, xytext=(4, 5), textcoords="offset points", fontsize="small"
        )
    axes.plot([], [], "*", color="black", label="paper")
    axes.legend(ncols=6, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0))
