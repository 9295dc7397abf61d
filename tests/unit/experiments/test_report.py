from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from evenflow_experiments.report import Progress, cell, print_table, write_json, write_plot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "-"),
        ("stock", "stock"),
        (True, "True"),
        (0, "0"),
        (1234567, "1,234,567"),
        (491.4, "491"),
        (61.26, "61.3"),
        (0.01234, "0.0123"),
    ],
)
def test_cells_are_written_for_people(value: object, written: str) -> None:
    assert cell(value) == written


def test_json_keeps_the_figures_and_names_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "out.json"
    write_json(file, {"rows": [{"batch": 10}]})
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["rows"] == [{"batch": 10}]
    assert written["environment"]["cores"] >= 1
    assert written["environment"]["cyclonedds"]


def test_a_plot_has_the_format_of_its_name(tmp_path: Path) -> None:
    write_plot(tmp_path / "out.png", Figure())
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_written_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(None, {})
    write_plot(None, Figure())
    assert list(tmp_path.iterdir()) == []


def test_the_papers_figure_stands_beside_ours() -> None:
    out = io.StringIO()
    print_table(
        "Table II",
        ["slices", "ours ms", "paper ms"],
        [[1000, 52.0, 491], [10, None, 45]],
        console=Console(file=out, width=80),
    )
    lines = [line.replace("│", " ").split() for line in out.getvalue().splitlines()]
    assert ["1,000", "52", "491"] in lines
    assert ["10", "-", "45"] in lines


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Progress("codec")("100 B, stock")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("codec ")
    assert said.err.endswith(" s  100 B, stock\n")
