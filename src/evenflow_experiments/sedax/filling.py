"""From tables and the answers of their runs to rows of figures, for JSON, print and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow_experiments.derived import change_percent, reduction_percent
from evenflow_experiments.sedax.growth import trailing_mean
from evenflow_experiments.sedax.paper import Paper
from evenflow_experiments.sedax.statistics import Reading, ccdf_quantile, confidence, summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.sedax.engine import Engine
    from evenflow_experiments.sedax.tables import Row
    from evenflow_experiments.sedax.tasks import Answer, Task

FEW_NODES = 20
"""Of fewer, no load is exceeded by more than 95 % of the nodes of a run."""
KEYS = ("table", "selection", "queries", "order", "interval")
"""Labels by which rows are found again."""
DERIVED = (
    ("q95 lowered by delegation (VII-C), %",
     reduction_percent, ("III", "home", 0), ("III", "local", 10)),
    ("q95 without continuous balancing, above interval 0.001 (VIII-D), %",
     change_percent, ("V", 0.001), ("V", None)),
    ("q95 when all topics are known, below interval 0.001 (VIII-D), %",
     reduction_percent, ("V", 0.001), ("IV", "descending")),
)  # fmt: skip
"""What is derived, how, and from which two rows."""
WINDOW = 0.1
"""Part of the period over which the moved load rate is averaged (eq. 14)."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A row with the answers of its runs."""

    row: Row
    answers: list[Answer]

    def loads(self) -> Floats:
        """Return the relative node loads that the row shows, one line for each run."""
        return np.array([answer[self.row.shows] for answer in self.answers])


def fill(wanted: Sequence[tuple[Row, int]], engine: Engine) -> list[Filled]:
    """Perform the runs of all rows, each task once, with seeds 0, 1, 2, ...

    Args:
        wanted: Rows with the number of runs they want.
        engine: What performs the runs.
    """
    needed: dict[Task, int] = {}
    for row, runs in wanted:
        needed[row.task] = max(needed.get(row.task, 0), runs)
    runs_of = [(task, seed) for task, count in needed.items() for seed in range(count)]
    found: dict[Task, list[Answer]] = {task: [] for task in needed}
    for (task, _), answer in zip(runs_of, engine.perform(runs_of), strict=True):
        found[task].append(answer)
    return [Filled(row, found[row.task][:runs]) for row, runs in wanted]


def figures(filled: Filled, reading: Reading) -> dict[str, Any]:
    """Return the figures of a row: labels, ours, and the paper's beside them."""
    row = filled.row
    found: dict[str, Any] = {**row.labels, "runs": len(filled.answers)}
    if row.shows == "correlation":
        return found | _correlations(filled)
    loads = filled.loads()
    summary = summarise(loads, reading)
    found |= {"q5": summary.q5, "mean": summary.mean, "q95": summary.q95, "max": summary.max}
    found |= {"highest": summary.highest, "ci95": confidence(loads)}
    if loads.shape[1] < FEW_NODES:
        pooled = summarise(loads, Reading.POOLED)
        found |= {"q5_pooled": pooled.q5, "q95_pooled": pooled.q95}
    for name, scale in (("bound", 100.0), ("moved", 1.0)):
        if name in filled.answers[0]:
            value = float(np.mean([answer[name] for answer in filled.answers]))
            found[name] = round(scale * value, 2)
    found["violations"] = int(sum(answer["violations"][0] for answer in filled.answers))
    if isinstance(row.paper, Paper):
        found["paper"] = row.paper._asdict()
    if "course_moved" in filled.answers[0]:
        found["course"] = course(filled)
    return found


def _correlations(filled: Filled) -> dict[str, Any]:
    """Correlation of cell size and load at the row's level, and that of one copy more."""
    place = int(str(filled.row.labels["level"])) - 1
    means = {
        name: round(float(np.mean([answer[name][place] for answer in filled.answers])), 4)
        for name in ("correlation", "one_copy_more")
        if name in filled.answers[0]
    }
    return means | {"paper": filled.row.paper}


def derived(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the paper's text derives from the 95 % quantiles of its tables, beside ours."""
    ours = {tuple(row[name] for name in KEYS if name in row): row for row in rows}
    return [
        {
            "what": what,
            "paper": change(ours[first]["paper"]["q95"], ours[second]["paper"]["q95"]),
            "ours": change(ours[first]["q95"], ours[second]["q95"]),
        }
        for what, change, first, second in DERIVED
        if first in ours and second in ours
    ]


def course(filled: Filled) -> dict[str, list[float]]:
    """Return the course of the row's first run: the three curves of Figure 7.

    The quantile and the rate are averaged over the window, as in the paper.
    """
    answer = filled.answers[0]
    moved = np.array(answer["course_moved"])
    steps = len(moved)
    window = max(round(WINDOW * steps), 1)
    q95 = ccdf_quantile(np.array(answer["course_worst"]).reshape(steps, -1), 0.95)
    curves = {
        "time": np.arange(1, steps + 1) / steps,
        "q95": 100 * trailing_mean(q95, window),
        "moved": np.cumsum(moved),
        # Eq. 14 averages over steps; a unit of time has as many of them as the period.
        "rate": trailing_mean(moved, window) * steps,
    }
    return {name: np.round(curve, 4).tolist() for name, curve in curves.items()}
