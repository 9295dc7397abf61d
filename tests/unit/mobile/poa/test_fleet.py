"""How many gateways: one more when all are above their range, one fewer when all are below."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.plan.elastic import Limits
from evenflow.mobile.gateway.naming import elastic_name, parent_of
from evenflow.mobile.poa.fleet import (
    Demand,
    Member,
    OperationRange,
    Patience,
    Step,
    Verb,
    demand_of,
    next_step,
)

RANGE = OperationRange(20.0, 100.0)
LIMITS = Limits(1, 9)


def gateway(name: str, nodes: int, **more: object) -> Member:
    given = {"load": float(nodes), "machine": 10.0, **more}
    return Member(name, nodes, **given)  # type: ignore[arg-type]


def step(members: list[Member], lasting: Demand, most: int = 4, **more: object) -> Step | None:
    given = {"absent": (), "full": lasting is Demand.FULL, **more}
    return next_step(members, lasting=lasting, limits=Limits(1, most), **given)  # type: ignore[arg-type]


def test_who_has_started_whom_is_in_the_name() -> None:
    assert parent_of(elastic_name("g1", 3)) == "g1"
    for name in ("g1", "g1+", "g1+x", "+1", "g1+1+2", "g1+01", "g+²"):
        assert not parent_of(name), name


@pytest.mark.parametrize(
    ("loads", "demand"),
    [
        ((101, 101), Demand.FULL),
        ((101, 100), Demand.FINE),
        ((19, 19), Demand.IDLE),
        ((19, 20), Demand.FINE),
        ((), Demand.FULL),
        ((5,), Demand.FINE),
        ((500,) * 10, Demand.IDLE),
    ],
)
def test_all_above_or_all_below(loads: tuple[int, ...], demand: Demand) -> None:
    members = [gateway(f"g{number}", load) for number, load in enumerate(loads)]
    assert demand_of(members, RANGE, LIMITS) is demand


def test_one_that_has_not_reported_is_waited_for() -> None:
    members = [gateway("a", 500), gateway("b", 0, load=None)]
    assert demand_of(members, RANGE, LIMITS) is Demand.FINE
    assert demand_of(members[1:], RANGE, LIMITS) is Demand.FINE


def test_what_is_still_at_a_draining_one_counts_for_the_others() -> None:
    narrow = OperationRange(95.0, 100.0)
    members = [gateway("a", 60), gateway("b", 60)]
    assert demand_of(members, narrow, LIMITS) is Demand.FINE, "one could not carry it"
    leaving = gateway("c", 90, draining=True)
    assert demand_of([gateway("a", 10), gateway("b", 10), leaving], narrow, LIMITS) is Demand.FINE


def test_the_machine_with_the_least_to_do_starts_another() -> None:
    members = [gateway("a", 200, machine=80.0), gateway("b", 200, machine=20.0)]
    assert step(members, Demand.FULL) == Step(Verb.START, "b+1", "2 gateways are too few")
    members += [gateway("b+1", 200)]
    found = step(members, Demand.FULL, reserved=frozenset({"b+2"}))
    assert found is not None
    assert found.gateway == "b+3", "neither one that is there nor one that was given up"
    assert step(members, Demand.FULL, most=3) is None


def test_an_elastic_one_starts_no_others() -> None:
    assert step([gateway("b+1", 200)], Demand.FULL) is None
    assert step([gateway("b", 200, machine=None)], Demand.FULL) is None, "it takes no orders yet"


def test_the_emptiest_elastic_one_retires_and_never_an_operators() -> None:
    members = [gateway("a", 0), gateway("a+1", 9), gateway("a+2", 5)]
    found = step(members, Demand.IDLE)
    assert found == Step(Verb.RETIRE, "a+2", "3 gateways are too many, a+2 has the least to do")
    assert step([gateway("a", 0), gateway("b", 1)], Demand.IDLE) is None
    assert step([gateway("a+1", 0)], Demand.IDLE) is None, "never below the least"


def test_it_is_stopped_only_when_nobody_and_nothing_is_left() -> None:
    leaving = gateway("a+1", 0, draining=True, retiring=True)
    for one in (replace(leaving, nodes=1), replace(leaving, waiting=True)):
        assert step([gateway("a", 5), one], Demand.IDLE) is None, "and no other retires meanwhile"
    assert step([gateway("a", 5), leaving], Demand.FINE) == Step(Verb.STOP, "a+1", "a+1 is empty")
    assert step([gateway("a", 5), leaving], Demand.FINE, full=True) is None, "it may be taken back"
    found = step([gateway("a", 500), leaving], Demand.FULL, most=1)
    assert found is not None
    assert found.verb is Verb.STOP, "there are as many as may be"
    drained = replace(leaving, retiring=False)
    assert step([gateway("a", 5), drained], Demand.IDLE) is None, "an operator drains it: it stays"


def test_one_that_retires_is_taken_back_before_another_is_started() -> None:
    members = [gateway("a", 200), gateway("a+1", 3, draining=True, retiring=True)]
    found = step(members, Demand.FULL)
    assert found is not None
    assert (found.verb, found.gateway) == (Verb.TAKE_BACK, "a+1")


def test_one_that_is_awaited_is_started_again_by_its_parent() -> None:
    found = step([gateway("a", 5)], Demand.FINE, absent={"a+1", "x", "b+1"})
    assert found is not None
    assert (found.verb, found.gateway) == (Verb.REVIVE, "a+1")
    assert step([gateway("a", 5, machine=None)], Demand.FINE, absent={"a+1"}) is None


def test_one_that_is_awaited_comes_whatever_the_most_is_and_before_nothing_else() -> None:
    """It takes no nodes. And it may be one that never comes: all else is done meanwhile."""
    found = step([gateway("a", 5)], Demand.FINE, most=1, absent={"a+1"})
    assert found is not None
    assert found.verb is Verb.REVIVE
    leaving = gateway("a+2", 0, draining=True, retiring=True)
    members = [gateway("a", 200), gateway("b", 200)]
    for more, lasting, verb in (
        ([], Demand.FULL, Verb.START),
        ([leaving], Demand.FULL, Verb.TAKE_BACK),
        ([leaving], Demand.FINE, Verb.STOP),
        ([gateway("a+2", 0)], Demand.IDLE, Verb.RETIRE),
    ):
        found = step([*members, *more], lasting, absent={"a+1"})
        assert found is not None
        assert found.verb is verb


def test_a_demand_has_to_last_and_there_is_time_between_two_changes() -> None:
    patience = Patience()
    patience.begin(100.0)
    patience.look(Demand.FULL, 101.0)
    assert patience.lasting(5.0, 9.0, 0.0, 105.9) is Demand.FINE
    assert patience.lasting(5.0, 9.0, 0.0, 106.0) is Demand.FULL
    assert patience.lasting(5.0, 9.0, 10.0, 109.0) is Demand.FINE
    patience.look(Demand.IDLE, 110.0)
    patience.look(Demand.FINE, 115.0)
    patience.look(Demand.IDLE, 116.0)
    assert patience.lasting(5.0, 9.0, 10.0, 124.0) is Demand.FINE
    assert patience.lasting(5.0, 9.0, 10.0, 125.0) is Demand.IDLE


@given(st.integers(0, 3_000), st.integers(1, 8), st.floats(0, 150), st.floats(0, 150))
def test_under_an_even_load_no_step_calls_for_the_opposite_one(
    total: int, many: int, one: float, other: float
) -> None:
    fitting = OperationRange(min(one, other), max(one, other))

    def demand(count: int) -> Demand:
        each, more = divmod(total, count)
        sizes = [each + (number < more) for number in range(count)]
        return demand_of([gateway(f"g{n}", size) for n, size in enumerate(sizes)], fitting, LIMITS)

    if demand(many) is Demand.FULL:
        assert demand(many + 1) is not Demand.IDLE
    if many > 1 and demand(many) is Demand.IDLE:
        assert demand(many - 1) is not Demand.FULL
