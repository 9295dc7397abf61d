"""Whole runs of the paper's experiments: a random overlay, its topics, their balancing (VII, VIII).

A run follows from its `Setting` and its seed alone. Nodes, candidates, topics, sizes, queries,
wake-ups and ties have a random stream each, so runs with the same seed share all that their
settings share, as the paper's do: the same nodes with another selection, the same topics in another
order.

Node loads are relative: 1 is the mean topic load of a node (100 % in the paper).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from evenflow.errors import OverlayError, UnknownName
from evenflow.overlay.space.plane import Cells, Plane
from evenflow_experiments.sedax.growth import growth_rates, sizes_at
from evenflow_experiments.sedax.kernel import (
    NODE_ORDER,
    Questions,
    add_by_cells,
    add_individually,
    empty_loads,
    place_all,
)
from evenflow_experiments.sedax.planning import add_by_plan, plan
from evenflow_experiments.sedax.selection import SELECTIONS, queries_to_send
from evenflow_experiments.sedax.spots import (
    CANDIDATES,
    near_regions,
    own_regions,
    spot_table,
    whole_regions,
)

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.kernel import LoadTable
    from evenflow_experiments.sedax.spots import RegionTable, SpotTable


class Sizes(StrEnum):
    """The paper's topic loads (section VII-A)."""

    HOMOGENEOUS = "homogeneous"
    """All 1."""
    HETEROGENEOUS = "heterogeneous"
    """Four fifths 1/4 and one fifth 4, exactly, in random order."""
    ASCENDING = "ascending"
    """From 1 to 10, exponentially, the smallest added first."""
    DESCENDING = "descending"
    """The same, the largest added first."""
    SHUFFLED = "shuffled"
    """The same in random order."""


class Ties(StrEnum):
    """Which of equally good coordinates is taken."""

    FIRST = "first"
    """The first in node order; this reproduces the paper."""
    RANDOM = "random"
    """Any."""


HOME = "home"
"""Selection of a topic without delegation: it stays at its home coordinate."""
PLANNED = "planned"
"""Our own selection, online: the topics come in any order and none is known in advance."""
PLANNED_AHEAD = "planned-ahead"
"""Our own selection when all topics are known in advance."""

KNOWN = (HOME, *SELECTIONS, PLANNED, PLANNED_AHEAD)
"""Every selection that can be simulated."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run simulates. The defaults are those of the paper's Table III."""

    nodes: int = 100
    """How many nodes."""
    topics_per_node: int = 100
    """Topics for each node, on average."""
    sizes: Sizes = Sizes.HETEROGENEOUS
    """Loads of the topics."""
    selection: str = "global"
    """One of the paper's selections, `HOME`, `PLANNED` or `PLANNED_AHEAD`."""
    level: int = 3
    """Resilience level whose loads are balanced."""
    queries: int = 1
    """Queries per topic."""
    hops: int = 1
    """Links from a node to the edge of its region."""
    own_counts: bool = True
    """Whether the look into the own cell counts as a query; in the paper it does."""
    ties: Ties = Ties.FIRST
    """How ties are broken."""
    candidates: int = CANDIDATES
    """Random coordinates in every cell."""

    def __post_init__(self) -> None:
        if self.selection not in KNOWN:
            raise UnknownName("coordinate selection", self.selection, KNOWN)
        if self.nodes < 3:
            raise OverlayError(f"{self.nodes} nodes: a topic needs three, use more")
        if min(self.topics_per_node, self.queries, self.candidates) < 1 or self.hops < 0:
            raise OverlayError("topics, queries and candidates are at least 1, hops at least 0")
        if self.level not in (1, 2, 3):
            raise OverlayError(f"resilience level {self.level}: choose 1, 2 or 3")

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return self.nodes * self.topics_per_node

    @property
    def steered(self) -> bool:
        """Whether the selection is one of our own."""
        return self.selection in (PLANNED, PLANNED_AHEAD)


@dataclass(frozen=True, slots=True)
class World:
    """A random overlay and the topics that come to it."""

    setting: Setting
    """What it was drawn for."""
    plane: Plane
    """The nodes."""
    areas: Floats
    """Area of each node's cell."""
    spots: SpotTable
    """All spots that matter."""
    homes: Ints
    """Home spot of each topic, in order of addition."""
    home_points: Floats
    """Home coordinate of each topic."""
    queried: Ints
    """Spots that the queries of each topic reach."""
    sizes: Floats
    """Load of each topic."""
    wake: np.random.Generator
    """Which node is woken next."""
    tie_seed: int
    """Seed of the random choice among equals."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the topics of a world lie, and what that means for the nodes."""

    where: Ints
    """Spot of each topic."""
    loads: LoadTable
    """Sums of the loads."""
    violations: int
    """Additions that violated equation 11; never any."""

    def relative(self, level: int) -> Floats:
        """Return the relative load of each node at a resilience level."""
        absolute = (
            self.loads.primary,
            self.loads.stored,
            self.loads.stored + self.loads.additional,
        )[level - 1]
        share: Floats = absolute * len(absolute) / self.loads.primary.sum()
        return share


def draw_world(
    setting: Setting, seed: int, *, places: Floats | None = None, homes: Floats | None = None
) -> World:
    """Draw an overlay and its topics.

    Args:
        setting: What is drawn.
        seed: What it follows from.
        places: Coordinates of the nodes, where they are given.
        homes: Home coordinates of the topics, where they are given.
    """
    streams = [np.random.default_rng([seed, stream]) for stream in range(7)]
    node_rng, candidate_rng, home_rng, size_rng, query_rng, wake_rng, tie_rng = streams
    plane = Plane(node_rng.random((setting.nodes, 2)) if places is None else places)
    cells = Cells(plane)
    homes = home_rng.random((setting.topics, 2)) if homes is None else homes
    candidates, asked = np.empty((0, 2)), 0
    if setting.selection != HOME:
        candidates = cells.sample(setting.candidates, candidate_rng)
        if not setting.steered:
            asked = queries_to_send(
                setting.selection, setting.queries, own_counts=setting.own_counts
            )
    queries = query_rng.random((setting.topics * asked, 2))
    if setting.selection == "individual":
        spots, (home, reached) = spot_table(plane, candidates, [homes, queries])
    else:
        spots, (home,) = spot_table(plane, candidates, [homes])
        reached = plane.closest(queries, 1)
    sizes = _draw_sizes(setting, size_rng)
    queried = reached.reshape(setting.topics, asked)
    ties = int(tie_rng.integers(2**32))
    return World(setting, plane, cells.areas(), spots, home, homes, queried, sizes, wake_rng, ties)


def _draw_sizes(setting: Setting, rng: np.random.Generator) -> Floats:
    count = setting.topics
    if setting.sizes is Sizes.HOMOGENEOUS:
        return np.ones(count)
    if setting.sizes is Sizes.HETEROGENEOUS:
        large = count // 5
        return rng.permutation(np.repeat((0.25, 4.0), (count - large, large)))
    exponential = sizes_at(growth_rates(count), 1.0)
    if setting.sizes is Sizes.ASCENDING:
        return exponential
    if setting.sizes is Sizes.DESCENDING:
        return exponential[::-1].copy()
    return rng.permutation(exponential)


def add_topics(world: World) -> Placement:
    """Add all topics one after another, as the setting's selection decides."""
    setting, loads = world.setting, empty_loads(world.spots, world.setting.level)
    if setting.selection == HOME:
        place_all(loads, world.homes, world.sizes)
        return Placement(world.homes, loads, 0)
    if setting.steered:
        return _add_steered(world, loads)
    if setting.selection == "individual":
        where, violations = add_individually(loads, world.homes, world.sizes, world.queried)
    else:
        order = NODE_ORDER if setting.ties is Ties.FIRST else world.tie_seed
        questions = Questions(world.queried, _regions(world), order)
        where, violations = add_by_cells(loads, world.homes, world.sizes, questions)
    return Placement(where, loads, violations)


def _add_steered(world: World, loads: LoadTable) -> Placement:
    target = plan(world.spots, world.setting.level)
    if world.setting.selection == PLANNED:
        where, violations = add_by_plan(loads, world.sizes, target, leave_gaps=True)
        return Placement(where, loads, violations)
    order = np.argsort(-world.sizes, kind="stable")
    where, violations = add_by_plan(loads, world.sizes[order], target, leave_gaps=False)
    back = np.empty_like(where)
    back[order] = where
    return Placement(back, loads, violations)


def _regions(world: World) -> RegionTable:
    if world.setting.selection == "local":
        return own_regions(world.setting.nodes)
    if world.setting.selection == "regional":
        return near_regions(world.plane, world.setting.hops)
    return whole_regions(world.setting.nodes)


def simulate(setting: Setting, seed: int) -> Placement:
    """Draw a world and add its topics."""
    return add_topics(draw_world(setting, seed))


def lower_bound(world: World) -> float:
    """Return the relative load that the highest node has at least, wherever the topics lie."""
    return plan(world.spots, world.setting.level, usable=len(world.spots.first)).bound
