from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest
import rich_click as click

from evenflow.cli import frame, main
from evenflow.cli.commands import COMMANDS, Later
from evenflow.cli.options import Shared, command
from evenflow.errors import ConfigError
from evenflow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def mount(monkeypatch: pytest.MonkeyPatch, run: Callable[[Shared, int], int]) -> None:
    """Offer one command, which does what its test says."""

    @command("probe", examples="  evenflow probe")
    @click.option("--depth", type=int)
    def probe(shared: Shared, depth: int) -> int:
        """Look at the frame."""
        return run(shared, depth)

    registry: Registry[click.Command] = Registry("command", {"probe": probe})
    monkeypatch.setattr(frame, "COMMANDS", registry)


def ours() -> dict[str, Later]:
    """The commands that are listed before they are imported."""
    found = {name: COMMANDS.get(name) for name in COMMANDS}
    return {name: one for name, one in found.items() if isinstance(one, Later)}


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        line = COMMANDS.get(name).short_help
        assert line
        assert any(row.split() == [name, *line.split()] for row in shown.splitlines()), name


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"evenflow {name}" in shown
    assert "Examples:" in shown
    assert "--config" in shown


@pytest.mark.parametrize("name", ours())
def test_examples_fit_a_terminal_of_80_columns(name: str) -> None:
    examples = ours()[name].load().epilog
    assert examples
    assert [line for line in examples.splitlines() if len(line) > 79] == []


@pytest.mark.parametrize("name", ours())
def test_a_command_says_of_itself_what_the_list_says(name: str) -> None:
    one = ours()[name]
    assert (one.load().help or "").lower().startswith((one.short_help or "").lower())


def test_help_imports_no_command() -> None:
    script = "import sys, evenflow.cli; evenflow.cli.main(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {one.module for one in ours().values()}
    assert not loaded & {"cyclonedds", "numpy", "pyarrow", "pyspark", "matplotlib"}


def test_without_a_command_the_help_is_shown_and_it_is_an_error() -> None:
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["confg"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("evenflow: error: unknown command 'confg'; did you mean 'config'?")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["config", "--jso"], "Did you mean"),
        (["config", "--set", "node.commit_ms"], "must be KEY=VALUE"),
        (["config", "much"], "unexpected extra argument"),
        (["--domain", "x", "config"], "'x' is not a valid integer"),
        (["balancer", "--for", "-1s"], "must be a time such as 500ms"),
        (["broker"], "Missing option '--name'"),
        (["slices", "mve"], "'mve' is not one of 'list', 'move'"),
    ],
)
def test_a_usage_error_is_one_line_that_says_where_to_look(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("evenflow: error: ")
    assert reason in said
    assert "--help' tells more)" in said
    assert said.count("\n") == 1


def test_our_error_is_one_line_and_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(shared: Shared, depth: int) -> int:
        raise ConfigError("node.app", "x", "must be 'MODULE:CALLABLE'")

    mount(monkeypatch, run)
    assert main(["probe"]) == 2
    said = capsys.readouterr()
    assert said.err == "evenflow: error: node.app = 'x': must be 'MODULE:CALLABLE'\n"
    with pytest.raises(ConfigError):
        main(["probe", "-vv"])


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(shared: Shared, depth: int) -> int:
        raise KeyboardInterrupt

    mount(monkeypatch, run)
    assert main(["probe"]) == 130


def test_the_exit_code_is_the_commands_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mount(monkeypatch, lambda shared, depth: depth)
    assert main(["probe", "--depth", "7"]) == 7


def test_shared_options_stand_before_or_after_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--domain", "3", "config", "--json", "--set", "node.commit_ms=20"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert tables["domain"]["id"] == 3
    assert tables["node"]["commit_ms"] == 20
    assert (
        main(
            [
                "--set",
                "node.commit_ms=20",
                "config",
                "--set",
                "node.app=evenflow.apps:echo",
                "--json",
            ]
        )
        == 0
    )
    tables = json.loads(capsys.readouterr().out)
    assert (tables["node"]["commit_ms"], tables["node"]["app"]) == (20, "evenflow.apps:echo")


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
