"""The figures of the throughput experiment, from replies that are known."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow.model.messages import Receipt
from evenflow_experiments.slices.throughput import Schedule
from evenflow_experiments.slices.throughput_figures import Run, show, summary

WALL = 1_000.0


Replies = list[tuple[int, int, int, int]]


def replied(per_second: list[int], rtd_s: float = 0.5, slower_from: int = 99) -> Replies:
    """Rows of replies, so many in each second, evenly; an image costs 2 ms, and later 3."""
    rows: Replies = []
    for second, count in enumerate(per_second):
        for number in range(count):
            at = WALL + second + number / count
            cost_us = 3_000 if second >= slower_from else 2_000
            rows.append((len(rows) + 1, int((at - rtd_s) * 1e6), int(at * 1e6), cost_us))
    return rows


def run_of(rows: Replies, published: int, processed: list[int] | None = None) -> Run:
    receipt = Receipt(
        "images", 1, "handover", "a", "b", (1,), "done", WALL + 5.0, 500.0, 0, 0, 0, 0, "b joined"
    )
    return Run(
        (5.0, 6.0, 7.0, 8.0), 10.0, 20.0, 0.1, 7_300, WALL, published,
        np.array([row[0] for row in rows] if processed is None else processed, np.int64),
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
    ids = [row[0] for row in rows]
    figures = summary(run_of(rows, len(rows), [*ids[:-3], ids[0], ids[1]]))
    assert (figures["lost"], figures["repeated"], figures["unanswered"]) == (3, 2, 0)


def test_a_lost_reply_is_no_lost_item() -> None:
    rows = replied([10] * 20)
    figures = summary(run_of(rows[:-7], len(rows), [row[0] for row in rows]))
    assert (figures["lost"], figures["repeated"], figures["unanswered"]) == (0, 0, 7)


def test_what_the_machine_loses_is_told_apart_from_what_nodes_lose() -> None:
    rows = replied([10] * 5 + [20] * 3 + [45] * 2 + [30] * 10, slower_from=10)
    figures = summary(run_of(rows, len(rows)))
    assert figures["image_ms"] == {"1_node": 2.0, "5_nodes": 2.0, "5_nodes_flooded": 3.0}
    assert figures["speedup_5_nodes_flooded"] == pytest.approx(3.0)
    assert figures["cpu_speedup_5_nodes_flooded"] == pytest.approx(4.5)
    assert figures["cpu_speedup_5_nodes"] == figures["speedup_5_nodes"]


def test_around_a_join_the_process_lasts_as_long_as_its_moves() -> None:
    figures = summary(run_of(replied([10] * 5 + [4] * 1 + [20] * 14), 1))
    join = figures["joins"][0]
    assert (join["moves"], join["process_ms"]) == (1, 500.0)
    assert join["throughput"] == {"before": 10.0, "during": 4.0, "after": pytest.approx(17.3, 0.1)}
    assert figures["joins"][1]["moves"] == 0


def test_the_quick_story_is_the_same_in_less_time() -> None:
    quick = Schedule().faster(0.5)
    assert quick == Schedule((9.0, 12.5, 17.5, 22.5), 29.5, 42.5)
