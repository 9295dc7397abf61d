"""Figures 15 to 17 of the throughput experiment, with what the paper says of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow_experiments.report import write_plot
from evenflow_experiments.slices.throughput.figures import (
    PAPER_TABLE,
    Run,
    growths_of,
    landmarks_of,
)
from evenflow_experiments.slices.throughput.landmarks import CPU, PAPER_RISE_S, THROUGHPUT

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


def plot(path: Path, run: Run) -> None:
    """Draw Figures 15 to 17, with the points that the paper names.

    Of Figure 17 those of its Table I, and how steeply the delay grew.
    """
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
    _slopes(axes[2], run)
    for each in axes:
        for join in run.joins:
            each.axvline(join, color="red", linewidth=0.8)
        each.axvline(run.rise, color="green", linewidth=0.8)
        each.grid(visible=True, alpha=0.3)
        each.margins(y=0.15)
        each.set_ylim(bottom=0)
    axes[1].set_ylim(0, 130)  # in its first second a node may have saved up quota
    write_plot(path, figure)


def _slopes(axes: Axes, run: Run) -> None:
    """How steeply the paper's delay grew, dashed, from where ours is at that moment."""
    for growth in growths_of(run):
        begin = run.rtd_s(growth.begin_s, growth.begin_s + 1)
        if growth.paper is None or begin is None:
            continue
        end = begin + growth.paper * run.rise / PAPER_RISE_S
        axes.plot([growth.begin_s, growth.end_s], [begin, end], "k--", linewidth=1)
        axes.annotate(
            growth.words, (growth.end_s, end), xytext=(4, -4), textcoords="offset points",
            fontsize="small",
        )  # fmt: skip


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
