from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import rich_click as click

from evenflow_experiments.sedax import overlay
from evenflow_experiments.sedax.engine import LocalEngine, Run
from evenflow_experiments.sedax.filling import figures, fill
from evenflow_experiments.sedax.plots import plot
from evenflow_experiments.sedax.simulation import Setting, Sizes, Ties
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


def test_a_run_answers_the_same_wherever_it_happens() -> None:
    task = Task(GROWING, Growth(Balancing.SMALLEST, 0.1, course=True), bound=True)
    assert LocalEngine().perform([(task, 4)]) == [perform(task, 4)]


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


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_filled_and_drawn(name: str) -> None:
    """With its own settings made small, so that only the wiring is tested."""
    rows = []
    for row in TABLES[name].rows(Readings()):
        wanted = row.task.setting
        growth = row.task.growth
        setting = Setting(
            6, 5, wanted.sizes, wanted.selection, wanted.level, queries=2, candidates=20
        )
        if growth is not None:
            growth = Growth(growth.balancing, 0.2, growth.shuffle, growth.course)
        rows.append(Row(row.labels, Task(setting, growth, row.task.bound), row.shows, row.paper))
    filled = fill([(row, 2) for row in rows], LocalEngine())
    json.dumps([figures(row, Reading.RUN) for row in filled])
    assert plot(name, "title", filled, Reading.RUN).axes


def test_readings_reach_the_settings() -> None:
    readings = Readings(Ties.RANDOM, own_counts=False, shuffle_growth=True)
    for row in (*TABLES["III"].rows(readings), *TABLES["V"].rows(readings)):
        assert row.task.setting.ties is Ties.RANDOM
        assert not row.task.setting.own_counts
        assert row.task.growth is None or row.task.growth.shuffle


def run(*words: str) -> int:
    """Run the experiment as from the command line; return its exit code."""
    code = overlay.main(list(words), "overlay", standalone_mode=False)
    assert isinstance(code, int)
    return code


def test_the_command_writes_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, drawing = tmp_path / "out.json", tmp_path / "out.png"
    words = ["--table", "IV", "--runs", "3", "--engine", "local"]
    assert run(*words, "--json", str(out), "--plot", str(drawing)) == 0
    written = json.loads(out.read_text())
    assert written["table"] == "IV"
    assert [row["order"] for row in written["rows"]] == ["ascending", "descending", "shuffled"]
    assert all(row["runs"] == 3 for row in written["rows"])
    assert f"{written['rows'][0]['mean']:.1f}" in capsys.readouterr().out
    assert drawing.stat().st_size > 0


def test_no_runs_are_refused() -> None:
    with pytest.raises(click.BadParameter, match="0 is not in the range"):
        run("--runs", "0", "--table", "IV", "--engine", "local")
