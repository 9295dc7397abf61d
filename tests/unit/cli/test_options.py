from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import rich_click as click

from evenflow.cli import frame, main
from evenflow.cli.options import Shared, command
from evenflow.registry import Registry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Shared]:
    """What a command was given."""
    given: list[Shared] = []

    @command("probe", examples="  evenflow probe")
    def probe(shared: Shared) -> int:
        """Look at the options."""
        given.append(shared)
        return 0

    registry: Registry[click.Command] = Registry("command", {"probe": probe})
    monkeypatch.setattr(frame, "COMMANDS", registry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)
    return given


def test_nothing_is_given_unless_it_is_said(seen: list[Shared]) -> None:
    assert main(["probe"]) == 0
    assert seen == [Shared()]


def test_both_places_fill_the_same_and_the_later_wins(seen: list[Shared]) -> None:
    assert main(["-v", "--set", "a.b=1", "--set", "c=2", "probe", "-v", "--set", "a.b=3"]) == 0
    assert seen == [Shared(settings={"a.b": 3, "c": 2}, verbose=2)]


def test_the_domain_is_a_setting(seen: list[Shared]) -> None:
    assert main(["probe", "--set", "domain.id=1", "--domain", "2", "--config", "x.toml"]) == 0
    assert seen == [Shared("x.toml", {"domain.id": 2})]


def test_each_run_begins_anew(seen: list[Shared]) -> None:
    assert main(["probe", "-v"]) == main(["probe"]) == 0
    assert [shared.verbose for shared in seen] == [1, 0]


def test_the_command_line_wins_over_defaults_and_these_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[node]\ncommit_ms = 1\nreport_ms = 11\nstall_s = 2.0\n", encoding="utf-8")
    shared = Shared(str(file), {"node.commit_ms": 3})
    node = shared.config({"node.commit_ms": 2, "node.report_ms": 12}).node
    assert (node.commit_ms, node.report_ms, node.stall_s) == (3, 12, 2.0)
