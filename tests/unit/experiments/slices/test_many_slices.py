"""The figures of the experiment with many slices, from notes that are known."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.slices.arrivals import Arrivals
from evenflow_experiments.slices.load import Sent
from evenflow_experiments.slices.many_slices import Costs, Samples, figures_of, show

COSTS = Costs(1_000.0, 1_004.0, 8_000, 2.0, (1.0, 3.0))
SAMPLES = Samples(2_000, 8_000, 4.0)


def notes() -> Arrivals:
    """A hundred items that take 1 to 100 ms, and one before the window that took a minute."""
    published = np.array([900_000_000, *[1_001_000_000] * 100], np.int64)
    delays = np.array([60_000_000, *range(1_000, 101_000, 1_000)], np.int64)
    return Arrivals(np.arange(1, 102), published, published + delays)


def test_costs_are_told_for_a_second_and_delays_of_the_window_alone() -> None:
    figures = figures_of(COSTS, SAMPLES, Sent(range(1, 102), 101, 1_007), notes())
    assert figures["items_per_s"] == 2_000
    assert (figures["samples_per_s"], figures["items_per_sample"]) == (500, 4.0)
    assert (figures["publisher_cpu"], figures["nodes_cpu"]) == (0.5, 1.0)
    assert figures["node_cpu"] == [0.25, 0.75]
    assert figures["delay_ms_p50"] == pytest.approx(50.5)
    assert figures["delay_ms_p99"] == pytest.approx(99.0, abs=0.1)
    assert (figures["published"], figures["lost"], figures["repeated"]) == (101, 0, 0)


def test_what_is_lost_and_a_fault_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    figures = figures_of(COSTS, SAMPLES, Sent(range(1, 104), 103, 7, "no room"), notes())
    assert figures["lost"] == 2
    show({**figures, "slices": 1_000, "taken_for_dead": 0})
    assert "no room" in capsys.readouterr().out
