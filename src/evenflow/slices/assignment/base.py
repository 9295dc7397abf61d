"""What every assignment offers, and what they share.

Each assignment has an item form and a column form, and both must agree. The column form is the
fast path: it takes clean columns (one of the expected types, no nulls) without touching single
items. For any other column it falls back to :func:`assign_rows`, the item form row by row:
slower, and exact about which item is at fault and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from evenflow.errors import AssignmentError, ConfigError
from evenflow.model.batch import Int32s

Fields = Mapping[str, Any]
"""The fields of one item by name; None counts as missing."""
FieldColumns = Mapping[str, Any]
"""The fields of many items by name: NumPy arrays, Arrow arrays or sequences of equal length."""


@runtime_checkable
class Assignment(Protocol):
    """Gives items their slices; the same instance may be asked by several threads."""

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item, or raise `AssignmentError`."""
        ...

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items, or raise `AssignmentError` for the first without one."""
        ...


def refusal(fields: Fields, reason: str) -> AssignmentError:
    """Return the error for an item that gets no slice."""
    return AssignmentError(reason, sender=fields.get("sender", ""), id=fields.get("id", ""))


def field_of(fields: Fields, name: str) -> Any:
    """Return a field's value; refuse the item when it has none."""
    value = fields.get(name)
    if value is None:
        has = ", ".join(key for key, one in fields.items() if one is not None)
        raise refusal(
            fields,
            f"it has no field {name!r} (it has: {has}); publish a mapping with that key,"
            " or choose another assignment for the topic",
        )
    return value


def is_integer(value: object) -> bool:
    """Whether a value is a whole number; truth values are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def row_count(columns: FieldColumns) -> int:
    """How many items the columns describe."""
    return len(next(iter(columns.values()))) if columns else 0


def row_of(columns: FieldColumns, row: int) -> dict[str, Any]:
    """Return the fields of one item as Python values."""
    return {name: _plain(column[row]) for name, column in columns.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "as_py"):  # a scalar of Arrow
        return value.as_py()
    return value.item() if isinstance(value, np.generic) else value


def assign_rows(assignment: Assignment, columns: FieldColumns, slice_count: int) -> Int32s:
    """Give the items of columns their slices one by one."""
    rows = range(row_count(columns))
    return np.fromiter(
        (assignment.assign(row_of(columns, row), slice_count) for row in rows), np.int32, len(rows)
    )


def clean_numbers(column: Any) -> npt.NDArray[Any] | None:
    """Return a column of numbers as a NumPy array; None when it has nulls or anything else."""
    if not isinstance(column, np.ndarray):
        column = _clean_arrow(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.ndim == 1:
        return column
    return None


def _clean_arrow(column: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and needed for its columns alone

    if isinstance(column, pa.Array | pa.ChunkedArray):
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not number or column.null_count:
            return None
        return column.to_numpy()
    return column


def field_name(argument: str, spec: str) -> str:
    """Return the field that a spec names; refuse a spec without one."""
    name = argument.strip()
    if not name:
        raise ConfigError("assignment", f"{spec.partition(':')[0]}:{argument}", f"must be {spec!r}")
    return name
