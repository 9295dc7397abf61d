"""From tables and the answers of their runs to rows of figures, for JSON, print and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow_experiments.sedax.growth import trailing_mean
from evenflow_experiments.sedax.paper import Paper
from evenflow_experiments.sedax.statistics import ccdf_quantile, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.sedax.engine import Engine
    from evenflow_experiments.sedax.statistics import Reading
    from evenflow_experiments.sedax.tables import Row
    from evenflow_experiments.sedax.tasks import Answer, Task

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
        level = int(str(row.labels["level"]))
        correlation = filled.loads()[:, level - 1].mean()
        return found | {"correlation": round(float(correlation), 4), "paper": row.paper}
    summary = summarise(filled.loads(), reading)
    found |= {"q5": summary.q5, "mean": summary.mean, "q95": summary.q95, "max": summary.max}
    found |= {"highest": summary.highest}
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
