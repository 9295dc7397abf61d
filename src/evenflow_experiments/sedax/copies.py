"""Table II read with one copy more than the text says: what its levels 2 and 3 seem to be.

The paper's correlations of cell size and load fit our loads of level 1, and of no reading of levels
2 and 3 as section IV defines them. They fit, all ten of them, when every topic lies on three nodes
instead of two: level 2 is then the load of the three closest nodes, and level 3 that load with the
worst single failure of one of the three, for which the fourth closest node steps in. Table I itself
has two copies (means of 200 %), so this is a slip of Table II alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats, Ints, Plane

COPIES = 3
"""Copies of a topic in this reading."""


def loads_with_one_copy_more(
    plane: Plane, homes: Floats, sizes: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the node loads of levels 1 to 3 when topics lie on three nodes, not delegated.

    Args:
        plane: The nodes; at least four.
        homes: Coordinate of each topic.
        sizes: Load of each topic.
    """
    closest = plane.closest(homes, COPIES + 1)
    count = len(plane.nodes)
    own = _sums(closest[:, 0], sizes, count)
    stored = _sums(closest[:, :COPIES].ravel(), np.repeat(sizes, COPIES), count)
    after = np.zeros((count, count))
    for failed in range(COPIES):
        np.add.at(after, (closest[:, COPIES], closest[:, failed]), sizes)
    return own, stored, stored + after.max(axis=1)


def _sums(nodes: Ints, sizes: Floats, count: int) -> Floats:
    return np.bincount(nodes, weights=sizes, minlength=count).astype(np.float64)
