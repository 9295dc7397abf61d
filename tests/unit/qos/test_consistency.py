"""Policies that go together, and those that do not: told in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.qos.consistency import Policies, largest_separation, problems

times = st.floats(1e-6, 1e6)
some_policies = st.builds(
    Policies,
    deadline_s=times | st.just(math.inf),
    latency_budget_s=st.just(0.0) | times,
    lifespan_s=times | st.just(math.inf),
)


def test_nothing_said_goes_with_everything() -> None:
    assert problems(Policies()) == []
    assert problems(Policies(), 3_600.0) == []
    assert largest_separation(Policies()) == math.inf


@given(some_policies)
def test_the_largest_separation_is_allowed_and_more_is_not(policies: Policies) -> None:
    if problems(policies):
        return
    largest = largest_separation(policies)
    if largest < math.inf:
        assert problems(policies, largest) == []
        assert problems(policies, largest + 2e-9 + largest * 1e-12)


@given(some_policies, times, times)
def test_what_allows_a_separation_allows_a_smaller_one(
    policies: Policies, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    if not problems(policies, more):
        assert problems(policies, less) == []


@pytest.mark.parametrize(
    ("policies", "separation_s", "told"),
    [
        (Policies(deadline_s=0.5), 0.5, "separation of 0.5 s is not below the deadline of 0.5 s"),
        (Policies(deadline_s=0.5, latency_budget_s=0.2), 0.3, "together not below the deadline"),
        (Policies(lifespan_s=1.0), 1.5, "above the lifespan of 1 s"),
        (Policies(deadline_s=0.1, latency_budget_s=0.1), 0.0, "miss the deadline"),
        (Policies(lifespan_s=0.1, latency_budget_s=0.1), 0.0, "dead on arrival"),
        (Policies(depth=10, max_samples_per_instance=5), 0.0, "max_samples_per_instance = 5"),
        (Policies(depth=10, max_samples=5), 0.0, "history of 10 does not fit into max_samples = 5"),
        (Policies(max_samples=5, max_samples_per_instance=6), 0.0, "= 6 is above max_samples = 5"),
        (Policies(max_samples=5, max_instances=6), 0.0, "max_instances = 6 is above"),
        (Policies(deadline_s=math.nan), 0.0, "deadline is nan"),
        (Policies(deadline_s=0.0), 0.0, "deadline is 0"),
        (Policies(latency_budget_s=math.inf), 0.0, "latency budget is infinite"),
        (Policies(), math.inf, "separation is infinite"),
        (Policies(), -1.0, "separation is -1.0"),
        (Policies(depth=-1), 0.0, "depth is -1"),
    ],
)
def test_what_does_not_go_together_is_told(
    policies: Policies, separation_s: float, told: str
) -> None:
    (problem,) = problems(policies, separation_s)
    assert told in problem


@pytest.mark.parametrize(
    "policies",
    [
        Policies(depth=10, max_samples_per_instance=10, max_samples=10),
        Policies(depth=10),
        Policies(max_samples=100, max_instances=100),
        Policies(deadline_s=1.0, latency_budget_s=0.1, lifespan_s=0.5),
    ],
)
def test_what_goes_together(policies: Policies) -> None:
    assert problems(policies) == []


@pytest.mark.parametrize("name", ["deadline_s", "latency_budget_s", "lifespan_s"])
@pytest.mark.parametrize("seconds", [math.nan, -1.0, 1e10, 1e300])
def test_absurd_times_are_named(name: str, seconds: float) -> None:
    assert problems(Policies(**{name: seconds}))


@pytest.mark.parametrize("name", ["depth", "max_samples", "max_instances"])
@pytest.mark.parametrize("count", [-1, 2**31, 10**12, 1.5])
def test_absurd_counts_are_named(name: str, count: int) -> None:
    assert name in problems(Policies(**{name: count}))[0]
