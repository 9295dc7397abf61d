"""The figures of the throughput experiment, from replies that are known."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow.experiments.throughput import Schedule
from evenflow.experiments.throughput_figures import Run, show, summary
from evenflow.model.messages import Receipt

WALL = 1_000.0


def replied(per_second: list[int], rtd_s: float = 0.5) -> list[tuple[int, int, int]]:
    """Rows of replies, so many in each second, evenly."""
    rows = []
    for second, count in enumerate(per_second):
        for number in range(count):
            at = WALL + second + number / count
            rows.append((len(rows) + 1, int((at - rtd_s) * 1e6), int(at * 1e6)))
    return rows


def run_of(rows: list[tuple[int, int, int]], published: int) -> Run:
    receipt = Receipt(
        "images", 1, "handover", "a", "b", (1,), "done", WALL + 5.0, 500.0, 0, 0, 0, 0, "b joined"
    )
    return Run(
        (5.0, 6.0, 7.0, 8.0), 10.0, 20.0, 0.1, 7_300, WALL, published,
        np.array(rows, np.int64), [[99.0]] * 20, [receipt],
    )  # fmt: skip


def test_five_nodes_against_one_and_the_books() -> None:
    per_second = [10] * 5 + [20] * 3 + [49] * 2 + [60] * 10
    rows = replied(per_second)
    figures = summary(run_of(rows, len(rows)))
    assert figures["speedup_5_nodes"] == pytest.approx(4.9, rel=0.02)
    assert figures["speedup_5_nodes_flooded"] == pytest.approx(6.0)
    assert (figures["lost"], figures["repeated"]) == (0, 0)
    assert figures["throughput"] == pytest.approx(per_second)
    assert figures["rtd"] == [0.5] * 20
    show(figures)


def test_what_is_missing_and_what_comes_twice_is_counted() -> None:
    rows = replied([10] * 20)
    figures = summary(run_of([*rows[:-3], rows[0], rows[1]], len(rows)))
    assert (figures["lost"], figures["repeated"]) == (3, 2)


def test_around_a_join_the_process_lasts_as_long_as_its_moves() -> None:
    figures = summary(run_of(replied([10] * 5 + [4] * 1 + [20] * 14), 1))
    join = figures["joins"][0]
    assert (join["moves"], join["process_ms"]) == (1, 500.0)
    assert join["throughput"] == {"before": 10.0, "during": 4.0, "after": pytest.approx(17.3, 0.1)}
    assert figures["joins"][1]["moves"] == 0


def test_the_quick_story_is_the_same_in_less_time() -> None:
    quick = Schedule().faster(0.5)
    assert quick == Schedule((9.0, 12.5, 17.5, 22.5), 29.5, 42.5)
