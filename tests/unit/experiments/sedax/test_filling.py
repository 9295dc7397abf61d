from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from evenflow_experiments.sedax.engine import LocalEngine, Run
from evenflow_experiments.sedax.filling import figures, fill
from evenflow_experiments.sedax.simulation import Setting, Sizes
from evenflow_experiments.sedax.statistics import Reading
from evenflow_experiments.sedax.tables import TABLES, Readings, Row
from evenflow_experiments.sedax.tasks import Answer, Balancing, Growth, Task, perform

SMALL = Setting(nodes=6, topics_per_node=5, candidates=20)
GROWING = Setting(nodes=6, topics_per_node=5, candidates=20, sizes=Sizes.HOMOGENEOUS)


@dataclass
class Counting:
    """An engine that remembers what it was asked."""

    name: str = "counting"
    asked: list[Run] = field(default_factory=list)

    def perform(self, runs: list[Run]) -> list[Answer]:
        self.asked = list(runs)
        return [perform(task, seed) for task, seed in runs]


def test_rows_that_share_a_task_share_its_runs() -> None:
    task, other = Task(SMALL), Task(GROWING)
    rows = [Row({"level": level}, task, f"level{level}") for level in (1, 2, 3)]
    engine = Counting()
    filled = fill([(rows[0], 2), (rows[1], 3), (rows[2], 1), (Row({}, other, "level3"), 1)], engine)
    assert engine.asked == [(task, 0), (task, 1), (task, 2), (other, 0)]
    assert [len(row.answers) for row in filled] == [2, 3, 1, 1]
    assert filled[1].loads().shape == (3, 6)


def test_figures_have_the_papers_beside_ours() -> None:
    row = TABLES["III"].rows(Readings())[1]
    small = Row(row.labels, Task(SMALL), row.shows, row.paper)
    found = figures(fill([(small, 2)], LocalEngine())[0], Reading.RUN)
    assert found["selection"] == "individual"
    assert found["paper"] == {"q5": 176.8, "mean": 254.0, "q95": 282.3}
    assert found["q5"] <= found["q95"] <= found["max"] <= found["highest"]
    assert found["violations"] == 0


def test_the_course_of_a_run_adds_up() -> None:
    task = Task(GROWING, Growth(Balancing.SMALLEST, 0.05, course=True))
    found = figures(fill([(Row({"goal": 3}, task, "level3"), 1)], LocalEngine())[0], Reading.RUN)
    course = found["course"]
    assert {len(curve) for curve in course.values()} == {20}
    assert course["moved"][-1] == pytest.approx(found["moved"], abs=0.01)
    assert course["time"][-1] == 1
