"""Equations 3 and 4: probabilities, and what is missed beyond what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import UsageError
from evenflow.qos.recovery import depth_for, expected_missed

rates = st.floats(0.1, 50.0)


def probability_of_events(count: int, lambda_pub: float, lambda_recov: float) -> float:
    """Probability that so many events are published while a reader is away (equation 3)."""
    ratio = lambda_pub / (lambda_pub + lambda_recov)
    return float(ratio**count * (1.0 - ratio))


@given(st.floats(0.1, 10.0), st.floats(0.5, 10.0), st.integers(0, 20))
def test_equation_4_is_what_equation_3_gives(
    lambda_pub: float, lambda_recov: float, kept: int
) -> None:
    chances = [probability_of_events(i, lambda_pub, lambda_recov) for i in range(2_000)]
    assert sum(chances) == pytest.approx(1.0)
    missed = sum((i - kept) * chance for i, chance in enumerate(chances) if i > kept)
    assert expected_missed(lambda_pub, lambda_recov, kept) == pytest.approx(missed)


@given(rates, rates, st.floats(0.001, 10.0))
def test_a_depth_is_enough_and_one_less_is_not(
    lambda_pub: float, lambda_recov: float, most: float
) -> None:
    depth = depth_for(lambda_pub, lambda_recov, most)
    assert expected_missed(lambda_pub, lambda_recov, depth) <= most * (1 + 1e-6)
    if depth:
        assert expected_missed(lambda_pub, lambda_recov, depth - 1) > most * (1 - 1e-6)


def test_without_storage_all_are_missed() -> None:
    assert expected_missed(20.0, 2.0, 0) == 10.0


@pytest.mark.parametrize("rates", [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (float("nan"), 1.0)])
def test_what_is_no_rate_is_refused(rates: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="rates are above 0"):
        expected_missed(*rates, 1)


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(UsageError, match="0 events or more"):
        expected_missed(1.0, 1.0, -1)
    with pytest.raises(UsageError, match="above 0"):
        depth_for(1.0, 1.0, 0.0)
