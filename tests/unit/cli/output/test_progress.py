"""What ``evenflow publish`` says while it waits."""

from __future__ import annotations

from dataclasses import replace

from evenflow.cli.output.progress import ProgressLines
from evenflow.slices.publisher.diagnosis import PublisherStats

NOTHING = PublisherStats(*[0] * 14)


def said(lines: ProgressLines, stats: PublisherStats, seconds: int) -> list[str]:
    """What is said in so many seconds without a change, where something is."""
    every = (
        lines.next(stats, lambda: "consumer audit has not committed them") for _ in range(seconds)
    )
    return [line for line in every if line]


def test_each_second_says_how_far_it_is() -> None:
    lines = ProgressLines()
    one = replace(NOTHING, published=100, committed=60, uncommitted=40, retained_bytes=2_000_000)
    two = replace(one, published=250, committed=200, uncommitted=50)
    assert said(lines, one, 1) == ["100 published (100/s), 60 committed, 40 to go (2.0 MB)"]
    assert said(lines, two, 1) == ["250 published (150/s), 200 committed, 50 to go (2.0 MB)"]


def test_one_that_stands_still_says_once_what_it_waits_for() -> None:
    lines = ProgressLines()
    stats = replace(NOTHING, published=1, uncommitted=1)
    assert said(lines, stats, 30) == [
        "1 published (1/s), 0 committed, 1 to go (0.0 MB)",
        "1 item to go is waited for: consumer audit has not committed them",
    ]


def test_one_that_goes_on_may_stand_still_again() -> None:
    lines = ProgressLines()
    assert len(said(lines, replace(NOTHING, published=2, uncommitted=2), 30)) == 2
    assert len(said(lines, replace(NOTHING, published=2, committed=1, uncommitted=1), 30)) == 2


def test_who_waits_for_its_input_says_nothing() -> None:
    lines = ProgressLines()
    assert len(said(lines, replace(NOTHING, published=5, committed=5), 30)) == 1
