"""Algorithm 2, the decision: which topic a node gives away, and where to (section VI-B).

A node that is woken takes its *smallest* topic, counting those it would keep only after a failure,
and looks for the best coordinate as load-balanced addition does (algorithm 1), by
loads that do not count the topic itself (section V). The topic moves when that is better than where
it lies.

A live store adds a margin (``least``): measured loads are never quite still, and a move that
improves next to nothing would only be made back later. With 0 the rule is the paper's.

`evenflow_experiments.sedax.continuous.move_smallest` is the same over arrays; tests hold the two
equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from evenflow.overlay.balancing.preference import best_spot, coordinate_load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.balancing.loads import Level, NodeLoads
    from evenflow.overlay.balancing.preference import CoordinateLoad

N = TypeVar("N", int, str)


@dataclass(frozen=True, slots=True)
class PlacedTopic(Generic[N]):
    """A topic, where it lies, and how large it is."""

    topic: N
    spot: tuple[N, ...]
    """The nodes it burdens, closest first."""
    load: float


@dataclass(frozen=True, slots=True)
class Improvement(Generic[N]):
    """A better place for a topic."""

    spot: tuple[N, ...]
    """The nodes it will burden."""
    here: CoordinateLoad
    """Loads where it lies, without it."""
    there: CoordinateLoad
    """Loads where it would lie, without it."""


def smallest_of(topics: Iterable[PlacedTopic[N]], node: N) -> PlacedTopic[N] | None:
    """Return the smallest topic that burdens a node; of equals the first."""
    mine = (placed for placed in topics if node in placed.spot)
    return min(mine, key=lambda placed: placed.load, default=None)


def improve(
    others: NodeLoads[N],
    level: Level,
    spot: tuple[N, ...],
    candidates: Iterable[tuple[N, ...]],
    least: float = 0.0,
) -> Improvement[N] | None:
    """Return the best place for a topic, None when it is best off where it lies.

    Args:
        others: Node loads without the topic.
        level: Resilience level whose loads are balanced.
        spot: Where the topic lies.
        candidates: Where it could lie, in order of preference among equals.
        least: Load by which the highest load that it meets must fall; 0: it need not fall.
    """
    best = best_spot(others, level, spot, candidates)
    here, there = (coordinate_load(others, place, level) for place in (spot, best))
    return Improvement(best, here, there) if is_worth_a_move(here, there, least) else None


def is_worth_a_move(here: CoordinateLoad, there: CoordinateLoad, least: float = 0.0) -> bool:
    """Say whether a place is better, and by enough if told how much that is."""
    return there.better_than(here) and not (least and here.maximum - there.maximum < least)
