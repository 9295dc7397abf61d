"""The figures of the throughput experiment, from replies that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenflow.model.messages import Receipt
from evenflow_experiments.slices.throughput.experiment import Schedule
from evenflow_experiments.slices.throughput.figures import Run, summary
from evenflow_experiments.slices.throughput.growth import growths
from evenflow_experiments.slices.throughput.landmarks import PAPER_RATES, landmarks, speedups
from evenflow_experiments.slices.throughput.plots import plot
from evenflow_experiments.slices.throughput.tables import show

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
        "images", 1, "handover", "a", "b", (1,), "done", WALL + 5.0, 500.0, 0, 0, 0, "b joined"
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
    assert figures["speedup_5_nodes_flooded"] == pytest.approx(6.0, rel=0.01)
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
    assert figures["speedup_5_nodes_flooded"] == pytest.approx(3.0, rel=0.01)
    assert figures["cpu_speedup_5_nodes_flooded"] == pytest.approx(4.5, rel=0.01)
    assert figures["cpu_speedup_5_nodes"] == figures["speedup_5_nodes"]


def test_around_a_join_the_process_lasts_as_long_as_its_moves() -> None:
    figures = summary(run_of(replied([10] * 5 + [4] * 1 + [20] * 14), 1))
    join = figures["joins"][0]
    assert (join["moves"], join["process_ms"]) == (1, 500.0)
    assert join["throughput"] == {"before": 10.0, "during": 4.0, "after": pytest.approx(17.3, 0.1)}
    assert figures["joins"][1]["moves"] == 0


def test_the_points_that_the_paper_names_are_found() -> None:
    rates = [0.0] + [40.0] * 17 + [60.0] * 27 + [230.0] * 13 + [245.0]
    rates += (
        [163.0, 200.0, 210.0, 220.0, 230.0, 250.0, 283.0] + [300.0] * 6 + [323.0] + [310.0] * 12
    )
    cpu = [[92.0]] * 59 + [[80.0, 90.0]] + [[95.0]] * 5 + [[97.0]] * 20
    found = landmarks(rates, cpu, (18.0, 25.0, 35.0, 45.0), 59.0)
    assert [mark.ours for mark in found] == [mark.paper for mark in found]
    assert [found[number].ours_s for number in (1, 2, 3, 4)] == [58, 59, 65, 72]


def test_the_mean_of_five_that_are_flooded_begins_where_the_papers_does() -> None:
    """At 66 s of a story whose rate rises at 59 s: here at 11.2 s, the rate having risen at 10."""
    rows = replied([10] * 10 + [200] + [60] * 9)
    flooded = summary(run_of(rows, len(rows)))["throughput_5_nodes_flooded"]
    assert flooded == pytest.approx(60.0, rel=0.01)


def test_the_growth_of_the_delay_is_that_of_the_papers_parts() -> None:
    rtd = [0.9 * second for second in range(6)] + [9.0] * 34  # 0.9 s a second, then 40 s have gone
    rtd += [9.0 + 0.2 * second for second in range(20)] + [12.8 + 1.0 * s for s in range(25)]
    found = growths(rtd, 59.0)
    assert [each.ours for each in found] == pytest.approx([4.5, 3.8, 19.0], abs=0.01)
    assert [each.words for each in found][:2] == ["about 5", "less than 5"]


def test_of_a_shorter_story_the_growth_is_told_for_as_long_as_the_papers() -> None:
    rtd = [0.5 * second for second in range(40)]
    for each in growths(rtd, 29.5):
        assert each.ours == pytest.approx(0.5 * (each.end_s - each.begin_s) / 0.5, abs=1.0)
    assert growths(rtd, 29.5)[1].begin_s == pytest.approx(20.0)


def test_seconds_without_a_reply_have_no_growth() -> None:
    found = growths([None, 1.0, 2.0, None, 3.0, None, *[None] * 79], 59.0)
    assert [each.ours for each in found] == [2.0, None, None]


def test_every_speedup_names_its_baseline() -> None:
    ours = dict.fromkeys(PAPER_RATES, 200.0)
    row = speedups(ours, 40.0, 50.0)[0]
    assert (row["of_the_start"], row["of_before_the_second"]) == (5.0, 4.0)
    assert (row["paper_of_40"], row["paper_of_48"]) == (6.0, 5.0)
    assert speedups(ours, 0.0, None)[0]["of_the_start"] is None


def test_the_figures_have_paper_and_ours_side_by_side() -> None:
    rows = replied([10] * 5 + [20] * 3 + [49] * 2 + [60] * 10)
    figures = summary(run_of(rows, len(rows)))
    assert figures["derived"]["paper"]["throughput_mean_loss_percent"] == pytest.approx(8.494, 1e-3)
    assert len(figures["derived"]["ours"]["rtd_change_percent"]) == 4
    assert {mark["paper"] for mark in figures["landmarks"]} >= {245, 163, 283, 323, 92, 85, 97}
    assert [row["paper"] for row in figures["growths"]] == [5.0, 5.0, None]


def test_what_is_printed_has_the_growth_and_table_i(capsys: pytest.CaptureFixture[str]) -> None:
    rows = replied([10] * 5 + [20] * 3 + [49] * 2 + [60] * 10)
    show(summary(run_of(rows, len(rows))))
    text = capsys.readouterr().out
    assert "less than 5" in text
    assert "10.6" in text
    assert "317" in text


def test_the_plot_marks_the_papers_points(tmp_path: Path) -> None:
    rows = replied([10] * 5 + [20] * 3 + [49] * 2 + [60] * 10)
    plot(tmp_path / "out.svg", run_of(rows, len(rows)))
    assert (tmp_path / "out.svg").stat().st_size > 10_000


def test_the_quick_story_is_the_same_in_less_time() -> None:
    quick = Schedule().faster(0.5)
    assert quick == Schedule((9.0, 12.5, 17.5, 22.5), 29.5, 42.5)
