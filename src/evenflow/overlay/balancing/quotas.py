"""Quotas: which part of all load each spot should carry, so that loads are as even as they can be.

Were topics divisible, balancing would be a linear program. Let ``x_s`` be the share of all load on
spot ``s`` and ``z`` the highest node load. At resilience level 3 a node's load is what it stores
plus its worst failure, so there is one inequality for each node and each failure that burdens it::

    minimise z   where   stored_v(x) + failure_vw(x) <= z   for all v, w     and    sum_s x_s = 1

The best ``z`` is a lower bound for every placement, whatever the topics are. The best ``x`` are
quotas: they depend on the nodes alone, so they are known before the first topic comes. About two
spots per node carry everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.errors import OverlayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from evenflow.overlay.space.plane import Floats

NEGLIGIBLE = 1e-9
"""Share of the load below which a spot has no quota."""
HEADROOM = 0.75
"""How far the ceiling lies above the even level, in loads of a large topic.

With none, a large topic fits nowhere; with a whole one it lands a whole topic above the level.
"""


@dataclass(frozen=True, slots=True)
class Quotas:
    """The best division of the load over spots."""

    bound: float
    """Highest node load that no placement can beat, when all load is 1."""
    shares: dict[tuple[str, ...], float]
    """Share of all load of every spot that carries some; together 1."""


def quotas(spots: Sequence[tuple[str, ...]]) -> Quotas:
    """Return the quotas of some spots, all of topics of one level."""
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415 - slow to import, seldom needed

    def incidence(rows: dict[Any, int], burdens: list[tuple[Any, int]]) -> csr_array:
        places = ([rows[key] for key, _ in burdens], [place for _, place in burdens])
        return csr_array((np.ones(len(burdens)), places), shape=(len(rows), len(spots)))

    numbered = list(enumerate(spots))
    nodes = {name: row for row, name in enumerate(sorted({n for spot in spots for n in spot}))}
    kept = [(name, place) for place, spot in numbered for name in spot[:2]]
    stored = incidence(nodes, kept)
    after = [
        ((third, failed), place)
        for place, spot in numbered
        for third in spot[2:]
        for failed in spot[:2]
    ]
    if after:
        failures = {key: row for row, key in enumerate(sorted({key for key, _ in after}))}
        owners = [nodes[third] for third, _ in failures]
        limits = vstack((stored, stored[owners] + incidence(failures, after)), format="csr")
    else:
        limits = stored
    bound, shares = most_even(limits)
    return Quotas(
        bound, {spot: share for spot, share in zip(spots, shares.tolist(), strict=True) if share}
    )


def most_even(limits: csr_array) -> tuple[float, Floats]:
    """Return the least highest row of ``limits @ x``, and the shares ``x`` that reach it."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, seldom needed
    from scipy.sparse import csr_array, hstack  # noqa: PLC0415

    rows, count = limits.shape
    # The type stubs of linprog know no sparse arrays.
    below: Any = hstack((limits, csr_array(-np.ones((rows, 1)))))
    whole: Any = csr_array(np.append(np.ones(count), 0.0)[None])
    goal = np.append(np.zeros(count), 1.0)
    solved = linprog(goal, below, np.zeros(rows), whole, np.ones(1), method="highs-ipm")
    if not solved.success or solved.x is None or solved.fun is None:
        raise OverlayError(f"the plan was not found: {solved.message}")
    shares: Floats = np.where(solved.x[:-1] > NEGLIGIBLE, solved.x[:-1], 0.0)
    return float(solved.fun), shares / shares.sum()
