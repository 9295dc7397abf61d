"""The paper's tables and figures, and two of our own, as lists of rows to be filled by runs.

A row names its labels, the task whose runs fill it, which of their figures it shows and what the
paper says. Rows that share a task share its runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow_experiments.sedax.paper import (
    CELLS,
    FIGURE_6,
    TABLE_I,
    TABLE_II,
    TABLE_III,
    TABLE_IV,
    TABLE_V,
    Paper,
)
from evenflow_experiments.sedax.simulation import HOME, PLANNED, PLANNED_AHEAD, Setting, Sizes, Ties
from evenflow_experiments.sedax.tasks import Balancing, Growth, Task

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = (PLANNED, PLANNED_AHEAD)


@dataclass(frozen=True, slots=True)
class Readings:
    """What the paper leaves open, as one chose to read it; the defaults reproduce it."""

    ties: Ties = Ties.FIRST
    """How ties are broken."""
    own_counts: bool = True
    """Whether the delegating node's own cell counts as a query."""
    shuffle_growth: bool = False
    """Growth rates at random instead of in order of addition."""

    def setting(self, **changes: object) -> Setting:
        """Return a setting under these readings."""
        return replace(Setting(ties=self.ties, own_counts=self.own_counts), **changes)  # type: ignore[arg-type]

    def growing(self, **changes: object) -> Setting:
        """Return the paper's setting for growth: 10 nodes with 10 topics each, all equal."""
        plain = {"nodes": 10, "topics_per_node": 10, "sizes": Sizes.HOMOGENEOUS}
        return self.setting(**(plain | changes))

    def growth(self, balancing: Balancing, interval: float, *, course: bool = False) -> Growth:
        """Return a period of growth under these readings."""
        return Growth(balancing, interval, self.shuffle_growth, course)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    labels: dict[str, object]
    """What the row is about."""
    task: Task
    """Its runs."""
    shows: str
    """Name of the figure in the runs' answers; ``level3`` and the like are node loads."""
    paper: Paper | float | None = None
    """What the paper says."""


def table_i(readings: Readings) -> list[Row]:
    """Node loads without delegation."""
    rows = []
    for (sizes, topics), papers in TABLE_I.items():
        task = Task(readings.setting(selection=HOME, sizes=Sizes(sizes), topics_per_node=topics))
        for level, paper in enumerate(papers, start=1):
            labels = {"topics_per_node": topics, "sizes": sizes, "level": level}
            rows.append(Row(labels, task, f"level{level}", paper))
    return rows


def cell_sizes(readings: Readings) -> list[Row]:
    """Sizes of the Voronoi cells, which most of the imbalance comes from."""
    task = next(iter(table_i(readings))).task
    return [Row({"nodes": task.setting.nodes}, task, "areas", CELLS)]


def table_ii(readings: Readings) -> list[Row]:
    """Correlation of cell size and node load."""
    correlations = [value for values in TABLE_II.values() for value in values]
    return [
        replace(row, shows="correlation", paper=paper)
        for row, paper in zip(table_i(readings), correlations, strict=True)
    ]


def table_iii(readings: Readings) -> list[Row]:
    """Coordinate selections and queries."""
    none = Row(
        {"selection": HOME, "queries": 0},
        Task(readings.setting(selection=HOME)),
        "level3",
        TABLE_I["heterogeneous", 100][2],
    )
    return [none] + [
        Row(
            {"selection": selection, "queries": queries},
            Task(readings.setting(selection=selection, queries=queries)),
            "level3",
            paper,
        )
        for (selection, queries), paper in TABLE_III.items()
    ]


def table_iv(readings: Readings) -> list[Row]:
    """Order in which exponential topics are added."""
    return [
        Row({"order": order}, Task(readings.growing(sizes=Sizes(order))), "level3", paper)
        for order, paper in TABLE_IV.items()
    ]


def table_v(readings: Readings) -> list[Row]:
    """Interval of continuous balancing."""
    rows = []
    for interval, paper in TABLE_V.items():
        rule = Balancing.NONE if interval is None else Balancing.SMALLEST
        task = Task(readings.growing(), readings.growth(rule, interval or 0.1))
        rows.append(Row({"interval": interval}, task, "level3", paper))
    return rows


def figure_4(readings: Readings) -> list[Row]:
    """CCDF of level 1 node loads without delegation."""
    return [
        row
        for row in table_i(readings)
        if row.labels["level"] == 1 and row.labels["topics_per_node"] != 1000
    ]


def figure_5(readings: Readings) -> list[Row]:
    """CCDF of the node loads of every level when one of them is balanced, or none."""
    rows = []
    for goal in (0, 1, 2, 3):
        chosen = {"level": goal} if goal else {"selection": HOME}
        task = Task(readings.setting(**chosen))
        for level in (1, 2, 3):
            labels: dict[str, object] = {"goal": goal or None, "level": level}
            paper = None if goal else TABLE_I["heterogeneous", 100][level - 1]
            if goal == level == 3:
                paper = TABLE_III["global", 1]
            rows.append(Row(labels, task, f"level{level}", paper))
    return rows


def figure_6(readings: Readings) -> list[Row]:
    """Node loads before and after growth."""
    idle, active = Balancing.NONE, Balancing.SMALLEST
    unbalanced = Task(readings.growing(selection=HOME), readings.growth(idle, 0.1))
    balanced = Task(readings.growing(), readings.growth(idle, 0.1))
    continuous = Task(readings.growing(), readings.growth(active, 0.01))
    tasks = {"unbalanced": unbalanced, "balanced": balanced, "continuous": continuous}
    rows = [
        Row(
            {"system": system, "growth": when},
            tasks[system],
            "before" if when == "before" else "level3",
            paper,
        )
        for (system, when), paper in FIGURE_6.items()
    ]
    for row in table_iv(readings):
        labels: dict[str, object] = {"system": f"added {row.labels['order']}", "growth": "after"}
        rows.append(replace(row, labels=labels))
    return rows


def figure_7(readings: Readings) -> list[Row]:
    """The course of one run: 95 % quantile, moved load and its rate, for every level."""
    return [
        Row(
            {"goal": level, "interval": interval},
            Task(
                readings.growing(level=level),
                readings.growth(Balancing.SMALLEST, interval, course=True),
            ),
            f"level{level}",
        )
        for level in (1, 2, 3)
        for interval in (0.1, 0.01, 0.001)
    ]


def better(readings: Readings) -> list[Row]:
    """Our own selections and rules beside the paper's."""
    rows = []
    for selection in ("individual", "local", "regional", "global", *OWN):
        queries = 1 if selection in ("global", *OWN) else 10
        labels: dict[str, object] = {
            "selection": selection,
            "own": selection in OWN,
            "online": selection != PLANNED_AHEAD,
        }
        task = Task(readings.setting(selection=selection, queries=queries), bound=True)
        rows.append(Row(labels, task, "level3", TABLE_III.get((selection, queries))))
    for rule in Balancing:
        labels = {"rule": rule.value, "own": rule not in (Balancing.NONE, Balancing.SMALLEST)}
        interval = {Balancing.NONE: None, Balancing.SMALLEST: 0.01}
        paper = TABLE_V[interval[rule]] if rule in interval else None
        task = Task(readings.growing(), readings.growth(rule, 0.01))
        rows.append(Row(labels, task, "level3", paper))
    return rows


@dataclass(frozen=True, slots=True)
class Table:
    """A table before it is filled."""

    title: str
    """What it shows."""
    rows: Callable[[Readings], list[Row]]
    """Its rows."""
    runs: int = 100
    """Runs of each task, unless told."""


TABLES = {
    "I": Table("Node loads without delegation (Table I)", table_i),
    "cells": Table("Sizes of the Voronoi cells (section VII-B)", cell_sizes),
    "II": Table("Correlation of cell size and node load (Table II)", table_ii),
    "III": Table("Coordinate selections and queries (Table III)", table_iii),
    "IV": Table("Order of addition (Table IV)", table_iv),
    "V": Table("Interval of continuous balancing (Table V)", table_v),
    "fig4": Table("Level 1 without delegation (Figure 4)", figure_4),
    "fig5": Table("Load of every level by balancing goal (Figure 5)", figure_5),
    "fig6": Table("Before and after growth (Figure 6)", figure_6),
    "fig7": Table("The course of one run (Figure 7)", figure_7, runs=1),
    "better": Table("Our own selections and rules beside the paper's", better, runs=30),
}
