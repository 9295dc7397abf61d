"""saver: as few nodes as can carry the load."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.balance.saver import Saver
from evenflow.errors import ConfigError
from evenflow.testing.sample_clusters import cluster, random_cluster, without_moves

TEN = {"a": 10.0, "b": 10.0, "c": 10.0}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # All fits on one node.
        ({"a": [2.0], "b": [3.0], "c": [1.0]}, {"a": 0.0, "b": 6.0, "c": 0.0}),
        # Two are needed.
        ({"a": [4.0], "b": [3.0, 2.0], "c": [2.0]}, {"a": 4.0, "b": 7.0, "c": 0.0}),
        # Between fill and limit nothing moves.
        ({"a": [4.0, 4.5], "b": [], "c": []}, {"a": 8.5, "b": 0.0, "c": 0.0}),
        # Above the limit an idle node is woken.
        ({"a": [5.0, 5.0], "b": [], "c": []}, {"a": 5.0, "b": 5.0, "c": 0.0}),
    ],
)
def test_before_and_after(before: dict[str, list[float]], after: dict[str, float]) -> None:
    assert dict(Saver().analyze_load(cluster(before, capacity=TEN)).expected) == after


def test_some_nodes_stay_at_work_if_the_operator_says_so() -> None:
    snapshot = cluster({"a": [1.0], "b": [1.0], "c": [1.0]}, capacity=TEN)
    at_work = Saver(min_nodes=2).analyze_load(snapshot).expected
    assert sum(load > 0 for load in at_work.values()) == 2


def test_a_node_whose_slices_just_moved_is_not_emptied() -> None:
    snapshot = cluster({"a": [1.0], "b": [2.0]}, capacity=TEN, moved_at={0: 990.0, 1: 990.0})
    assert not Saver(settle_s=60).analyze_load(snapshot)


def test_the_weakest_node_is_released_first() -> None:
    snapshot = cluster({"a": [2.0], "b": [1.0]}, capacity={"a": 5.0, "b": 10.0})
    assert dict(Saver().analyze_load(snapshot).expected) == {"a": 0.0, "b": 3.0}


def test_a_fill_above_the_limit_is_refused() -> None:
    with pytest.raises(ConfigError, match="fill"):
        Saver(fill=0.95, limit=0.9)


@given(st.integers(min_value=0, max_value=1_000_000))
def test_no_node_is_packed_above_its_limit(seed: int) -> None:
    snapshot = without_moves(random_cluster(seed))
    rules = Saver()
    plan = rules.analyze_load(snapshot)
    before = snapshot.loads()
    leaving = any(node.leaving for node in snapshot.nodes)
    for node in snapshot.active:
        limit = max(rules.limit * node.capacity, before[node.name])
        assert leaving or plan.expected[node.name] <= limit * (1 + 1e-9)


@given(st.integers(min_value=0, max_value=1_000_000))
def test_small_slices_are_packed_on_the_fewest_nodes_and_at_most_one_more(seed: int) -> None:
    size = 1 + seed % 400
    held = {f"n{index:02d}": [0.1] * (size // 10) for index in range(10)}
    snapshot = cluster(held, capacity=dict.fromkeys(held, 10.0))
    plan = Saver().analyze_load(snapshot)
    at_work = sum(load > 0 for load in plan.expected.values())
    fewest = -(-sum(plan.expected.values()) // 7.0)
    assert at_work <= fewest + 1
