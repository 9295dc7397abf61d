from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from evenflow.cli import commands, main
from evenflow.cli.commands import COMMANDS, Command
from evenflow.errors import ConfigError
from evenflow.registry import Registry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)


class Probe:
    """A command that does what its test says."""

    EXAMPLES = "  evenflow probe"

    def __init__(self, run: Callable[[argparse.Namespace], int]) -> None:
        self.run = run

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--depth", type=int)


def mount(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    probe = Command("probe", "look at the frame")
    monkeypatch.setattr(Command, "load", lambda self: Probe(run))
    registry = Registry("command", {"probe": probe})
    monkeypatch.setattr(commands, "COMMANDS", registry)
    monkeypatch.setattr("evenflow.cli.frame.COMMANDS", registry)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert f"  {name} " in shown
        assert COMMANDS.get(name).help in shown


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert f"evenflow {name}" in shown
    assert "examples:" in shown
    assert "--config" in shown


def test_help_imports_no_command() -> None:
    script = "import sys, evenflow.cli; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {COMMANDS.get(name).module for name in COMMANDS}
    assert not loaded & {"cyclonedds", "numpy", "pyspark", "matplotlib", "rich"}


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["confg"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("evenflow: error: unknown command 'confg'; did you mean 'config'?")
    assert said.count("\n") == 1


def test_our_error_is_one_line_and_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace) -> int:
        raise ConfigError("node.app", "x", "must be 'MODULE:CALLABLE'")

    mount(monkeypatch, run)
    assert main(["probe"]) == 2
    said = capsys.readouterr()
    assert said.err == "evenflow: error: node.app = 'x': must be 'MODULE:CALLABLE'\n"
    with pytest.raises(ConfigError):
        main(["probe", "-v"])


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    mount(monkeypatch, run)
    assert main(["probe"]) == 130


def test_the_exit_code_is_the_commands_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mount(monkeypatch, lambda args: args.depth)
    assert main(["probe", "--depth", "7"]) == 7


def test_shared_options_stand_before_or_after_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--domain", "3", "config", "--json", "--set", "node.commit_ms=20"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert tables["domain"]["id"] == 3
    assert tables["node"]["commit_ms"] == 20
    assert main(["--set", "node.commit_ms=20", "config", "--set", "node.app=a:b", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert (tables["node"]["commit_ms"], tables["node"]["app"]) == (20, "a:b")


def test_config_prints_what_it_would_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["config", "--set", "topics.fleet.slices=7", "--set", 'domain.peers=["h1"]']
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert tomllib.loads(printed)["topics"]["fleet"]["slices"] == 7
    (tmp_path / "evenflow.toml").write_text(printed, encoding="utf-8")
    assert main(["config"]) == 0
    assert capsys.readouterr().out == printed


def test_a_setting_without_a_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["config", "--set", "node.commit_ms"])
    assert left.value.code == 2
    assert "must be KEY=VALUE" in capsys.readouterr().err


def test_an_unknown_experiment_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "no-such"]) == 2
    assert "unknown experiment 'no-such'" in capsys.readouterr().err
