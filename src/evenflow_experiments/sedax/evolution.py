"""Growing topics under continuous balancing (section VIII).

Time runs from 0 to the end of a period. Every ``interval`` the topics have grown, one random node
is woken, and a rule may move one topic. The rules are those of `continuous`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenflow_experiments.sedax.continuous import move_smallest, move_worthiest
from evenflow_experiments.sedax.growth import forecast, growth_rates, sizes_at
from evenflow_experiments.sedax.kernel import place_all

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.kernel import LoadTable
    from evenflow_experiments.sedax.simulation import Placement, World

PERIOD = 1.0
"""D, the length of the period; the paper does not say, and nothing depends on it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a rule may know when a node is woken."""

    sizes: Floats
    """Load of each topic now."""
    before: Floats
    """Load of each topic one interval ago."""
    interval: float
    """Time between the two."""
    remaining: float
    """Time to the end of the period."""


class Rule(Protocol):
    """A way to balance continuously."""

    def move(self, loads: LoadTable, where: Ints, moment: Moment, node: int) -> int:
        """Move at most one topic of a node; return which, or -1."""
        ...


@dataclass(frozen=True, slots=True)
class SmallestFirst:
    """The paper's algorithm 2."""

    def move(self, loads: LoadTable, where: Ints, moment: Moment, node: int) -> int:
        """Move the node's smallest topic when there is a better coordinate."""
        place_all(loads, where, moment.sizes)
        return move_smallest(loads, where, moment.sizes, node)


@dataclass(frozen=True, slots=True)
class Levelling:
    """Our own rule: the move that levels most for the load it moves."""

    worth: float
    """Fall of the soft maximum that a move must bring, per load moved."""
    sharpness: float = 20.0
    """How closely the soft maximum follows the maximum."""
    foresee: bool = False
    """Level the loads that the end of the period will bring, instead of today's."""

    def move(self, loads: LoadTable, where: Ints, moment: Moment, node: int) -> int:
        """Make the node's most worthwhile move."""
        sizes = moment.sizes
        if self.foresee:
            sizes = forecast(moment.before, sizes, moment.interval, moment.remaining)
        place_all(loads, where, sizes)
        rule = (moment.sizes, self.sharpness, self.worth)
        return move_worthiest(loads, where, sizes, node, rule)


@dataclass(frozen=True, slots=True)
class Evolution:
    """What happened in a period."""

    final: Placement
    """Where the topics lie at the end, under their final loads."""
    worst: Floats
    """Relative load of each node (columns) after each interval (rows), at the level balanced."""
    moved: Floats
    """V_ML: the load moved in each interval (eq. 13)."""


def evolve(
    world: World, start: Placement, rule: Rule | None, interval: float, *, shuffle: bool = False
) -> Evolution:
    """Let the topics of a placement grow for a period; ``rule`` None never moves any.

    ``shuffle`` gives the growth rates to the topics at random instead of in order of addition.
    """
    count, steps = len(start.where), round(PERIOD / interval)
    rates = growth_rates(count, period=PERIOD)
    if shuffle:
        rates = world.wake.permutation(rates)
    where, loads = start.where.copy(), start.loads
    nodes = world.wake.integers(world.setting.nodes, size=steps)
    worst, moved = np.empty((steps, world.setting.nodes)), np.zeros(steps)
    before = sizes_at(rates, 0.0)
    for step in range(steps):
        time = PERIOD * (step + 1) / steps
        sizes = sizes_at(rates, time)
        if rule is not None:
            moment = Moment(sizes, before, interval, PERIOD - time)
            topic = rule.move(loads, where, moment, int(nodes[step]))
            moved[step] = sizes[topic] if topic >= 0 else 0.0
        place_all(loads, where, sizes)
        worst[step] = loads.worst * len(loads.worst) / sizes.sum()
        before = sizes
    return Evolution(replace(start, where=where), worst, moved)
