"""Slices as equal ranges of an attribute (DPSLB thesis, chapter 3).

The values from LOW to HIGH are cut into as many ranges of equal width as there are slices, in
order: with ten slices, ``range:celsius,-20,80`` puts -20 to below -10 into slice 0 and 70 to 80
into slice 9. So what is alike is processed together, and a reader of a few slices has the items
between two values. HIGH belongs to the last slice. A value beyond the bounds is refused: it is a
mistake in the data or in the bounds, and an outermost slice that took it would hide which.

Ranges follow the data: where values crowd, their slices are heavy. The balancer levels that as far
as whole slices allow; choose more slices than for ``hash``.

Single items and columns go through the same steps in double precision, so they cannot disagree at
a boundary; and as every step keeps the order, a larger value never gets a smaller slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

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

SPEC = "range:FIELD,LOW,HIGH"


@dataclass(frozen=True, slots=True)
class RangeAssignment:
    """``range:FIELD,LOW,HIGH``."""

    field: str
    low: float
    high: float

    def __post_init__(self) -> None:
        # The width must be a number too: that of -1e308 to 1e308 is not.
        if not (self.low < self.high and isfinite(self.high - self.low)):
            spec = f"range:{self.field},{self.low:g},{self.high:g}"
            raise ConfigError("assignment", spec, f"must be {SPEC!r} with LOW below HIGH")

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item."""
        value: Any = field_of(fields, self.field)
        number = _double(value)
        if not self.low <= number <= self.high:
            raise refusal(
                fields,
                f"field {self.field!r} is {value!r}, not a number from {self.low:g} to"
                f" {self.high:g}; mend the item, or widen the bounds of the topic's assignment",
            )
        part = (number - self.low) / (self.high - self.low)
        return min(int(part * slice_count), slice_count - 1)

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        column = clean_numbers(columns.get(self.field))
        if column is None:
            return assign_rows(self, columns, slice_count)
        values = column.astype(np.float64)
        if not ((values >= self.low) & (values <= self.high)).all():
            return assign_rows(self, columns, slice_count)
        part = (values - self.low) / (self.high - self.low)
        return np.minimum((part * slice_count).astype(np.int32), np.int32(slice_count - 1))


def _double(value: Any) -> float:
    """A number in double precision, as columns are; what is none is not a number."""
    if not (is_integer(value) or isinstance(value, float | np.floating)):
        return nan
    try:
        return float(value)
    except OverflowError:
        return nan


def parse_range(argument: str) -> RangeAssignment:
    """Make the assignment that ``range:argument`` stands for."""
    field, *bounds = (part.strip() for part in argument.split(","))
    try:
        low, high = map(float, bounds)
    except ValueError:
        low = high = 0.0
    if not field or not low < high:
        raise ConfigError(
            "assignment", f"range:{argument}", f"must be {SPEC!r} with numbers, LOW below HIGH"
        )
    return RangeAssignment(field, low, high)
