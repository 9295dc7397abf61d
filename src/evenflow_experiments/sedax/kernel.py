"""Loads, ordering and selection over arrays, compiled: `resilience` to `selection` in numbers.

The rules are those of the plain modules, and tests hold the two equal decision by decision; what
differs is the speed, several hundredfold. Only additions and moves change the tables, and each
touches three nodes and two failure rows, so its cost does not depend on the number of topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenflow_experiments.sedax.compiled import compiled

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.spots import RegionTable, SpotTable

Merit = tuple[float, float, float]
"""L_max, L_min and the spare capacity with its sign turned: the smaller, the better."""

ROUNDING = 1e-9
"""Relative error that sums of loads may have gathered."""


NODE_ORDER = -1
"""Instead of a seed: cells are visited in node order, so that the first node wins a tie."""


class LoadTable(NamedTuple):
    """All sums of topic loads, kept for one resilience level."""

    spots: SpotTable
    """Which sums each spot touches."""
    level: int
    """The level that is balanced."""
    primary: Floats
    """L_N^1 of each node."""
    stored: Floats
    """L_N^2 of each node."""
    additional: Floats
    """L_aN^3 of each node: the largest of its failure rows."""
    worst: Floats
    """L_N^i of each node at the level that is balanced."""
    rows: Floats
    """Load that one failure puts on one third node."""


class Questions(NamedTuple):
    """Whom each topic's delegating node asks, besides itself."""

    queried: Ints
    """The nodes that the queries reach, a row for each topic."""
    regions: RegionTable
    """For which cells a node answers."""
    shuffle: int = NODE_ORDER
    """Seed of the random order in which cells are visited, which breaks ties at random."""


def empty_loads(spots: SpotTable, level: int) -> LoadTable:
    """Return the loads of an overlay without topics."""
    primary, stored, additional, worst = np.zeros((4, spots.nodes))
    rows = np.zeros(int(spots.row_start[-1]))
    return LoadTable(spots, level, primary, stored, additional, worst, rows)


@compiled
def _settle(loads: LoadTable, node: int) -> None:
    if loads.level == 1:
        loads.worst[node] = loads.primary[node]
    elif loads.level == 2:
        loads.worst[node] = loads.stored[node]
    else:
        loads.worst[node] = loads.stored[node] + loads.additional[node]


@compiled
def _shift(loads: LoadTable, spot: int, load: float) -> None:
    spots = loads.spots
    loads.primary[spots.first[spot]] += load
    loads.stored[spots.first[spot]] += load
    loads.stored[spots.second[spot]] += load
    loads.rows[spots.first_fails[spot]] += load
    loads.rows[spots.second_fails[spot]] += load


@compiled
def worst_failure(loads: LoadTable, node: int) -> float:
    """Return the load of a node's worst failure from its rows: eq. 3."""
    worst = 0.0
    for row in range(loads.spots.row_start[node], loads.spots.row_start[node + 1]):
        worst = max(worst, loads.rows[row])
    return worst


@compiled
def failure_at(loads: LoadTable, spot: int) -> float:
    """Return the worst failure of a spot's third node among the spot's own: eq. 8."""
    first = loads.rows[loads.spots.first_fails[spot]]
    second = loads.rows[loads.spots.second_fails[spot]]
    return first if first > second else second  # type: ignore[no-any-return]


@compiled
def place(loads: LoadTable, spot: int, load: float) -> None:
    """Count a topic on a spot; a negative load takes it away."""
    _shift(loads, spot, load)
    third = loads.spots.third[spot]
    if load < 0:
        loads.additional[third] = worst_failure(loads, third)
    else:
        loads.additional[third] = max(loads.additional[third], failure_at(loads, spot))
    _settle(loads, loads.spots.first[spot])
    _settle(loads, loads.spots.second[spot])
    _settle(loads, third)


@compiled
def place_all(loads: LoadTable, where: Ints, sizes: Floats) -> None:
    """Count all topics anew."""
    loads.primary[:] = 0.0
    loads.stored[:] = 0.0
    loads.rows[:] = 0.0
    for topic in range(len(where)):
        _shift(loads, where[topic], sizes[topic])
    for node in range(len(loads.worst)):
        loads.additional[node] = worst_failure(loads, node)
        _settle(loads, node)


@compiled
def merit(loads: LoadTable, spot: int) -> Merit:
    """Return how good a spot is: eq. 5-10 and the spare capacity of section IV-D."""
    spots = loads.spots
    high = low = loads.worst[spots.first[spot]]
    if loads.level == 1:
        return high, low, 0.0
    second = loads.worst[spots.second[spot]]
    high, low = max(high, second), min(low, second)
    if loads.level == 2:
        return high, low, 0.0
    third = spots.third[spot]
    last = loads.stored[third] + failure_at(loads, spot)
    return max(high, last), min(low, last), last - loads.worst[third]


@compiled
def better(mine: Merit, other: Merit) -> bool:
    """Say whether the first is strictly better (section IV-D)."""
    if mine[0] != other[0]:
        return mine[0] < other[0]
    if mine[1] != other[1]:
        return mine[1] < other[1]
    return mine[2] < other[2]


@compiled
def best_of(loads: LoadTable, current: int, candidates: Ints) -> int:
    """Return the best of some spots when it is better than the current one, else that one."""
    best, best_merit = current, merit(loads, current)
    for spot in candidates:
        found = merit(loads, spot)
        if better(found, best_merit):
            best, best_merit = spot, found
    return best


@compiled
def best_in_cells(loads: LoadTable, current: int, nodes: Ints) -> int:
    """Return the best spot of some nodes' cells when it is better than the current one.

    Of equals the first stays, so the order of the nodes breaks ties.
    """
    best, best_merit = current, merit(loads, current)
    for node in nodes:
        for spot in range(loads.spots.cell_start[node], loads.spots.cell_start[node + 1]):
            found = merit(loads, spot)
            if better(found, best_merit):
                best, best_merit = spot, found
    return best


@compiled
def add_checked(loads: LoadTable, spot: int, load: float, highest: float) -> tuple[float, bool]:
    """Place a topic and make the paper's test of a level 3 addition, equation 11.

    The load of the most loaded node before the addition comes in, and after it goes out, with
    whether the equation holds: the chosen coordinate's L_max before is at most the new highest
    load without the topic, or the new load of its third node.
    """
    lowest = merit(loads, spot)[0]
    place(loads, spot, load)
    spots = loads.spots
    third = loads.worst[spots.third[spot]]
    keepers = max(loads.worst[spots.first[spot]], loads.worst[spots.second[spot]])
    highest = max(highest, keepers, third)
    return highest, loads.level < 3 or lowest <= max(highest - load, third) * (1 + ROUNDING)


@compiled
def add_individually(
    loads: LoadTable, homes: Ints, sizes: Floats, queried: Ints
) -> tuple[Ints, int]:
    """Add topics one by one, each on the best of its queried spots (IndCoord, algorithm 1).

    Returns:
        The spot of each topic, and how often equation 11 was violated.
    """
    where = homes.copy()
    violations, highest = 0, loads.worst.max()
    for topic in range(len(homes)):
        where[topic] = best_of(loads, homes[topic], queried[topic])
        highest, holds = add_checked(loads, where[topic], sizes[topic], highest)
        violations += int(not holds)
    return where, violations


@compiled
def _gather(questions: Questions, topic: int, home: int, asked: Ints, seen: Ints) -> int:
    """Write the nodes whose cells a topic may use to ``asked``, each once; return how many."""
    regions = questions.regions
    count = 0
    for query in range(-1, questions.queried.shape[1]):
        node = home if query < 0 else questions.queried[topic, query]
        for member in range(regions.start[node], regions.stop[node]):
            answering = regions.members[member]
            if seen[answering] != topic:
                seen[answering] = topic
                asked[count] = answering
                count += 1
    return count


@compiled
def add_by_cells(
    loads: LoadTable, homes: Ints, sizes: Floats, questions: Questions
) -> tuple[Ints, int]:
    """Add topics one by one, each on the best spot of the cells asked (the other selections).

    The delegating node's own region is always asked.

    Returns:
        The spot of each topic, and how often equation 11 was violated.
    """
    if questions.shuffle != NODE_ORDER:
        np.random.seed(questions.shuffle)  # compiled code has a generator of its own
    where = homes.copy()
    asked, seen = np.empty(len(loads.worst), np.int64), np.full(len(loads.worst), -1)
    violations, highest = 0, loads.worst.max()
    for topic in range(len(homes)):
        count = _gather(questions, topic, loads.spots.first[homes[topic]], asked, seen)
        if questions.shuffle == NODE_ORDER:
            asked[:count].sort()
        else:
            np.random.shuffle(asked[:count])
        where[topic] = best_in_cells(loads, homes[topic], asked[:count])
        highest, holds = add_checked(loads, where[topic], sizes[topic], highest)
        violations += int(not holds)
    return where, violations
