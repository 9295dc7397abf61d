from __future__ import annotations

import json

import pytest

from evenflow_experiments.sedax.engine import LocalEngine
from evenflow_experiments.sedax.filling import derived, figures, fill
from evenflow_experiments.sedax.paper import TABLE_I, TABLE_III
from evenflow_experiments.sedax.plots import plot
from evenflow_experiments.sedax.simulation import Setting, Ties
from evenflow_experiments.sedax.statistics import Reading
from evenflow_experiments.sedax.tables import TABLES, Readings, Row
from evenflow_experiments.sedax.tasks import Growth, Task


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_filled_and_drawn(name: str) -> None:
    """With its own settings made small, so that only the wiring is tested."""
    rows = []
    for row in TABLES[name].rows(Readings()):
        wanted = row.task.setting
        growth = row.task.growth
        setting = Setting(
            6, 5, wanted.sizes, wanted.selection, wanted.level, queries=2, candidates=20
        )
        if growth is not None:
            growth = Growth(growth.balancing, 0.2, growth.shuffle, growth.course)
        rows.append(Row(row.labels, Task(setting, growth, row.task.bound), row.shows, row.paper))
    filled = fill([(row, 2) for row in rows], LocalEngine())
    json.dumps([figures(row, Reading.RUN) for row in filled])
    assert plot(name, "title", filled, Reading.RUN).axes


def test_derived_figures_follow_from_the_rows_that_are_there() -> None:
    row = {"table": "III", "selection": "home", "queries": 0}
    rows = [
        row | {"q95": 400.0, "paper": TABLE_I["heterogeneous", 100][2]._asdict()},
        row | {"selection": "local", "queries": 10, "q95": 300.0}
        | {"paper": TABLE_III["local", 10]._asdict()},
    ]  # fmt: skip
    (found,) = derived(rows)
    assert (found["ours"], found["paper"]) == (25.0, pytest.approx(43, abs=0.5))
    assert derived(rows[:1]) == []


def test_few_nodes_have_a_pooled_quantile_and_rows_their_confidence() -> None:
    rows = TABLES["IV"].rows(Readings())
    found = figures(fill([(rows[0], 3)], LocalEngine())[0], Reading.RUN)
    assert found["q5_pooled"] <= found["mean"] <= found["q95_pooled"]
    assert "q95_pooled" not in figures(
        fill([(Row({}, Task(Setting(nodes=20, topics_per_node=2)), "level3"), 1)], LocalEngine())[
            0
        ],
        Reading.RUN,
    )
    assert found["ci95"]["q95"] > 0


def test_readings_reach_the_settings() -> None:
    readings = Readings(Ties.RANDOM, own_counts=False, shuffle_growth=True)
    for row in (*TABLES["III"].rows(readings), *TABLES["V"].rows(readings)):
        assert row.task.setting.ties is Ties.RANDOM
        assert not row.task.setting.own_counts
        assert row.task.growth is None or row.task.growth.shuffle
