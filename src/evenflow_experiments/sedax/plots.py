"""Plots of the tables and figures, the paper's values beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenflow_experiments.sedax.filling import figures
from evenflow_experiments.sedax.paper import Paper
from evenflow_experiments.sedax.statistics import Reading, averaged_ccdf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from evenflow_experiments.sedax.filling import Filled

LOADS = np.linspace(0.0, 5.5, 551)
"""Node loads at which a CCDF is drawn."""


OURS = ("tab:blue", "ours")
THEIRS = ("tab:gray", "paper")


def plot(table: str, title: str, rows: Sequence[Filled], reading: Reading) -> Figure:
    """Draw a table the way the paper does, or as intervals when it prints numbers.

    CCDFs have their 95 % confidence intervals around them.
    """
    if table == "fig4":
        drawn = _ccdfs([("", rows)])
    elif table == "fig5":
        goals = dict.fromkeys(row.row.labels["goal"] for row in rows)
        panels = [
            (
                f"balanced for level {goal}" if goal else "not balanced",
                [row for row in rows if row.row.labels["goal"] == goal],
            )
            for goal in goals
        ]
        drawn = _ccdfs(panels)
    elif table == "fig7":
        drawn = _courses(rows)
    elif table == "II":
        drawn = _correlations(rows)
    else:
        drawn = _intervals(rows, reading)
    drawn.suptitle(title)
    return drawn


def _name(row: Filled, without: Sequence[str] = ()) -> str:
    labels = row.row.labels.items()
    return ", ".join(f"{key} {value}" for key, value in labels if key not in without)


def _ccdfs(panels: Sequence[tuple[str, Sequence[Filled]]]) -> Figure:
    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    for place, (title, rows) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), place)
        for row in rows:
            above, half = averaged_ccdf(row.loads(), LOADS)
            axes.plot(100 * LOADS, 100 * above, label=_name(row, ["goal"]))
            axes.fill_between(100 * LOADS, 100 * (above - half), 100 * (above + half), alpha=0.3)
        axes.set(xlabel="node load in %", ylabel="nodes above in %", title=title)
        axes.legend()
        axes.grid(alpha=0.3)
    return figure


def _intervals(rows: Sequence[Filled], reading: Reading) -> Figure:
    figure = Figure(figsize=(8, 1 + 0.4 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for height, row in enumerate(reversed(rows)):
        found = figures(row, reading)
        _interval(axes, height + 0.12, found, OURS)
        axes.plot(found["max"], height + 0.12, "|", color=OURS[0], markersize=10)
        if isinstance(row.row.paper, Paper):
            _interval(axes, height - 0.12, row.row.paper._asdict(), THEIRS)
    axes.set_yticks(range(len(rows)), [_name(row, ["own", "online"]) for row in reversed(rows)])
    axes.set(xlabel="node load in %: quantiles 5 % to 95 %, mean, and our maximum")
    axes.legend(handles=[Line2D([], [], color=c, label=n) for c, n in (OURS, THEIRS)])
    axes.grid(alpha=0.3)
    return figure


def _interval(axes: Axes, height: float, found: dict[str, Any], whose: tuple[str, str]) -> None:
    colour, _ = whose
    low = found["mean"] if found["q5"] is None else found["q5"]
    axes.plot([low, found["q95"]], [height, height], color=colour, linewidth=2)
    axes.plot(found["mean"], height, "o", color=colour, markersize=4)


def _correlations(rows: Sequence[Filled]) -> Figure:
    figure = Figure(figsize=(8, 7), layout="constrained")
    axes = figure.add_subplot()
    found = [figures(row, Reading.RUN) for row in rows]
    places = np.arange(len(rows))
    axes.bar(places - 0.2, [row["correlation"] for row in found], 0.4, color=OURS[0], label="ours")
    axes.bar(places + 0.2, [row["paper"] for row in found], 0.4, color=THEIRS[0], label="paper")
    axes.set_xticks(places, [_name(row) for row in rows], rotation=90)
    axes.set(ylabel="correlation")
    axes.legend()
    return figure


def _courses(rows: Sequence[Filled]) -> Figure:
    goals = list(dict.fromkeys(row.row.labels["goal"] for row in rows))
    curves = {
        "q95": "95 % quantile in %",
        "moved": "moved load in topic units",
        "rate": "moved load per time",
    }
    figure = Figure(figsize=(12, 3 * len(goals)), layout="constrained")
    grid = figure.subplots(len(goals), len(curves), squeeze=False)
    for row in rows:
        found = figures(row, Reading.RUN)["course"]
        line = goals.index(row.row.labels["goal"])
        for axes, (curve, label) in zip(grid[line], curves.items(), strict=True):
            axes.plot(found["time"], found[curve], label=f"interval {row.row.labels['interval']}")
            axes.set(xlabel="time", ylabel=label, title=f"goal: level {goals[line]}")
            axes.legend()
    return figure
