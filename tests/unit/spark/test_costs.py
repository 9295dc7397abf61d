"""Costs of slices, learned from the run times of tasks."""

from __future__ import annotations

import random
from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.spark.costs import DEAREST, Cost, CostLearner, TaskRun, fitted

SLICES = range(24)


def batch(rng, truth, *, overhead=0.02, octets=100, tasks=4, noise=0.0):
    """One batch: the slices dealt out anew over the tasks."""
    owners = [rng.randrange(tasks) for _ in SLICES]
    runs = []
    for task in range(tasks):
        reads = {s: (n := rng.randint(100, 3_000), n * octets) for s in SLICES if owners[s] == task}
        seconds = overhead + sum(truth(s, *read) for s, read in reads.items())
        runs.append(TaskRun(seconds * rng.uniform(1 - noise, 1 + noise), reads))
    return runs


def taught(truth, *, looks=60, seed=1, learner=None, **how):
    rng = random.Random(seed)
    learner = learner or CostLearner()
    for second in range(looks):
        learner.observe(batch(rng, truth, **how), float(second))
    return learner


def test_equal_slices_get_the_cost_of_an_item_and_the_overhead_of_a_task() -> None:
    learner = taught(lambda _, items, __: items * 50e-6)
    assert learner.ready
    assert learner.overhead == pytest.approx(0.02, rel=0.05)
    for slice_id in SLICES:
        assert learner.cost(slice_id).item == pytest.approx(50e-6, rel=0.05)


def test_bytes_cost_what_items_of_different_sizes_show() -> None:
    def truth(_, items, octets):
        return items * 20e-6 + octets * 0.1e-6

    learner = CostLearner()
    rng = random.Random(2)
    for second in range(80):
        for octets in (50, 200, 2_000):
            learner.observe(batch(rng, truth, octets=octets), second + octets / 1e4)
    assert learner.usual.item == pytest.approx(20e-6, rel=0.15)
    assert learner.usual.octet == pytest.approx(0.1e-6, rel=0.05)


def test_dear_slices_are_found_when_they_meet_different_others() -> None:
    def truth(slice_id, items, _):
        return items * (400e-6 if slice_id in (3, 17) else 40e-6)

    learner = taught(truth, looks=300, noise=0.1)
    dear = [learner.cost(s).of(1, 100) for s in (3, 17)]
    others = [learner.cost(s).of(1, 100) for s in SLICES if s not in (3, 17)]
    assert min(dear) > 3 * max(others)
    assert max(dear) < 600e-6
    assert sum(others) / len(others) == pytest.approx(40e-6, rel=0.4)


def test_a_change_of_the_cost_is_followed() -> None:
    learner = taught(lambda _, items, __: items * 50e-6)
    rng = random.Random(3)
    for second in range(60, 400):
        learner.observe(batch(rng, lambda _, items, __: items * 150e-6), float(second))
    assert learner.cost(0).item == pytest.approx(150e-6, rel=0.15)


@pytest.mark.parametrize("seconds", [0.001, 0.1, 20.0, 1e6])
@pytest.mark.parametrize("slice_id", [0, 11])
def test_one_strange_run_time_changes_little(seconds: float, slice_id: int) -> None:
    learner = taught(lambda _, items, __: items * 50e-6, looks=30)
    before = learner.cost(slice_id).item
    learner.observe([TaskRun(seconds, {slice_id: (1_000, 100_000)})], 30.0)
    assert before / 2 < learner.cost(slice_id).item < before * 2


READS = st.dictionaries(
    st.integers(0, 2**32 - 1), st.tuples(st.integers(0, 10**9), st.integers(0, 10**12)), max_size=6
)
RUNS = st.builds(TaskRun, st.floats(-1.0, 1e6, allow_nan=False), READS)


@given(st.lists(st.lists(RUNS, max_size=5), max_size=12), RUNS)
def test_whatever_is_seen_costs_are_numbers_from_zero_up(
    batches: list[list[TaskRun]], task: TaskRun
) -> None:
    learner = CostLearner()
    for second, runs in enumerate(batches):
        learner.observe(runs, float(second))
    costs = [learner.usual, *learner.costs().values()]
    assert all(isfinite(c.item) and isfinite(c.octet) for c in costs)
    assert all(c.item >= 0 and c.octet >= 0 for c in costs)
    assert learner.overhead >= 0
    usual = learner.usual
    for cost in learner.costs().values():
        assert cost.item <= DEAREST * usual.item * 1.001
        assert cost.octet <= DEAREST * usual.octet * 1.001
    assert learner.expected(list(task.reads)) >= 0


@given(st.lists(st.lists(RUNS, max_size=5), max_size=8), RUNS)
def test_the_parts_of_a_task_are_its_time_without_the_overhead(
    batches: list[list[TaskRun]], task: TaskRun
) -> None:
    learner = CostLearner()
    for second, runs in enumerate(batches):
        learner.observe(runs, float(second))
    parts = learner.divided(task)
    assert parts.keys() == task.reads.keys()
    assert all(part >= 0 for part in parts.values())
    if any(items + octets for items, octets in task.reads.values()):
        rest = max(0.0, task.seconds - learner.overhead)
        assert sum(parts.values()) == pytest.approx(rest)


def test_nothing_is_said_before_enough_was_seen_and_the_first_batches_do_not_count() -> None:
    learner = CostLearner(ignored=2, enough=3)
    rng = random.Random(5)
    for second in range(2):
        learner.observe(batch(rng, lambda _, items, __: items * 5.0), float(second))
    for second in range(2, 5):
        assert not learner.ready
        learner.observe(batch(rng, lambda _, items, __: items * 50e-6), float(second))
    assert learner.ready
    assert learner.usual.item == pytest.approx(50e-6, rel=0.05)


def test_tasks_whose_time_does_not_depend_on_items_say_nothing_of_slices() -> None:
    learner = taught(lambda *_: 0.0, overhead=0.3)
    assert not learner.ready
    assert learner.usual == Cost(0.0, 0.0)


def test_the_next_batch_is_expected_to_be_like_the_last() -> None:
    learner = CostLearner()
    assert learner.expected([1, 2]) == 0
    learner.observe([TaskRun(1.0, {1: (10, 0), 2: (30, 0)})], 0.0)
    assert learner.expected([2]) == 3 * learner.expected([1])


def test_the_work_of_a_slice_is_what_is_read_of_it_at_its_cost() -> None:
    learner = CostLearner()
    assert learner.work() == {}
    for number in range(40):
        sizes = 900 + 10 * (number % 20)
        small, large = (sizes, 0), (3 * sizes, 0)
        seconds = [0.02 + 1e-4 * items for items, _ in (small, large)]
        runs = [TaskRun(seconds[0], {1: small}), TaskRun(seconds[1], {2: large})]
        learner.observe(runs, 2.0 * number)
    work = learner.work()
    assert work[1] == pytest.approx(1_000 * 1e-4 / 2, rel=0.15)
    assert work[2] == pytest.approx(3 * work[1], rel=0.02)


def test_a_slice_that_is_no_longer_read_asks_for_no_work() -> None:
    learner = taught(lambda _, items, __: items * 50e-6)
    assert learner.work()[7] > 0
    for second in range(60, 180):
        learner.observe([TaskRun(0.1, {3: (2_000, 200_000)})], float(second))
    assert set(learner.work()) == {3}


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5), st.floats(0, 5)), max_size=20))
def test_no_coefficient_is_below_zero(rows: list[tuple[float, float, float]]) -> None:
    table = np.array(rows).reshape(len(rows), 3)
    found = fitted(table.T @ table, table.sum(axis=0), float(len(rows)))
    assert (found >= 0).all()
    assert np.isfinite(found).all()
