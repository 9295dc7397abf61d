from __future__ import annotations

import pytest

from evenflow_experiments.sedax.simulation import Setting, Sizes
from evenflow_experiments.sedax.tasks import RULES, Balancing, Growth, Task, perform

GROWING = Setting(nodes=6, topics_per_node=5, candidates=20, sizes=Sizes.HOMOGENEOUS)


def test_an_answer_has_what_the_task_asks_for() -> None:
    plain = perform(Task(GROWING), 3)
    assert set(plain) == {"violations", "level1", "level2", "level3", "areas", "correlation"}
    assert [len(plain[f"level{level}"]) for level in (1, 2, 3)] == [6, 6, 6]
    assert sum(plain["level1"]) == pytest.approx(6)  # relative loads: 1 is the mean
    grown = perform(Task(GROWING, Growth(Balancing.NONE, 0.25, course=True), bound=True), 3)
    assert set(grown) - set(plain) == {"before", "moved", "bound", "course_moved", "course_worst"}
    assert grown["before"] == plain["level3"]
    assert len(grown["course_worst"]) == 4 * 6


def test_no_placement_is_below_the_bound() -> None:
    answer = perform(Task(GROWING, bound=True), 5)
    assert max(answer["level3"]) >= answer["bound"][0]


def test_every_balancing_has_a_rule_and_none_moves_nothing() -> None:
    assert set(RULES) == set(Balancing)
    moved = {
        balancing: perform(Task(GROWING, Growth(balancing, 0.05)), 2)["moved"][0]
        for balancing in Balancing
    }
    assert moved.pop(Balancing.NONE) == 0
    assert max(moved.values()) > 0
