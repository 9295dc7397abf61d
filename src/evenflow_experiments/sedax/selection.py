"""The paper's four ways to find a coordinate for a topic, and load-balanced addition (V, VI-A).

A node that wants to place a topic sends queries to random coordinates. They differ in what the node
that is reached answers with:

============  ================================================================
individual    the load of the very coordinate that was asked for
local         the best coordinate of its own cell
regional      the best coordinate of its own cell and those some hops around it
global        every node is asked for its best coordinate
============  ================================================================

The delegating node always looks into its own cell (or region) too, and that counts as one query.
What all answers have in common is the final choice: the best coordinate overall, the first in node
order among equals, and only when it is better than the topic's home coordinate.

Randomness stays outside: the spots of the queried coordinates come in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from evenflow.overlay.balancing.preference import best_spot
from evenflow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenflow.overlay.balancing.loads import Level, NodeLoads

N = TypeVar("N", int, str)


class Surroundings(Protocol[N]):
    """What a selection needs to know of the overlay."""

    def nodes(self) -> Sequence[N]:
        """Return all nodes in node order."""
        ...

    def region(self, node: N) -> Sequence[N]:
        """Return a node and those within the number of hops that a region spans."""
        ...

    def spots(self, node: N) -> Sequence[tuple[N, ...]]:
        """Return the candidate spots of a node's cell, in a fixed order."""
        ...


def individual(
    _overlay: Surroundings[N], _delegating: N, queried: Sequence[tuple[N, ...]]
) -> Iterator[tuple[N, ...]]:
    """IndCoord: the queried coordinates themselves."""
    yield from queried


def local(
    overlay: Surroundings[N], delegating: N, queried: Sequence[tuple[N, ...]]
) -> Iterator[tuple[N, ...]]:
    """BestLocalCoord: the cells of the delegating node and of the nodes reached."""
    for node in sorted({delegating} | {spot[0] for spot in queried}):
        yield from overlay.spots(node)


def regional(
    overlay: Surroundings[N], delegating: N, queried: Sequence[tuple[N, ...]]
) -> Iterator[tuple[N, ...]]:
    """BestRegionalCoord: the regions of the delegating node and of the nodes reached."""
    reached = {delegating} | {spot[0] for spot in queried}
    for node in sorted({near for asked in reached for near in overlay.region(asked)}):
        yield from overlay.spots(node)


def everywhere(
    overlay: Surroundings[N], _delegating: N, _queried: Sequence[tuple[N, ...]]
) -> Iterator[tuple[N, ...]]:
    """BestGlobalCoord: all cells."""
    for node in overlay.nodes():
        yield from overlay.spots(node)


SELECTIONS: Registry[Callable[..., Iterator[tuple[int | str, ...]]]] = Registry(
    "coordinate selection",
    {"individual": individual, "local": local, "regional": regional, "global": everywhere},
)


def queries_to_send(selection: str, queries: int, *, own_counts: bool = True) -> int:
    """Return how many random coordinates are asked when ``queries`` are allowed."""
    SELECTIONS.get(selection)
    if selection == "global":
        return 0
    return queries if selection == "individual" or not own_counts else queries - 1


def add_balanced(
    loads: NodeLoads[N],
    level: Level,
    home: tuple[N, ...],
    load: float,
    candidates: Iterator[tuple[N, ...]],
) -> tuple[N, ...]:
    """Algorithm 1: place a new topic on the best candidate, or at home when none is better."""
    spot = best_spot(loads, level, home, candidates)
    loads.add(spot, load)
    return spot
