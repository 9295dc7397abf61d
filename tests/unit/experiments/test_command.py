from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.cli import main
from evenflow.registry import Registry
from evenflow_experiments import Experiment
from evenflow_experiments import command as experiment

if TYPE_CHECKING:
    import argparse


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[argparse.Namespace]:
    """Mount one experiment that keeps the arguments it was given."""
    given: list[argparse.Namespace] = []

    def run(args: argparse.Namespace) -> int:
        given.append(args)
        return 3

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--rate", type=float, default=1.4)

    module: Any = SimpleNamespace(HELP="Weighs air.", add_arguments=add_arguments, run=run)
    monkeypatch.setattr(Experiment, "load", lambda self: module)
    mounted = Registry("experiment", {"air": Experiment("none", "weigh air")})
    monkeypatch.setattr(experiment, "EXPERIMENTS", mounted)
    return given


def test_an_experiment_gets_the_shared_options(seen: list[argparse.Namespace]) -> None:
    code = main(
        ["--domain", "9", "experiment", "air", "--quick", "--json", "a.json", "--rate", "4"]
    )
    assert code == 3
    (args,) = seen
    assert args.json == Path("a.json")
    assert args.plot is None
    assert args.quick is True
    assert (args.rate, args.domain) == (4.0, 9)


def test_an_experiment_explains_itself(
    seen: list[argparse.Namespace], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["experiment", "air", "--help"])
    shown = capsys.readouterr().out
    assert "Weighs air." in shown
    for option in ("--json", "--plot", "--quick", "--rate", "--config"):
        assert option in shown
    assert seen == []


def test_the_list_of_experiments_is_in_the_help(
    seen: list[argparse.Namespace], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["experiment", "--help"])
    assert "air  weigh air" in capsys.readouterr().out
    assert seen == []
