"""What is learned of nodes and slices: strength, and outlook."""

from __future__ import annotations

from math import pi, sin
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.balance.load_outlook import OutlookLearner
from evenflow.balance.node_strength import StrengthLearner
from evenflow.model.load import LoadWeights, Outlook, SliceLoad


def test_load_as_one_number() -> None:
    load = SliceLoad(items=10.0, octets=2000.0, busy=0.5)
    assert LoadWeights().weigh(load) == 10.0
    assert LoadWeights(item=0.0, octet=0.001, busy=4.0).weigh(load) == 4.0


@given(st.floats(min_value=0.1, max_value=1e6), st.floats(min_value=0.05, max_value=1.0))
def test_strength_is_what_the_node_could_do_when_always_busy(strength: float, busy: float) -> None:
    learner = StrengthLearner()
    for _ in range(60):
        learner.observe("a", work=strength * busy * 2.0, busy_s=busy * 2.0, elapsed_s=2.0)
    learned = learner.strength("a")
    assert learned == pytest.approx(strength)


def test_a_moment_of_little_work_hardly_counts() -> None:
    learner = StrengthLearner()
    for _ in range(30):
        learner.observe("a", work=100.0, busy_s=1.0, elapsed_s=1.0)
    learner.observe("a", work=0.01, busy_s=0.001, elapsed_s=1.0)
    assert learner.strength("a") == pytest.approx(100.0, rel=0.01)


def test_a_slowed_node_is_found_out() -> None:
    learner = StrengthLearner(memory_s=20.0)
    for work in [100.0] * 60 + [50.0] * 100:
        learner.observe("a", work=work, busy_s=1.0, elapsed_s=1.0)
    assert learner.strength("a") == pytest.approx(50.0, rel=0.02)


def test_unknown_nodes_count_as_average() -> None:
    learner = StrengthLearner()
    assert learner.capacities(["a", "b"]) == {"a": 1.0, "b": 1.0}
    for node, work in (("a", 10.0), ("b", 30.0)):
        for _ in range(9):
            learner.observe(node, work=work, busy_s=1.0, elapsed_s=1.0)
    learned = learner.capacities(["a", "b", "new"])
    assert learned == pytest.approx({"a": 10.0, "b": 30.0, "new": 20.0})
    learner.forget("a")
    assert learner.strength("a") is None


def test_outlook_without_a_past() -> None:
    learner = OutlookLearner()
    learner.observe(1, 5.0, 0.0)
    assert learner.outlook(1) is None
    assert learner.outlook(2) is None


def mean_errors(course: object, *, period_s: float = 0.0) -> tuple[float, float]:
    """Mean error ten seconds ahead: of the outlook, and of taking things to stay as measured."""
    random = Random(1)
    learner = OutlookLearner(period_s=period_s)
    ours = naive = 0.0
    for step in range(720):
        now = 2.0 * step
        measured = course(now) + random.gauss(0.0, 5.0)  # type: ignore[operator]
        learner.observe(1, measured, now)
        outlook = learner.outlook(1)
        if step > 360 and outlook is not None:
            truth = course(now + 10.0)  # type: ignore[operator]
            ours += abs(outlook.at(now + 10.0) - truth)
            naive += abs(measured - truth)
    return ours, naive


def test_outlook_beats_the_last_measurement() -> None:
    ours, naive = mean_errors(lambda now: 100.0 + 2.0 * now)
    assert ours < 0.2 * naive
    ours, naive = mean_errors(lambda now: 100.0 + 50.0 * sin(2 * pi * now / 240.0), period_s=240.0)
    assert ours < 0.5 * naive
    ours, naive = mean_errors(lambda _now: 100.0)
    assert ours < naive


def test_outlook_is_never_below_zero_and_ignores_time_that_stands_still() -> None:
    assert Outlook(0.0, 5.0, trend=-1.0).at(100.0) == 0.0
    learner = OutlookLearner(enough=2)
    learner.observe(1, 5.0, 10.0)
    learner.observe(1, 500.0, 10.0)
    assert learner.outlook(1) is None


def test_slices_that_are_gone_are_forgotten() -> None:
    learner = OutlookLearner(enough=1)
    learner.observe(1, 5.0, 0.0)
    learner.observe(2, 5.0, 0.0)
    learner.keep([2, 3])
    assert learner.outlook(1) is None
    assert learner.outlook(2) is not None
