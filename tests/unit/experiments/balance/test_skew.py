"""The skew experiment: its scenarios, and that it says so when a promise is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow_experiments.balance.skew import (
    BY_PROCESSED,
    Row,
    bound_row,
    check,
    from_nothing_row,
    row_of,
    simulate,
)
from evenflow_experiments.balance.skew_scenarios import TOTAL, Scenario, scenarios


def scenario(name: str) -> Scenario:
    found = {each.name: each for each in scenarios(300, 1, quick=True)}
    return found[name]


def test_the_same_seed_gives_the_same_loads() -> None:
    first, second = scenario("drift"), scenario("drift")
    assert first.start == second.start
    assert first.loads(123.0) == second.loads(123.0)
    assert first.loads(123.0) != first.loads(200.0)
    assert all(load > 0 for load in first.loads(77.0).values())


def test_loads_and_strengths_are_what_they_are_said_to_be() -> None:
    unequal = scenario("unequal")
    assert sum(unequal.loads(0.0).values()) == pytest.approx(TOTAL)
    assert sum(unequal.strengths.values()) == pytest.approx(2 * TOTAL)
    assert len({round(strength) for strength in unequal.strengths.values()}) == 3
    assert unequal.mean(unequal.loads(0.0)) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["equal", "giants", "unequal"])
def test_the_bound_is_below_what_can_be_built(name: str) -> None:
    bound = bound_row(scenario(name)).max_over_mean
    assert bound * (1 + 1e-12) >= 1.0
    assert bound <= from_nothing_row(scenario(name)).max_over_mean * (1 + 1e-12)


def test_a_run_makes_a_row() -> None:
    equal = scenario("equal")
    row = row_of(equal, "weighted", simulate(replace(equal, duration_s=60.0), "weighted", 1))
    assert row.max_over_mean <= 1.05
    assert row.plans == 1
    assert row.converged_s is not None
    assert row.moved_over_excess is not None
    assert row.moved_over_excess <= 1.3


def test_by_what_arrives_an_overloaded_node_is_relieved_in_fewer_plans() -> None:
    overload = replace(scenario("overload"), duration_s=120.0)
    loads = overload.start.loads()
    assert any(load > overload.strengths[node] for node, load in loads.items())
    arrived = simulate(overload, "weighted", 1)
    processed = simulate(overload, "weighted", 1, sees_arrivals=False)
    assert arrived.plans < processed.plans
    assert arrived.moved <= processed.moved


def promised(**changes: float) -> dict[str, bool]:
    """The promises of rows that keep them all, but for the given changes."""
    good = {
        "bound": 1.0,
        "count": 1.7,
        "weighted": 1.04,
        "capacity": 1.04,
        "excess": 1.1,
        "returns": 0,
        "plans": 1,
    }
    good.update(changes)
    algorithms = ("count", "weighted", "capacity", "forecast", BY_PROCESSED)
    rows = [
        Row(
            name,
            algorithm,
            good.get(algorithm, 1.04),
            plans=4 if algorithm == BY_PROCESSED else int(good["plans"]),
            moved_over_excess=good["excess"],
            returns=int(good["returns"]),
        )
        for name in ("equal", "giants", "unequal", "overload", "drift")
        for algorithm in algorithms
    ]
    rows += [Row(name, "optimum (bound)", good["bound"]) for name in {row.scenario for row in rows}]
    return check(rows)


@pytest.mark.parametrize(
    "change",
    [
        {"weighted": 1.06},
        {"count": 1.04},
        {"capacity": 1.2},
        {"excess": 1.31},
        {"returns": 1},
        {"plans": 4},
    ],
)
def test_a_broken_promise_is_told(change: dict[str, float]) -> None:
    assert all(promised().values())
    assert not all(promised(**change).values())


def test_where_no_placement_is_even_two_percent_above_the_bound_are_allowed() -> None:
    giants = promised(bound=2.0, weighted=2.03, capacity=2.03, count=2.5)
    assert giants["weighted is even with giants"]
    worse = promised(bound=2.0, weighted=2.05, capacity=2.03, count=2.5)
    assert not worse["weighted is even with giants"]
