"""A plan for the whole overlay: how much load each spot should carry, and how even that can be.

The plan is the linear program of `evenflow.overlay.balancing.quotas`, at any level.

**Steering by the plan** is our own coordinate selection (live: `planned_places` beside it). It asks
only for spots that are behind their quota. Among those it must choose well, because topics are not
divisible. The paper notes (VII-C) that asking everywhere levels the nodes so finely that a large
topic finds no gap. So a topic goes to the fullest spot where it still fits under a ceiling a little
above the even level: small topics use up small gaps and leave the wide ones. When it fits nowhere
it goes to the best spot as the paper defines it.

When all topics are known in advance they are taken in descending size. Then nothing larger can
follow, no gap has to be kept, and each takes the best spot that is behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from evenflow.overlay.balancing.quotas import HEADROOM, most_even
from evenflow_experiments.sedax.compiled import compiled
from evenflow_experiments.sedax.kernel import add_checked, better, merit

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.kernel import LoadTable
    from evenflow_experiments.sedax.spots import SpotTable


@dataclass(frozen=True, slots=True)
class Plan:
    """The best division of the load."""

    bound: float
    """Highest node load that no placement can beat, in units of the mean topic load of a node."""
    spots: Ints
    """Spots that carry load."""
    shares: Floats
    """Share of all load on each of them; together 1."""


def plan(spots: SpotTable, level: int, *, usable: int | None = None) -> Plan:
    """Solve the linear program over the first ``usable`` spots, all candidates unless told."""
    count = spots.candidates if usable is None else usable
    stored = _incidence(spots.first[:count], spots.nodes)
    if level > 1:
        stored = stored + _incidence(spots.second[:count], spots.nodes)
    limits = stored
    if level > 2:
        owner = np.repeat(np.arange(spots.nodes), np.diff(spots.row_start))
        rows = int(spots.row_start[-1])
        failures = _incidence(spots.first_fails[:count], rows)
        failures = failures + _incidence(spots.second_fails[:count], rows)
        limits = vstack((stored, stored[owner] + failures), format="csr")
    bound, shares = most_even(limits)
    used = np.flatnonzero(shares)
    return Plan(spots.nodes * bound, used, shares[used])


def _incidence(row_of_spot: Ints, rows: int) -> csr_array:
    count = len(row_of_spot)
    return csr_array((np.ones(count), (row_of_spot, np.arange(count))), shape=(rows, count))


def add_by_plan(
    loads: LoadTable, sizes: Floats, target: Plan, *, leave_gaps: bool
) -> tuple[Ints, int]:
    """Add topics one by one, steered by a plan.

    Returns:
        The spot of each topic, and how often equation 11 was violated.
    """
    return _add_by_plan(loads, sizes, target.spots, target.shares, target.bound * leave_gaps)


@compiled
def _add_by_plan(
    loads: LoadTable, sizes: Floats, spots: Ints, shares: Floats, bound: float
) -> tuple[Ints, int]:
    where = np.empty(len(sizes), np.int64)
    placed = np.zeros(len(spots))
    total, largest, violations, highest = 0.0, 0.0, 0, 0.0
    for topic in range(len(sizes)):
        size = sizes[topic]
        total += size
        largest = max(largest, size)
        # Without a bound the ceiling is below every load, so that nothing fits under it.
        ceiling = bound * total / len(loads.worst) + HEADROOM * largest if bound else -1.0
        chosen = _steer(loads, spots, placed - shares * total, ceiling - size)
        where[topic] = spots[chosen]
        placed[chosen] += size
        highest, holds = add_checked(loads, spots[chosen], size, highest)
        violations += int(not holds)
    return where, violations


@compiled
def _steer(loads: LoadTable, spots: Ints, ahead: Floats, ceiling: float) -> int:
    """Return the fullest spot behind its quota that is not above a ceiling, else the best one."""
    chosen, chosen_fits, chosen_merit = -1, False, (np.inf, np.inf, np.inf)
    for number in range(len(spots)):
        if ahead[number] >= 0.0:
            continue
        found = merit(loads, spots[number])
        fits = found[0] <= ceiling
        if fits == chosen_fits:
            preferred = found[0] > chosen_merit[0] if fits else better(found, chosen_merit)
        else:
            preferred = fits
        if chosen < 0 or preferred:
            chosen, chosen_fits, chosen_merit = number, fits, found
    return chosen
