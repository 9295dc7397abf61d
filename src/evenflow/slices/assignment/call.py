"""The user's own function.

It is called with the fields of one item and the number of slices, and returns a slice or None.
For columns it is called item by item; a function that can do better is offered as an object
with the two methods of :class:`~evenflow.slices.assignment.base.Assignment`. Whatever it does
wrong (an exception, None, no whole number, a slice that does not exist) refuses that item and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from evenflow.errors import ConfigError
from evenflow.model.batch import Int32s
from evenflow.slices.assignment.base import FieldColumns, Fields, assign_rows, is_integer, refusal


class CallAssignment:
    """``call:MODULE:NAME``, or a callable given in Python.

    Args:
        function: Takes the fields of an item and the slice count, returns a slice or None.
        name: What it is called in an error.
    """

    __slots__ = ("function", "name")

    def __init__(self, function: Callable[[Fields, int], int | None], name: str = "") -> None:
        self.function = function
        self.name = name or getattr(function, "__qualname__", repr(function))

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item."""
        try:
            found: Any = self.function(fields, slice_count)
        except Exception as error:
            raise refusal(
                fields, f"{self.name} raised {type(error).__name__}: {error}; mend it"
            ) from error
        if not is_integer(found) or not 0 <= found < slice_count:
            raise refusal(
                fields,
                f"{self.name} returned {found!r}; it must return a whole number"
                f" from 0 to {slice_count - 1}",
            )
        return int(found)

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        return assign_rows(self, columns, slice_count)


def parse_call(argument: str) -> CallAssignment:
    """Import the function that ``call:MODULE:NAME`` names."""
    spec = f"call:{argument}"
    module, _, name = argument.partition(":")
    if not module or not name:
        raise ConfigError("assignment", spec, "must be 'call:MODULE:NAME'")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        reason = f"cannot be imported ({error}); name a function that Python can import from here"
        raise ConfigError("assignment", spec, reason) from error
    if not callable(found):
        raise ConfigError("assignment", spec, f"{name} is not callable: name a function")
    return CallAssignment(found, argument)
