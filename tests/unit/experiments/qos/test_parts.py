"""The parts of the experiment: all can be imported, and what they compare is as they say."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from evenflow.qos.recovery import expected_missed
from evenflow_experiments.parts import part_of
from evenflow_experiments.qos.contenders import CONTENDERS, compare, ours
from evenflow_experiments.qos.experiment import PARTS
from evenflow_experiments.qos.missing import events_while_away
from evenflow_experiments.qos.traces import constant, traces


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_there_under_its_name(name: str) -> None:
    assert part_of(PARTS, name).name == name


def test_traces_are_the_same_for_everybody() -> None:
    assert traces(50) == traces(50)
    assert constant(50) == constant(50)


def test_our_levels_are_right_on_steps_and_after_a_change_of_scale() -> None:
    rows = {}
    for trace in traces(3_000):
        contender = ours(trace.levels)
        levels = [contender.learn(point) for point in trace.points]
        right = sum(found == true for found, true in zip(levels, trace.truth, strict=True))
        rows[trace.name] = right / len(levels)
    assert set(rows) == {"steps", "drift", "scale"}
    assert rows["steps"] > 0.95
    assert rows["drift"] > 0.9
    assert rows["scale"] > 0.95


def test_forgetting_alone_does_not_find_another_scale() -> None:
    """Why the levels are more than forgetful k-means."""
    two = {name: CONTENDERS[name] for name in ("evenflow", "forgetful k-means")}
    found = compare(traces(600), two)
    rows = {(row["contender"], row["trace"]): row["accuracy"] for row in found}
    assert rows["forgetful k-means", "scale"] < rows["evenflow", "scale"] - 0.1


def test_events_while_away_are_as_many_as_the_rates_say() -> None:
    rng = random.Random(4)
    events = [events_while_away(rng, 20.0, 2.0) for _ in range(20_000)]
    assert sum(events) / len(events) == pytest.approx(expected_missed(20.0, 2.0, 0), rel=0.03)
    missed = [sum(max(0, each - kept) for each in events) for kept in range(10)]
    assert all(more > less for more, less in pairwise(missed))
