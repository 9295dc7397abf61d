"""The simulated cluster and the bounds it is judged by."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.balance.capacity import Capacity
from evenflow.balance.count import Count
from evenflow.balance.weighted import Weighted
from evenflow.testing.sample_clusters import cluster
from evenflow_experiments.balance.bounds import least_strain, strain_from_nothing
from evenflow_experiments.balance.cluster_model import (
    PERIOD_S,
    WARM_UP_S,
    Outcome,
    Simulation,
    steady,
)

LOADS = st.lists(st.floats(min_value=0.01, max_value=100.0), min_size=1, max_size=6)
STRENGTHS = st.lists(st.sampled_from((1.0, 2.0, 5.0)), min_size=1, max_size=3)


@given(LOADS, STRENGTHS)
def test_bounds_enclose_the_best_of_all_placements(
    loads: list[float], strengths: list[float]
) -> None:
    best = min(
        max(
            sum(load for load, at in zip(loads, places, strict=True) if at == node) / strength
            for node, strength in enumerate(strengths)
        )
        for places in product(range(len(strengths)), repeat=len(loads))
    )
    named = {str(node): strength for node, strength in enumerate(strengths)}
    assert least_strain(loads, strengths) <= best * (1 + 1e-9)
    assert best <= strain_from_nothing(loads, named) * (1 + 1e-9)


def test_the_bound_knows_slices_larger_than_a_share() -> None:
    assert least_strain([6.0, 1.0, 1.0], [1.0, 1.0]) == 6.0
    assert least_strain([6.0, 5.0, 1.0], [2.0, 1.0, 1.0]) == pytest.approx(11.0 / 3)


def test_moves_take_their_time_and_settle() -> None:
    start = cluster({"a": [1.0] * 8, "b": []}, capacity={"a": 20.0, "b": 20.0}, time=0.0)
    outcome = Simulation(Weighted(), start, steady(start)).run(60.0)
    assert outcome.plans == 1
    assert outcome.moved == 4.0
    assert outcome.strains[0] == (0.0, 2.0)
    assert outcome.strains[-1][1] == 1.0
    assert outcome.settled_at(1.05) == PERIOD_S
    assert sorted(outcome.owners.values()).count("b") == 4


def test_strengths_are_learned_from_work_and_busy_time() -> None:
    start = cluster({"a": [1.0] * 6, "b": [1.0] * 6}, capacity={"a": 6.0, "b": 18.0}, time=0.0)
    outcome = Simulation(Capacity(), start, steady(start)).run(60.0)
    assert sorted(outcome.owners.values()).count("b") == 9
    assert outcome.returns == 0


def test_nothing_happens_in_the_warm_up_or_when_all_is_even() -> None:
    start = cluster({"a": [1.0] * 8, "b": []}, time=0.0)
    assert Simulation(Count(), start, steady(start)).run(WARM_UP_S - 1).plans == 0
    even = cluster({"a": [1.0], "b": [1.0]}, time=0.0)
    assert Simulation(Weighted(), even, steady(even)).run(60.0).plans == 0


def test_never_settled() -> None:
    assert Outcome({}, [(0.0, 2.0), (2.0, 1.0), (4.0, 2.0)]).settled_at(1.05) is None
