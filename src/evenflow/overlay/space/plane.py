"""The unit square with nodes in it: their cells and their neighbours (section I-A).

A coordinate belongs to the node closest to it, so the square falls into the nodes' Voronoi cells.
Nodes whose cells touch are linked; these links are the Delaunay triangulation, and on it greedy
forwarding ends at the closest node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenflow.errors import OverlayError
from evenflow.extras import explained

try:
    from scipy.spatial import Delaunay, KDTree, QhullError, Voronoi
except ModuleNotFoundError as error:
    raise explained(error) from None

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Plane:
    """The unit square with nodes in it, numbered in order.

    Args:
        nodes: Their coordinates, one row each, all different and inside the square.
    """

    def __init__(self, nodes: Floats) -> None:
        if nodes.ndim != 2 or nodes.shape[1] != 2 or not len(nodes):
            raise OverlayError(f"nodes are rows of two coordinates, not shape {nodes.shape}")
        if not np.all((nodes > 0) & (nodes < 1)):
            raise OverlayError("every node lies inside the unit square, off its edge")
        if len(np.unique(nodes, axis=0)) != len(nodes):
            raise OverlayError("two nodes share a coordinate: give every node its own")
        self.nodes = nodes
        self._tree = KDTree(nodes)

    def closest(self, coordinates: Floats, count: int) -> Ints:
        """Return the ``count`` closest nodes of each coordinate, closest first, a row each."""
        if count > len(self.nodes):
            raise OverlayError(f"{count} closest of {len(self.nodes)} nodes: use more nodes")
        _, found = self._tree.query(coordinates, k=range(1, count + 1))
        return np.asarray(found, dtype=np.int64)

    def neighbours(self) -> list[Ints]:
        """Return the Delaunay neighbours of each node, in node order."""
        count = len(self.nodes)
        try:
            if count > 3:
                start, stop = Delaunay(self.nodes).vertex_neighbor_vertices
                return [
                    np.sort(stop[start[v] : start[v + 1]]).astype(np.int64) for v in range(count)
                ]
        except QhullError:
            # Nodes in one line have no triangulation. All links contain every one it could have.
            pass
        everyone = np.arange(count)
        return [everyone[everyone != v] for v in range(count)]

    def regions(self, hops: int) -> list[Ints]:
        """Return each node with all that are at most ``hops`` links away, in node order."""
        neighbours = self.neighbours()
        regions = []
        for node in range(len(self.nodes)):
            region = frontier = {node}
            for _ in range(hops):
                frontier = {int(w) for v in frontier for w in neighbours[v]} - region
                region = region | frontier
            regions.append(np.array(sorted(region), dtype=np.int64))
        return regions


class Cells:
    """The Voronoi cells of a plane's nodes, cut at the edge of the square, as fans of triangles."""

    def __init__(self, plane: Plane) -> None:
        nodes = plane.nodes
        # Mirror images across the four edges make every edge a cell boundary.
        mirrors = (
            nodes * (-1, 1),
            nodes * (1, -1),
            (2, 0) - nodes * (1, -1),
            (0, 2) - nodes * (-1, 1),
        )
        diagram = Voronoi(np.concatenate((nodes, *mirrors)))
        corners = [
            diagram.vertices[diagram.regions[region]]
            for region in diagram.point_region[: len(nodes)]
        ]
        self._corner = np.concatenate([np.repeat(c[:1], len(c) - 2, axis=0) for c in corners])
        self._first = np.concatenate([c[1:-1] - c[0] for c in corners])
        self._second = np.concatenate([c[2:] - c[0] for c in corners])
        twice = self._first[:, 0] * self._second[:, 1] - self._first[:, 1] * self._second[:, 0]
        self._upto = np.concatenate(([0.0], np.cumsum(np.abs(twice) / 2)))
        self._start = np.concatenate(([0], np.cumsum([len(c) - 2 for c in corners])))

    def areas(self) -> Floats:
        """Return the area of each node's cell; together they are 1."""
        areas: Floats = np.diff(self._upto[self._start])
        return areas

    def sample(self, per_cell: int, rng: np.random.Generator) -> Floats:
        """Return ``per_cell`` even random coordinates of each cell, cell by cell."""
        low = np.repeat(self._upto[self._start[:-1]], per_cell)
        drawn = low + rng.random(len(low)) * np.repeat(self.areas(), per_cell)
        triangle = np.searchsorted(self._upto, drawn, side="right") - 1
        triangle = np.clip(triangle, 0, len(self._first) - 1)
        along = rng.random((len(low), 2))
        outside = along.sum(axis=1) > 1  # the other half of the parallelogram: fold it back
        along[outside] = 1 - along[outside]
        points: Floats = (
            self._corner[triangle]
            + along[:, :1] * self._first[triangle]
            + along[:, 1:] * self._second[triangle]
        )
        return points
