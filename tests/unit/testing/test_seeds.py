"""Schedules by their seeds: what failed is named, and the count is of what was run."""

from __future__ import annotations

import signal
import sys

import pytest

from evenflow.testing.seeds import run_seeds


def _holds(seed: int) -> None:
    assert seed >= 0


def _fails_with_five(seed: int) -> None:
    if seed == 5:
        raise ValueError("five")


def _interrupted_at_two(seed: int) -> None:
    if seed == 2:
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _signals_as_before():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_failure_is_named_and_the_others_are_run(processes, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "3", "4", "--processes", processes])
    assert run_seeds(_holds, _fails_with_five) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("_fails_with_five(5): ValueError: five (_fails_with_five:")
    assert told[-1] == "8 schedules, 1 failed"


def test_a_run_that_is_interrupted_says_how_many_it_has_seen(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "0", "9"])
    assert run_seeds(_interrupted_at_two) == 130
    assert capsys.readouterr().out == "interrupted: 2 of 9 schedules, 0 failed\n"


@pytest.mark.parametrize("argv", [["0", "-1"], ["0", "1", "--processes", "0"]])
def test_numbers_that_make_no_sense_are_refused(argv, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", *argv])
    with pytest.raises(SystemExit) as ended:
        run_seeds(_holds)
    assert ended.value.code == 2
