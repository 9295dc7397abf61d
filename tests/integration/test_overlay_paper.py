"""The simulation reproduces the SeDAX load balancing paper, and our own rules beat it.

Few runs, so the limits are a little wider than those that 100 runs keep; docs/overlay.md has the
whole comparison.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenflow_experiments.sedax.engine import LocalEngine
from evenflow_experiments.sedax.filling import figures, fill
from evenflow_experiments.sedax.paper import Paper
from evenflow_experiments.sedax.statistics import Reading
from evenflow_experiments.sedax.tables import TABLES, Readings, Row


def rows_of(table: str, wanted: Callable[[Row], bool], runs: int) -> list[dict[str, float]]:
    rows = [row for row in TABLES[table].rows(Readings()) if wanted(row)]
    filled = fill([(row, runs) for row in rows], LocalEngine())
    return [figures(row, Reading.RUN) for row in filled]


@pytest.mark.parametrize(
    ("table", "runs", "mean_off", "q95_off"),
    [
        ("I", 30, 0.01, 0.05),
        ("III", 20, 0.01, 0.04),
        ("IV", 100, 0.01, 0.06),
        ("V", 100, 0.01, 0.06),
    ],
)
def test_tables_of_the_paper(table: str, runs: int, mean_off: float, q95_off: float) -> None:
    def cheap(row: Row) -> bool:
        return row.labels.get("queries") != 100 and row.labels.get("topics_per_node") != 1000

    for row in rows_of(table, cheap, runs):
        paper = row["paper"]
        assert isinstance(paper, dict)
        assert row["mean"] == pytest.approx(Paper(**paper).mean, rel=mean_off), row
        assert row["q95"] == pytest.approx(Paper(**paper).q95, rel=q95_off), row
        assert row["violations"] == 0


def test_shorter_intervals_are_more_even_as_in_the_paper() -> None:
    quantiles = [row["q95"] for row in rows_of("V", lambda _: True, 60)]
    assert quantiles == sorted(quantiles, reverse=True)


def test_our_own_selections_are_close_to_the_bound() -> None:
    compared = ("global", "planned", "planned-ahead")
    rows = rows_of("better", lambda row: row.labels.get("selection") in compared, 6)
    paper, online, ahead = rows
    assert online["max"] <= 231
    assert ahead["max"] <= 228
    assert max(online["mean"], ahead["mean"]) <= paper["mean"]
    assert all(row["bound"] <= row["max"] for row in rows)


def test_our_own_rules_move_less_for_more() -> None:
    found = {row["rule"]: row for row in rows_of("better", lambda row: "rule" in row.labels, 30)}
    assert found["foreseeing"]["max"] <= 259
    assert found["foreseeing"]["moved"] <= 20
    assert found["foreseeing-more"]["max"] <= 256
    assert found["foreseeing-more"]["moved"] <= 40
    assert found["levelling"]["max"] < found["smallest"]["max"]
