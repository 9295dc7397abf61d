from __future__ import annotations

import json

import pytest

from evenflow_experiments.sedax.engine import LocalEngine
from evenflow_experiments.sedax.filling import figures, fill
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


def test_readings_reach_the_settings() -> None:
    readings = Readings(Ties.RANDOM, own_counts=False, shuffle_growth=True)
    for row in (*TABLES["III"].rows(readings), *TABLES["V"].rows(readings)):
        assert row.task.setting.ties is Ties.RANDOM
        assert not row.task.setting.own_counts
        assert row.task.growth is None or row.task.growth.shuffle
