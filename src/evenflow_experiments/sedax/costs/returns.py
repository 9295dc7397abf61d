"""What the paper's rule for a returning primary would save: who holds the interim data (III-C).

While a primary is away, its secondary and the third-closest node keep what comes. In the paper the
secondary becomes delegate for that time when the primary returns, so that nothing is copied back.
But a delegate has a secondary, too: the node closest to it. Only where that is the third node,
which has the interim data already, is nothing copied. This counts how often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenflow.overlay.space.plane import Plane

TOPICS = 1000


def holders(nodes: int, runs: int) -> dict[str, Any]:
    """Return in which part of the topics the delegate's secondary is which node.

    Args:
        nodes: Nodes of an overlay.
        runs: Random overlays, of which each has a thousand topics.
    """
    third = primary = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        plane = Plane(rng.random((nodes, 2)))
        closest = plane.closest(rng.random((TOPICS, 2)), 3)
        beside = plane.closest(plane.nodes, 2)[:, 1][closest[:, 1]]
        third += int((beside == closest[:, 2]).sum())
        primary += int((beside == closest[:, 0]).sum())
    total = runs * TOPICS
    return {
        "nodes": nodes,
        "nothing_copied": round(third / total, 3),
        "copied_to_primary": round(primary / total, 3),
        "copied_to_another": round(1 - (third + primary) / total, 3),
    }
