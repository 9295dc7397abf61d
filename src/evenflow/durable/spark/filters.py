"""Filters that Spark pushes down, as a selection of items.

Of what a query's ``where`` asks, comparisons of `slice`, `sender` and `time` with constants make
that less is read. Spark applies all of it once more to what comes: a selection may be wider than
the filters, and never narrower.
"""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from evenflow.durable.selection import ALL, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable


def selection_of(filters: Iterable[Filter]) -> Selection:
    """Return what filters, all of them together, leave."""
    return reduce(Selection.narrowed, map(_one, filters), ALL)


def _one(given: Filter) -> Selection:
    column = ".".join(getattr(given, "attribute", ()))
    values = _values(given)
    if column == "slice" and all(type(value) is int for value in values):
        return Selection(slices=frozenset(values) if values else None)
    if column == "sender" and all(isinstance(value, str) for value in values):
        return Selection(senders=frozenset(values) if values else None)
    return _span(given) if column == "time" else ALL


def _values(given: Filter) -> list[Any]:
    """Return the values that a column may have; empty: others, too."""
    if isinstance(given, In):
        return list(given.value)
    if isinstance(given, EqualTo | EqualNullSafe) and given.value is not None:
        return [given.value]
    return []


def _span(given: Filter) -> Selection:
    value = getattr(given, "value", None)
    if not isinstance(value, datetime):
        return ALL
    # A time without a zone is in the zone of the session, which is that of this process.
    moment = round(value.timestamp() * 1_000_000)
    oldest = isinstance(given, EqualTo | EqualNullSafe | GreaterThan | GreaterThanOrEqual)
    newest = isinstance(given, EqualTo | EqualNullSafe | LessThan | LessThanOrEqual)
    return Selection(oldest=moment if oldest else None, newest=moment if newest else None)
