"""What a single run is asked and what it answers: the unit that is spread over processes.

A task is a few numbers, an answer a few named lists of numbers, so both travel as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from evenflow_experiments.sedax.copies import COPIES, loads_with_one_copy_more
from evenflow_experiments.sedax.evolution import Levelling, SmallestFirst, evolve
from evenflow_experiments.sedax.simulation import HOME, add_topics, draw_world, lower_bound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.sedax.evolution import Evolution, Rule
    from evenflow_experiments.sedax.simulation import Placement, Setting, World

Answer = dict[str, list[float]]
"""Figures of a run by name."""


class Balancing(StrEnum):
    """Who moves topics while they grow."""

    NONE = "none"
    SMALLEST = "smallest"
    """The paper's algorithm 2."""
    LEVELLING = "levelling"
    """Our own rule on today's loads."""
    FORESEEING = "foreseeing"
    """Our own rule on the loads at the end of the period, moving little."""
    FORESEEING_MORE = "foreseeing-more"
    """The same, moving more."""


RULES: dict[Balancing, Rule | None] = {
    Balancing.NONE: None,
    Balancing.SMALLEST: SmallestFirst(),
    Balancing.LEVELLING: Levelling(worth=0.03),
    Balancing.FORESEEING: Levelling(worth=0.08, foresee=True),
    Balancing.FORESEEING_MORE: Levelling(worth=0.03, foresee=True),
}


@dataclass(frozen=True, slots=True)
class Growth:
    """A period of growth after the topics were added."""

    balancing: Balancing = Balancing.NONE
    """Who moves topics meanwhile."""
    interval: float = 0.01
    """Time between two wake-ups, in periods."""
    shuffle: bool = False
    """Growth rates at random instead of in order of addition."""
    course: bool = False
    """Whether the answer tells the whole course."""


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of run; together with a seed it is one run."""

    setting: Setting
    """What is simulated."""
    growth: Growth | None = None
    """What happens after the topics were added."""
    bound: bool = False
    """Whether the lower bound is wanted."""


def perform(task: Task, seed: int) -> Answer:
    """Run once.

    Returns:
        ``level1`` to ``level3``: relative node loads at the end; ``before``: those of level 3
        before growth; ``areas`` of the cells, relative too; ``correlation`` of cell size with each
        level's loads, and without delegation ``one_copy_more``, the same with three copies;
        ``violations`` of equation 11; ``moved`` load; ``bound``; and the course of growth.
    """
    world = draw_world(task.setting, seed)
    placement = add_topics(world)
    answer: Answer = {"violations": [placement.violations]}
    if task.bound:
        answer["bound"] = [lower_bound(world)]
    if task.growth is not None:
        answer["before"] = placement.relative(3).tolist()
        evolution = _grow(world, placement, task.growth)
        placement = evolution.final
        answer["moved"] = [float(evolution.moved.sum())]
        if task.growth.course:
            answer["course_moved"] = evolution.moved.tolist()
            answer["course_worst"] = evolution.worst.ravel().tolist()
    for level in (1, 2, 3):
        answer[f"level{level}"] = placement.relative(level).tolist()
    levels = [placement.relative(level) for level in (1, 2, 3)]
    answer["correlation"] = _correlations(world, levels)
    answer["areas"] = (world.areas * len(world.areas)).tolist()
    if task.setting.selection == HOME and task.setting.nodes > COPIES:
        more = loads_with_one_copy_more(world.plane, world.home_points, world.sizes)
        answer["one_copy_more"] = _correlations(world, more)
    return answer


def _correlations(world: World, levels: Iterable[Floats]) -> list[float]:
    """Correlation of the size of a node's cell and its load."""
    return [float(np.corrcoef(world.areas, loads)[0, 1]) for loads in levels]


def _grow(world: World, placement: Placement, growth: Growth) -> Evolution:
    rule = RULES[growth.balancing]
    return evolve(world, placement, rule, growth.interval, shuffle=growth.shuffle)
