"""Selections side by side: the live figures beside the simulation's and the paper's."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.store.addition import UNIT
from evenflow_experiments.store.selections import is_uneven, row, show_selections

PLACES = np.random.default_rng(4).uniform(0.05, 0.95, (8, 2))
TOPICS = 80


def live(highest: float) -> dict:
    """Return loads of so many percent of the mean, and some messages."""
    loads = [round(highest / 100 * UNIT * TOPICS / len(PLACES))] * len(PLACES)
    return {"loads": loads, "searches": 40, "told": 800, "asked": 1_000}


@pytest.mark.parametrize(
    ("selection", "q95"),
    [("gossip", 243.3), ("global", 243.3), ("local", 237.9), ("individual", 251.1)],
)
def test_a_row_has_live_simulated_and_paper(selection: str, q95: float) -> None:
    found = row(selection, live(250), PLACES, TOPICS)
    assert found["live"]["max"] == 250.0
    assert found["live"]["asked_a_search"] == 25.0
    assert found["live"]["told_a_topic"] == 10.0
    assert found["paper"]["q95"] == q95
    assert 200 < found["simulated"]["max"] < 350
    assert found["simulated"]["messages"] > 10
    show_selections({"topics": TOPICS, "brokers": 8, "queries": 10, "rows": [found]})


def test_loads_far_above_the_simulated_are_a_fault() -> None:
    simulated = row("local", live(250), PLACES, TOPICS)["simulated"]["max"]
    for factor, uneven in ((1.0, False), (1.15, False), (1.25, True)):
        rows = [row("local", live(simulated * factor), PLACES, TOPICS)]
        assert is_uneven({"rows": rows}) == uneven, factor
    assert not is_uneven({})
