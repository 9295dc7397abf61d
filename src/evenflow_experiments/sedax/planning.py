"""A plan for the whole overlay: how much load each spot should carry, and how even that can be.

Were topics divisible, balancing would be a linear program. Let ``x_s`` be the share of all load on
spot ``s`` and ``z`` the highest node load. At resilience level 3 a node's load is what it stores
plus its worst failure, so there is one inequality for each node and each failure that burdens it:

    minimise z   where   stored_v(x) + failure_vw(x) <= z   for all v, w     and    sum_s x_s = 1

The best ``z`` is a lower bound for every selection, whatever the topics are. The best ``x`` are
quotas: they depend on the nodes alone, so they are known before the first topic comes. About two
spots per node carry everything.

**Steering by the plan** is our own coordinate selection. It asks only for spots that are behind
their quota. Among those it must choose well, because topics are not divisible. The paper notes
(VII-C) that asking everywhere levels the nodes so finely that a large topic finds no gap. So a
topic goes to the fullest spot where it still fits under a ceiling a little above the even level:
small topics use up small gaps and leave the wide ones. When it fits nowhere it goes to the best
spot as the paper defines it.

When all topics are known in advance they are taken in descending size. Then nothing larger can
follow, no gap has to be kept, and each takes the best spot that is behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from evenflow.errors import OverlayError
from evenflow_experiments.sedax.compiled import compiled
from evenflow_experiments.sedax.kernel import add_checked, better, merit

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints
    from evenflow_experiments.sedax.kernel import LoadTable
    from evenflow_experiments.sedax.spots import SpotTable

NEGLIGIBLE = 1e-9
"""Share of the load below which a spot is not part of a plan."""

HEADROOM = 0.75
"""How far the ceiling lies above the even level, in loads of the largest topic so far.

With none, a large topic fits nowhere; with a whole one it lands a whole topic above the level.
"""


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
        limits = vstack((stored, stored[owner] + failures))
    # The type stubs of linprog know no sparse arrays.
    below: Any = hstack((spots.nodes * limits, csr_array(-np.ones((limits.shape[0], 1)))))
    whole: Any = csr_array(np.append(np.ones(count), 0.0)[None])
    goal = np.append(np.zeros(count), 1.0)
    none = np.zeros(limits.shape[0])
    solved = linprog(goal, below, none, whole, np.ones(1), method="highs-ipm")
    if not solved.success or solved.x is None or solved.fun is None:
        raise OverlayError(f"the plan was not found: {solved.message}")
    used = np.flatnonzero(solved.x[:-1] > NEGLIGIBLE)
    shares = solved.x[used]
    return Plan(float(solved.fun), used, shares / shares.sum())


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
