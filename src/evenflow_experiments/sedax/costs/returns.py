"""What the paper's rule for a returning primary would save: who holds the interim data (III-C).

While a primary is away, its secondary and the third-closest node keep what comes. In the paper the
secondary becomes delegate for that time when the primary returns, so that nothing is copied back.
But a delegate has a secondary, too. Only where that is the third node, which has the interim data
already, is nothing copied; where it is the returning primary, as much as when that catches up.

Which node it is depends on the delegate's coordinate, and the rule leaves that open. At the
secondary's own coordinate it is the node closest to the secondary. But any coordinate of the
secondary's cell will do, and one that is second-closest to the third node exists wherever the two
cells touch. This counts both, with the candidate coordinates of a cell that balancing has anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.overlay.space.plane import Cells, Plane
from evenflow_experiments.sedax.spots import CANDIDATES

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Ints

TOPICS = 1000


def holders(nodes: int, runs: int) -> dict[str, Any]:
    """Return in which part of the topics the delegate's secondary is which node.

    Args:
        nodes: Nodes of an overlay.
        runs: Random overlays, of which each has a thousand topics.

    Returns:
        ``nothing_copied``, ``copied_to_primary`` and ``copied_to_another`` at the secondary's own
        coordinate; and ``nothing_copied_chosen`` when the coordinate is chosen for it.
    """
    third = primary = chosen = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        plane = Plane(rng.random((nodes, 2)))
        closest = plane.closest(rng.random((TOPICS, 2)), 3)
        beside = plane.closest(plane.nodes, 2)[:, 1][closest[:, 1]]
        third += int((beside == closest[:, 2]).sum())
        primary += int((beside == closest[:, 0]).sum())
        chosen += int(_possible(plane, rng)[closest[:, 1], closest[:, 2]].sum())
    total = runs * TOPICS
    return {
        "nodes": nodes,
        "nothing_copied": round(third / total, 3),
        "copied_to_primary": round(primary / total, 3),
        "copied_to_another": round(1 - (third + primary) / total, 3),
        "nothing_copied_chosen": round(chosen / total, 3),
    }


def _possible(plane: Plane, rng: np.random.Generator) -> Ints:
    """Which node (columns) is second-closest to a candidate of which node's cell (rows)."""
    count = len(plane.nodes)
    beside = plane.closest(Cells(plane).sample(CANDIDATES, rng), 2)[:, 1].reshape(count, -1)
    found = np.zeros((count, count), np.int64)
    np.put_along_axis(found, beside, 1, axis=1)
    return found
