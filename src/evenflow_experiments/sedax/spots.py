"""The plane as tables: which spots there are, and which sums each of them touches.

Coordinates with the same three closest nodes are alike for every load (see `resilience`), so 200
candidate coordinates of a cell collapse into about a dozen *spots*, in the order in which they were
first drawn. Every spot knows its three nodes and its two *failure rows*: the sums that stand for
"its third node when its first fails" and "... when its second fails". Rows of one third node lie
side by side, so the worst failure of a node is the maximum of one slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.space.plane import Floats, Ints, Plane

CANDIDATES = 200
"""Random coordinates drawn in every cell, as in the paper (section V-E)."""


class SpotTable(NamedTuple):
    """All spots of a plane. The candidates come first, cell by cell; then those only topics use."""

    first: Ints
    """N_1 of each spot."""
    second: Ints
    """N_2 of each spot."""
    third: Ints
    """N_3 of each spot."""
    first_fails: Ints
    """Row of the failure of the first node."""
    second_fails: Ints
    """Row of the failure of the second node."""
    cell_start: Ints
    """The candidate spots of node v are those from cell_start[v] up to cell_start[v + 1]."""
    row_start: Ints
    """The failure rows of node v are those from row_start[v] up to row_start[v + 1]."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.cell_start) - 1

    @property
    def candidates(self) -> int:
        """How many spots a selection may choose from."""
        return int(self.cell_start[-1])


class RegionTable(NamedTuple):
    """For each node the nodes that answer a query sent to it: members[start[v]:stop[v]]."""

    start: Ints
    stop: Ints
    members: Ints


def spot_table(
    plane: Plane, candidates: Floats, others: Sequence[Floats]
) -> tuple[SpotTable, list[Ints]]:
    """Build the table from candidate coordinates, and find the spots of other coordinates.

    Args:
        plane: The nodes.
        candidates: Coordinates that a selection may choose.
        others: Coordinates whose spots are needed besides: topics' homes, queries.

    Returns:
        The table, and for each array in ``others`` the spot of each coordinate.
    """
    count = len(plane.nodes)
    drawn = _keys(plane.closest(candidates, 3), count)
    _, seen_first = np.unique(drawn, return_index=True)
    chosen = drawn[np.sort(seen_first)]
    chosen = chosen[np.argsort(chosen // count**2, kind="stable")]
    asked = [_keys(plane.closest(coordinates, 3), count) for coordinates in others]
    more = np.unique(np.concatenate((*asked, chosen[:0])))
    keys = np.concatenate((chosen, np.setdiff1d(more, chosen, assume_unique=True)))

    first, second, third = keys // count**2, keys // count % count, keys % count
    rows = np.concatenate((third * count + first, third * count + second))
    row_keys, row = np.unique(rows, return_inverse=True)
    table = SpotTable(
        first,
        second,
        third,
        first_fails=row[: len(keys)].copy(),
        second_fails=row[len(keys) :].copy(),
        cell_start=np.searchsorted(first[: len(chosen)], np.arange(count + 1)),
        row_start=np.searchsorted(row_keys // count, np.arange(count + 1)),
    )
    order = np.argsort(keys)
    return table, [order[np.searchsorted(keys, wanted, sorter=order)] for wanted in asked]


def _keys(closest: Ints, count: int) -> Ints:
    keys: Ints = (closest[:, 0] * count + closest[:, 1]) * count + closest[:, 2]
    return keys


def own_regions(count: int) -> RegionTable:
    """Every node answers for its own cell."""
    nodes = np.arange(count)
    return RegionTable(nodes, nodes + 1, nodes)


def whole_regions(count: int) -> RegionTable:
    """Every node answers for the whole overlay."""
    return RegionTable(np.zeros(count, np.int64), np.full(count, count), np.arange(count))


def near_regions(plane: Plane, hops: int) -> RegionTable:
    """Every node answers for the cells within some hops of it."""
    regions = plane.regions(hops)
    stop = np.cumsum([len(region) for region in regions])
    start = np.concatenate(([0], stop[:-1]))
    return RegionTable(start, stop, np.concatenate(regions))
