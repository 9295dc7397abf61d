"""Continuous balancing: a node is woken now and then and may move one of its topics (VI-B).

**The paper's rule** (algorithm 2) takes the node's smallest topic, counting those it would keep
only after a failure, and moves it when there is a better coordinate. It is cheap, but the smallest
topic of a node that grows too full is seldom what burdens it.

**Levelling**, our own rule, looks at all topics of the node and asks what each move is worth. What
is to fall is the *soft maximum* of the node loads, with every failure of a node counted by itself:

    S = (m / b) log sum_v sum_w exp(b (stored_v + failure_vw) / m)

``m`` is the mean load, ``b`` the sharpness. Each ``exp`` is the *pressure* of one failure on one
node. Take a topic of load ``x`` away and the sum is F; put it on a spot and the sum becomes
``F + (exp(b x / m) - 1) P``, where P adds the pressures of the spot's first and second node and of
the two failures its third node takes part in. So the best spot for every topic is the one with the
least P, one answer from each cell, and the worth of a move follows at once. The node makes the
move with the largest fall of S per load moved, if that is at least ``worth``.

**Foreseeing** is levelling with the loads that the topics will have at the end of a period, if they
keep the growth seen last. A move made early, while topics are small, costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenflow_experiments.sedax.compiled import compiled
from evenflow_experiments.sedax.kernel import best_in_cells, place

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.kernel import LoadTable


class Pressures(NamedTuple):
    """What the soft maximum is the logarithm of."""

    nodes: Floats
    """Sum over the failures of each node; the rise of the total when the node stores more."""
    rows: Floats
    """Each failure row; only level 3 has them."""


@compiled
def concerns(loads: LoadTable, spot: int, node: int) -> bool:
    """Say whether a node is among those a topic on a spot burdens at the level balanced."""
    spots = loads.spots
    if spots.first[spot] == node:
        return True
    if loads.level > 1 and spots.second[spot] == node:
        return True
    return bool(loads.level > 2 and spots.third[spot] == node)


@compiled
def move_smallest(loads: LoadTable, where: Ints, sizes: Floats, node: int) -> int:
    """Algorithm 2: move the node's smallest topic to the best coordinate anywhere.

    Returns:
        The topic that was moved, -1 when none was.
    """
    smallest = -1
    for topic in range(len(where)):
        if concerns(loads, where[topic], node) and (smallest < 0 or sizes[topic] < sizes[smallest]):
            smallest = topic
    if smallest < 0:
        return -1
    old = where[smallest]
    place(loads, old, -sizes[smallest])
    where[smallest] = best_in_cells(loads, old, np.arange(len(loads.worst)))
    place(loads, where[smallest], sizes[smallest])
    return smallest if where[smallest] != old else -1


@compiled
def _pressures(loads: LoadTable, steepness: float, top: float) -> Pressures:
    nodes, rows = np.zeros(len(loads.worst)), np.zeros(len(loads.rows))
    for node in range(len(nodes)):
        begin, end = loads.spots.row_start[node], loads.spots.row_start[node + 1]
        if loads.level < 3 or begin == end:
            nodes[node] = np.exp(steepness * (loads.worst[node] - top))
            continue
        for row in range(begin, end):
            rows[row] = np.exp(steepness * (loads.stored[node] + loads.rows[row] - top))
            nodes[node] += rows[row]
    return Pressures(nodes, rows)


@compiled
def _pressure_at(loads: LoadTable, pressures: Pressures, spot: int) -> float:
    spots = loads.spots
    pressure = pressures.nodes[spots.first[spot]]
    if loads.level > 1:
        pressure += pressures.nodes[spots.second[spot]]
    if loads.level > 2:
        pressure += pressures.rows[spots.first_fails[spot]]
        pressure += pressures.rows[spots.second_fails[spot]]
    return pressure  # type: ignore[no-any-return]


@compiled
def _least_pressed(loads: LoadTable, pressures: Pressures) -> int:
    best, least = -1, np.inf
    for spot in range(loads.spots.cell_start[-1]):
        pressure = _pressure_at(loads, pressures, spot)
        if pressure < least:
            best, least = spot, pressure
    return best


@compiled
def move_worthiest(
    loads: LoadTable, where: Ints, sizes: Floats, node: int, rule: tuple[Floats, float, float]
) -> int:
    """Levelling: make the node's most worthwhile move, if one is worth its load.

    Args:
        loads: Loads of all nodes under ``sizes``.
        where: Spot of each topic; changed by the move.
        sizes: Loads that are to be level: today's, or those foreseen.
        node: Node that was woken.
        rule: Load that a move of each topic costs (today's), sharpness and worth.

    Returns:
        The topic that was moved, -1 when none was.
    """
    costs, sharpness, worth = rule
    mean = sizes.sum() / len(loads.worst)
    steepness, top = sharpness / mean, loads.worst.max()
    moved, target, best = -1, -1, worth
    for topic in range(len(where)):
        old, size = where[topic], sizes[topic]
        if not concerns(loads, old, node):
            continue
        place(loads, old, -size)
        pressures = _pressures(loads, steepness, top)
        rest, rise = pressures.nodes.sum(), np.exp(steepness * size) - 1.0
        spot = _least_pressed(loads, pressures)
        before = rest + rise * _pressure_at(loads, pressures, old)
        after = rest + rise * _pressure_at(loads, pressures, spot)
        fall = np.log(before / after) / steepness / costs[topic]
        place(loads, old, size)
        if spot != old and fall >= best:
            moved, target, best = topic, spot, fall
    if moved >= 0:
        place(loads, where[moved], -sizes[moved])
        place(loads, target, sizes[moved])
        where[moved] = target
    return moved
