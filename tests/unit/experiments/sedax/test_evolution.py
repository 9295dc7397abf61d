from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.sedax.evolution import Levelling, SmallestFirst, evolve
from evenflow_experiments.sedax.simulation import Setting, Sizes, add_topics, draw_world

GROWING = Setting(nodes=10, topics_per_node=10, sizes=Sizes.HOMOGENEOUS)


def test_growth_without_balancing_moves_nothing() -> None:
    world = draw_world(GROWING, 1)
    start = add_topics(world)
    before = start.where.copy()
    evolution = evolve(world, start, None, 0.1)
    assert evolution.moved.sum() == 0
    assert list(evolution.final.where) == list(before)
    assert evolution.worst[-1] == pytest.approx(evolution.final.relative(3))
    assert evolution.worst[0].max() < evolution.worst[-1].max()


@pytest.mark.parametrize("rule", [SmallestFirst(), Levelling(0.05), Levelling(0.05, foresee=True)])
def test_continuous_balancing_lowers_the_highest_load(rule: SmallestFirst | Levelling) -> None:
    idle, balanced, moved = [], [], []
    for seed in range(8):
        for found, chosen in ((idle, None), (balanced, rule)):
            world = draw_world(GROWING, seed)
            evolution = evolve(world, add_topics(world), chosen, 0.02)
            found.append(evolution.final.relative(3).max())
        moved.append(evolution.moved.sum())
    assert np.mean(balanced) < np.mean(idle)
    assert 0 < np.mean(moved) < 60


def test_shuffled_growth_is_another_growth() -> None:
    ends = []
    for shuffle in (False, True):
        world = draw_world(GROWING, 1)
        ends.append(evolve(world, add_topics(world), None, 0.1, shuffle=shuffle).final.relative(3))
    assert list(ends[0]) != list(ends[1])
