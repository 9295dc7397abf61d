from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from evenflow.cli import main
from evenflow.cli.output.metering import Metering
from evenflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one.getsockname()[1]


def test_nothing_is_opened_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Metering("node", None, Config()):
        pass
    assert capsys.readouterr().err == ""


def test_the_key_of_the_command_counts_and_the_option_wins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = Config.load(None, {"metrics.node": 0, "metrics.balancer": "x:1"})
    with Metering("node", None, config):
        pass
    assert capsys.readouterr().err.startswith("metrics at http://127.0.0.1:")
    with Metering("balancer", "0", config):
        pass
    assert capsys.readouterr().err.startswith("metrics at http://127.0.0.1:")


@pytest.mark.parametrize("by_file", [True, False])
def test_a_port_that_is_taken_ends_a_command_before_it_begins(
    by_file: bool, taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    key = "metrics.mailbox" if by_file else "--metrics"
    given = ["--set", f"{key}={taken}"] if by_file else ["--metrics", str(taken)]
    assert main(["mailbox", "--name", "m", *given]) == 2
    assert capsys.readouterr().err == (
        f"evenflow: error: {key} = '{taken}': port {taken} of 127.0.0.1 cannot be used"
        " (Address already in use): name another, or 0 for any\n"
    )
