"""A region on the map: a polygon of latitudes and longitudes.

What counts as inside is decided so:

- Edges are straight lines on the map of latitude and longitude (not great circles).
- Corners and points on an edge are inside.
- An edge goes the short way around the earth: from longitude 179 to -179 it is 2 degrees long and
  crosses the date line. So a region may lie over the date line without further words; one that
  shall span more than half of the earth has corners in between. An edge of exactly 180 degrees
  could go either way and is refused, and so is a region that goes around a pole.
- Longitude 180 and -180 are the same place.
- Where a polygon crosses itself, what lies within an even number of its loops is outside.

Many points are looked at together (NumPy): those that moved, not all there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

MOST_CORNERS: Final = 10_000
_TURN: Final = 360.0


class Region:
    """A polygon.

    Args:
        corners: Latitude and longitude of each, in order; the last is joined with the first.

    Raises:
        ValueError: They bound no region; says why.
    """

    __slots__ = ("_latitudes", "_longitudes", "_shifts", "east", "north", "south", "west")

    def __init__(self, corners: Sequence[tuple[float, float]]) -> None:
        distinct = [
            one for place, one in enumerate(corners) if place == 0 or one != corners[place - 1]
        ]
        if len(distinct) > 1 and distinct[0] == distinct[-1]:
            del distinct[-1]
        if not 3 <= len(distinct) <= MOST_CORNERS:
            raise ValueError(f"needs 3 to {MOST_CORNERS} different corners")
        latitudes = np.array([latitude for latitude, _ in distinct], dtype=float)
        longitudes = _unrolled([longitude for _, longitude in distinct])
        if not _area(latitudes, longitudes):
            raise ValueError("its corners lie on one line")
        self._latitudes = np.append(latitudes, latitudes[0])
        self._longitudes = np.append(longitudes, longitudes[0])
        self.south, self.north = float(latitudes.min()), float(latitudes.max())
        self.west, self.east = float(longitudes.min()), float(longitudes.max())
        # A point's longitude may have to be turned around the earth to meet ours.
        self._shifts = [
            turns * _TURN
            for turns in range(-3, 4)
            if self.west <= 180.0 + turns * _TURN and -180.0 + turns * _TURN <= self.east
        ]

    def contains(self, latitude: float, longitude: float) -> bool:
        """Whether a place is inside."""
        return bool(self.inside([latitude], [longitude])[0])

    def inside(self, latitudes: ArrayLike, longitudes: ArrayLike) -> NDArray[np.bool_]:
        """Which of many places are inside."""
        north_south = np.asarray(latitudes, dtype=float)
        east_west = np.asarray(longitudes, dtype=float)
        found = np.zeros(len(north_south), dtype=bool)
        within = (self.south <= north_south) & (north_south <= self.north)
        for shift in self._shifts:
            turned = east_west + shift
            near = np.flatnonzero(within & (self.west <= turned) & (turned <= self.east) & ~found)
            if len(near):
                found[near] = self._cross(north_south[near], turned[near])
        return found

    def _cross(self, y: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Count how many edges lie east of each point; on an edge is inside."""
        odd = np.zeros(len(y), dtype=bool)
        on_edge = np.zeros(len(y), dtype=bool)
        ys, xs = self._latitudes, self._longitudes
        for y1, x1, y2, x2 in zip(ys, xs, ys[1:], xs[1:], strict=False):
            side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
            on_edge |= (
                (side == 0)
                & (np.minimum(y1, y2) <= y) & (y <= np.maximum(y1, y2))
                & (np.minimum(x1, x2) <= x) & (x <= np.maximum(x1, x2))
            )  # fmt: skip
            # Upwards the point is west of the edge when it is on its left, downwards on its right.
            odd ^= ((y1 > y) != (y2 > y)) & ((side > 0) == (y2 > y1))
        return odd | on_edge


def _unrolled(longitudes: list[float]) -> NDArray[np.float64]:
    """Longitudes without jumps: each edge goes the short way."""
    unrolled = [longitudes[0]]
    for longitude in [*longitudes[1:], longitudes[0]]:
        step = (longitude - unrolled[-1] + 180.0) % _TURN - 180.0
        if step == -180.0:
            raise ValueError(
                "has an edge of 180 degrees of longitude, which could go either way around the"
                " earth: put a corner in between"
            )
        unrolled.append(unrolled[-1] + step)
    if abs(unrolled.pop() - longitudes[0]) > 180.0:
        raise ValueError("goes around a pole: cut it in two regions that do not")
    return np.array(unrolled)


def _area(y: NDArray[np.float64], x: NDArray[np.float64]) -> bool:
    """Whether the corners do not all lie on one line."""
    y, x = y - y[0], x - x[0]
    far = int(np.argmax(np.hypot(x, y)))
    return bool(np.any(np.abs(x * y[far] - y * x[far]) > 1e-12))
