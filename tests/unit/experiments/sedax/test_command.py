"""``evenflow experiment overlay``, as from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rich_click as click

from evenflow_experiments.sedax import overlay


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


@pytest.mark.parametrize(("table", "figure"), [("messages", "messages"), ("returns", "nodes")])
def test_tables_of_their_own_have_a_quick_form(table: str, figure: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run("--table", table, "--quick", "--json", str(out)) == 0
    written = json.loads(out.read_text())
    assert written["table"] == table
    assert all(row[figure] > 0 for row in written["rows"])
    selections = {row["selection"] for row in written["rows"] if "selection" in row}
    assert not selections or {"local", "global", "gossip"} <= selections
