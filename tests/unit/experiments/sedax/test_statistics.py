from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.sedax.statistics import (
    Reading,
    averaged_ccdf,
    ccdf_quantile,
    confidence,
    half_width,
    summarise,
)


@pytest.mark.parametrize(
    ("count", "part", "position"), [(100, 0.95, 94), (100, 0.05, 4), (10, 0.95, 9), (10, 0.05, 1)]
)
def test_a_quantile_is_the_last_load_that_enough_nodes_exceed(
    count: int, part: float, position: int
) -> None:
    loads = np.random.default_rng(1).permutation(np.arange(1.0, count + 1))
    assert ccdf_quantile(loads, part) == position
    above = (loads > position).mean()
    assert above > 1 - part or position == 1
    assert (loads > position + 1).mean() <= 1 - part


def test_readings_differ_where_runs_differ() -> None:
    even, uneven = np.full(100, 1.0), np.linspace(0.01, 2, 100)
    runs = np.array([even, uneven])
    assert summarise(runs, Reading.RUN).q95 == pytest.approx((100 + 187.94) / 2, abs=0.01)
    assert summarise(runs, Reading.INTERPOLATED).q95 == pytest.approx((100 + 190.05) / 2, abs=0.01)
    assert summarise(runs, Reading.POOLED).q95 == pytest.approx(178.9, abs=2)


def test_the_maximum_is_that_of_a_run_and_the_highest_that_of_all() -> None:
    found = summarise(np.array([[1.0, 3.0], [2.0, 2.0]]), Reading.RUN)
    assert (found.mean, found.max, found.highest) == (200, 250, 300)


def test_a_ccdf_falls_from_all_to_none() -> None:
    above, half = averaged_ccdf(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.0, 1.0, 2.5, 4.0]))
    assert list(above) == [1, 0.75, 0.5, 0]
    assert half[0] == half[3] == 0  # all runs agree
    assert half[2] == pytest.approx(12.706 * 0.5, rel=1e-3)  # Student's, one degree of freedom


def test_a_confidence_interval_holds_the_true_mean_19_times_of_20() -> None:
    rng = np.random.default_rng(1)
    tries = [rng.exponential(2.0, (100, 1)) for _ in range(1_000)]
    held = sum(abs(each.mean() - 2.0) <= half_width(each)[0] for each in tries)
    assert 920 < held < 970


def test_one_run_has_no_confidence_interval() -> None:
    assert confidence(np.ones((1, 5))) == {"q5": None, "mean": None, "q95": None}
    assert confidence(np.ones((2, 5))) == {"q5": 0.0, "mean": 0.0, "q95": 0.0}
