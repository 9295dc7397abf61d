"""A whole number modulo the number of slices: the papers' own example (DPSLB thesis, figure 13).

The cheapest assignment, and even when the numbers are (device numbers, counters). Numbers with a
common factor with the slice count leave slices empty; ``hash`` does not mind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenflow.model.batch import Int32s
from evenflow.slices.assignment.base import (
    FieldColumns,
    Fields,
    assign_rows,
    clean_numbers,
    field_name,
    field_of,
    is_integer,
    refusal,
)


@dataclass(frozen=True, slots=True)
class ModuloAssignment:
    """``modulo:FIELD``."""

    field: str

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item."""
        value = field_of(fields, self.field)
        if not is_integer(value):
            raise refusal(
                fields,
                f"field {self.field!r} is {value!r}, not a whole number;"
                f" mend the item, or use 'hash:{self.field}', which takes strings too",
            )
        return int(value) % slice_count

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        values = clean_numbers(columns.get(self.field))
        if values is None or values.dtype.kind == "f":
            return assign_rows(self, columns, slice_count)
        wide = np.uint64 if values.dtype.kind == "u" else np.int64
        return (values.astype(wide) % wide(slice_count)).astype(np.int32)


def parse_modulo(argument: str) -> ModuloAssignment:
    """Make the assignment that ``modulo:argument`` stands for."""
    return ModuloAssignment(field_name(argument, "modulo:FIELD"))
