"""By geographic position: the cell of an equal-area grid.

The grid is cut in Lambert's cylindrical equal-area projection: rows of equal height in the sine
of the latitude, columns of equal width in the longitude. So all cells have the same area (1
km**2 unless told otherwise); they are squares at the equator and grow taller and narrower
towards the poles.

Items of one cell share a slice, so what is near stays together; but a city is many cells, and
neighbouring cells get slices far apart, so that no single slice holds the city. The cell in row
r and column c gets the fraction ``frac(r * A + c * B)`` of the slice numbers, where A and B
come from the plastic number (1/p and 1/p**2, p**3 = p + 1): the additive sequence that fills
two dimensions most evenly, so any block of cells spreads over the slices with hardly a
repetition. It is computed in 64-bit whole numbers, the same everywhere. The rows are found by
comparing with a table of latitudes and not by a sine of each item, so that single items and
columns can never disagree at a boundary.
"""

from __future__ import annotations

from bisect import bisect_right
from math import asin, degrees, isfinite, pi
from typing import Any, Final

import numpy as np

from evenflow.errors import ConfigError
from evenflow.model.batch import Int32s
from evenflow.slices.assignment.base import (
    FieldColumns,
    Fields,
    assign_rows,
    clean_numbers,
    field_of,
    is_integer,
    refusal,
)

EARTH_RADIUS_KM: Final = 6371.0
LEAST_CELL_KM: Final = 0.05

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_ROW: Final = 0xC13F_A9A9_02A6_328F
"""1/p as a fraction of 2**64."""
_COLUMN: Final = 0x91E1_0DA5_C79E_7B1C
"""1/p**2 as a fraction of 2**64."""


class GeoAssignment:
    """``geo:LAT,LON``.

    Args:
        latitude: Field with the latitude in degrees, -90 to 90.
        longitude: Field with the longitude in degrees, -180 to 180.
        cell_km: Side of a cell at the equator.
    """

    __slots__ = ("_bounds", "_bounds_list", "_columns", "latitude", "longitude")

    def __init__(self, latitude: str, longitude: str, cell_km: float = 1.0) -> None:
        if not cell_km >= LEAST_CELL_KM or cell_km > EARTH_RADIUS_KM:
            allowed = f"must be from {LEAST_CELL_KM} to {EARTH_RADIUS_KM:g} km"
            raise ConfigError("cell_km", cell_km, allowed)
        self.latitude = latitude
        self.longitude = longitude
        rows = round(2 * EARTH_RADIUS_KM / cell_km)
        self._columns = round(2 * pi * EARTH_RADIUS_KM / cell_km)
        self._bounds_list = [degrees(asin(2 * row / rows - 1)) for row in range(1, rows)]
        self._bounds = np.array(self._bounds_list)

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item."""
        latitude = _degrees(fields, self.latitude, 90)
        longitude = _degrees(fields, self.longitude, 180)
        row = bisect_right(self._bounds_list, latitude)
        column = int((longitude + 180.0) / 360.0 * self._columns) % self._columns
        place = (row * _ROW + column * _COLUMN) & _MASK
        return (place >> 32) * slice_count >> 32

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        latitudes = clean_numbers(columns.get(self.latitude))
        longitudes = clean_numbers(columns.get(self.longitude))
        if latitudes is None or longitudes is None:
            return assign_rows(self, columns, slice_count)
        latitudes, longitudes = latitudes.astype(np.float64), longitudes.astype(np.float64)
        good = (np.abs(latitudes) <= 90.0) & (np.abs(longitudes) <= 180.0)
        if not good.all():
            return assign_rows(self, columns, slice_count)
        row = np.searchsorted(self._bounds, latitudes, side="right").astype(np.uint64)
        column = ((longitudes + 180.0) / 360.0 * self._columns).astype(np.uint64)
        column %= np.uint64(self._columns)
        place = row * np.uint64(_ROW) + column * np.uint64(_COLUMN)
        return ((place >> np.uint64(32)) * np.uint64(slice_count) >> np.uint64(32)).astype(np.int32)


def _degrees(fields: Fields, name: str, limit: int) -> float:
    value: Any = field_of(fields, name)
    number = is_integer(value) or isinstance(value, float | np.floating)
    if not number or not isfinite(value) or not -limit <= value <= limit:
        raise refusal(
            fields,
            f"field {name!r} is {value!r}, not a number of degrees from -{limit} to {limit};"
            " mend the item",
        )
    return float(value)


def parse_geo(argument: str) -> GeoAssignment:
    """Make the assignment that ``geo:argument`` stands for."""
    latitude, _, longitude = (part.strip() for part in argument.partition(","))
    if not latitude or not longitude or "," in longitude:
        raise ConfigError("assignment", f"geo:{argument}", "must be 'geo:LATFIELD,LONFIELD'")
    return GeoAssignment(latitude, longitude)
