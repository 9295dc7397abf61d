from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.sedax.growth import forecast, growth_rates, sizes_at, trailing_mean


def test_topics_grow_to_the_papers_exponential_sizes() -> None:
    """Mean 3.9247 and coefficient of variation 0.6472 for 100 topics (section VII-A)."""
    sizes = sizes_at(growth_rates(100), 1.0)
    assert sizes[0] == 1
    assert sizes[-1] == pytest.approx(10)
    assert sizes.mean() == pytest.approx(3.9247, abs=5e-4)
    assert sizes.std(ddof=1) / sizes.mean() == pytest.approx(0.6472, abs=5e-4)


def test_all_topics_begin_equal() -> None:
    assert list(sizes_at(growth_rates(7), 0.0)) == [1] * 7


def test_a_forecast_of_exponential_growth_is_exact() -> None:
    rates = growth_rates(20, period=2.0)
    seen = forecast(sizes_at(rates, 0.3), sizes_at(rates, 0.4), 0.1, 1.6)
    assert seen == pytest.approx(sizes_at(rates, 2.0))


def test_the_rate_is_the_mean_of_the_window_so_far() -> None:
    moved = np.array([4.0, 0.0, 2.0, 0.0, 1.0])
    assert list(trailing_mean(moved, 2)) == [4, 2, 1, 1, 0.5]
