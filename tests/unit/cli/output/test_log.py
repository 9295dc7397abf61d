from __future__ import annotations

import json
import logging
import os
import sys

import pytest

from evenflow.cli import main
from evenflow.cli.output.log import VARIABLE, JsonFormatter, fail, say, warn


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "text")


def record(message: str = "node %s died", *values: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("evenflow.x", logging.WARNING, "", 0, message, values, None)
    made.__dict__.update(extra)
    made.created = 0.25
    return made


def test_a_record_is_one_line_with_what_its_event_names() -> None:
    line = JsonFormatter().format(record("node %s died", "a", event="node-died", slices=3))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "evenflow.x",
        "message": "node a died",
        "pid": os.getpid(),
        "event": "node-died",
        "slices": 3,
    }


def test_an_exception_is_part_of_the_line() -> None:
    made = record("it failed")
    try:
        int("no\nmore")
    except ValueError:
        made.exc_info = sys.exc_info()
    line = JsonFormatter().format(made)
    assert "\n" not in line
    assert "ValueError: invalid literal" in json.loads(line)["exception"]


def test_what_json_does_not_know_is_written_as_text() -> None:
    assert json.loads(JsonFormatter().format(record("x", where={1})))["where"] == "{1}"


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    say("g1 listens at 7500")
    warn("2 nodes are still here")
    fail("the gateway stopped")
    assert capsys.readouterr().err.splitlines() == [
        "g1 listens at 7500",
        "evenflow: warning: 2 nodes are still here",
        "evenflow: error: the gateway stopped",
    ]


@pytest.mark.parametrize("arguments", [["--log-format", "json", "nodse"], ["nodse"]])
def test_with_json_errors_are_json_too(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if len(arguments) == 1:
        monkeypatch.setenv(VARIABLE, "json")
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["level"], said["logger"]) == ("error", "evenflow")
    assert said["message"].startswith("unknown command 'nodse'; did you mean")


def test_processes_that_are_started_write_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--log-format", "json"]) == 0
    assert os.environ[VARIABLE] == "json"


def test_a_format_that_there_is_not_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--log-format", "xml"]) == 2
    assert "'xml' is not one of 'text', 'json'" in capsys.readouterr().err
    monkeypatch.setenv(VARIABLE, "xml")
    assert main(["config"]) == 2
    assert "'--log-format': 'xml' is not one of" in capsys.readouterr().err
