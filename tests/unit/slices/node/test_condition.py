"""The state of a node from what it measures."""

from __future__ import annotations

import pytest

from evenflow.model.load import NodeState
from evenflow.slices.node.condition import RANGES, Condition, bounds_in


@pytest.mark.parametrize(
    ("cpu", "worked", "state"),
    [
        (10.0, 0.1, NodeState.UNDERLOADED),
        (10.0, 0.5, NodeState.NORMAL),
        (50.0, 0.1, NodeState.NORMAL),
        (80.0, 0.1, NodeState.OVERLOADED),
        (10.0, 0.9, NodeState.OVERLOADED),
    ],
)
def test_the_state_follows_from_the_ranges(cpu: float, worked: float, state: NodeState) -> None:
    condition = Condition(cores=4)
    condition.observe({"cpu": cpu, "process_cpu": 100.0, "memory": 40.0}, 7.0, 10.0)
    condition.observe({"cpu": cpu, "process_cpu": 100.0, "memory": 40.0}, 7.0 + worked, 11.0)
    assert condition.state is state
    assert (condition.cpu, condition.process_cpu, condition.memory) == (cpu, 25.0, 40.0)


def test_one_look_says_nothing() -> None:
    condition = Condition()
    condition.observe({"cpu": 99.0}, 5.0, 10.0)
    assert condition.state is NodeState.NORMAL


def test_the_operators_ranges_count_where_there_are_two_bounds() -> None:
    assert bounds_in({}) == RANGES
    given = bounds_in({"cpu": (10.0, 50.0, 90.0), "busy": (60.0,), "other": (1.0, 2.0)})
    assert given == {"cpu": (10.0, 90.0), "busy": RANGES["busy"]}
