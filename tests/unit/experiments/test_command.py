from __future__ import annotations

from pathlib import Path

import pytest
import rich_click as click

from evenflow.cli import frame, main
from evenflow.cli.commands import Later
from evenflow.registry import Registry
from evenflow_experiments import EXPERIMENTS
from evenflow_experiments.command import experiment as group
from evenflow_experiments.options import Given, experiment


@pytest.fixture(autouse=True)
def _mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only this command, whatever is installed."""
    mounted: Registry[click.Command] = Registry("command", {"experiment": group})
    monkeypatch.setattr(frame, "COMMANDS", mounted)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Given, float]]:
    """Offer one experiment that keeps what it was given."""
    given_to_it: list[tuple[Given, float]] = []

    @experiment("air", "Weighs air.")
    @click.option("--rate", type=float, default=1.4)
    def air(given: Given, rate: float) -> int:
        """Weigh."""
        given_to_it.append((given, rate))
        return 3

    monkeypatch.setattr(group, "registry", Registry("experiment", {"air": air}))
    return given_to_it


def test_an_experiment_gets_the_shared_options(seen: list[tuple[Given, float]]) -> None:
    words = ["--domain", "9", "experiment", "air", "--quick", "--json", "a.json", "--rate", "4"]
    assert main(words) == 3
    ((given, rate),) = seen
    assert (given.json, given.plot, given.quick, rate) == (Path("a.json"), None, True, 4.0)
    assert given.config({"domain.id": 1, "node.commit_ms": 7}).domain.id == 9
    assert given.config({"domain.id": 1, "node.commit_ms": 7}).node.commit_ms == 7


def test_an_experiment_explains_itself(
    seen: list[tuple[Given, float]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "air", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Weighs air." in shown
    for option in ("--json", "--plot", "--quick", "--rate", "--config"):
        assert option in shown
    assert seen == []


def test_the_list_of_experiments_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--help"]) == 0
    shown = capsys.readouterr().out
    for name in EXPERIMENTS:
        line = EXPERIMENTS.get(name).short_help
        assert line
        assert any(row.split() == [name, *line.split()] for row in shown.splitlines()), name


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_can_be_imported_and_has_the_name_of_its_line(name: str) -> None:
    listed = EXPERIMENTS.get(name)
    assert isinstance(listed, Later)
    assert listed.load().name == name


def test_an_unknown_experiment_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "no-such"]) == 2
    assert "unknown experiment 'no-such'" in capsys.readouterr().err
