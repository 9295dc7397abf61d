"""The columns of the source, those decoded from payloads, and filters on them.

Every row has ``slice, sender, id, time, payload``, and ``headers`` if the query wants them. When
the query or its topic names fields, each of them becomes a column behind these
(:mod:`evenflow.spark.encodings`); what a payload does not have is null.

Of what a query's ``where`` asks, comparisons of `slice`, `sender` and `time` with constants make
that less is read (:func:`selection_of`). Spark applies all of it once more to what comes: a
selection may be wider than the filters, and never narrower.
"""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
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

from evenflow.model.selection import ALL, Selection
from evenflow.slices.consumer.header_column import with_headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.spark.encodings import Decoder

BASE: Final = (
    "slice INT NOT NULL, sender STRING NOT NULL, id BIGINT NOT NULL, time TIMESTAMP NOT NULL, "
    "payload BINARY NOT NULL"
)
"""The columns of every row as DDL, like SCHEMA of :mod:`evenflow.slices.consumer.arrow_batches`."""
BASE_COLUMNS: Final = len(BASE.split(","))


TOPIC: Final = "topic STRING NOT NULL"
"""Before the others, in a query of several topics."""


HEADERS: Final = "headers MAP<STRING, BINARY> NOT NULL"
"""Behind them, if the query wants it; empty for an item without."""


def schema_of(fields: str, *, names_topics: bool = False, headers: bool = False) -> str:
    """The schema of a query that asks for these fields, as DDL."""
    parts = (TOPIC if names_topics else "", BASE, HEADERS if headers else "", fields)
    return ", ".join(part for part in parts if part)


def headed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give every record batch a column of headers, also where no item has any."""
    return map(with_headers, batches)


def with_topic(batches: Iterator[pa.RecordBatch], topic: str) -> Iterator[pa.RecordBatch]:
    """Add the name of their topic to every row, as the first column."""
    for batch in batches:
        names = pa.repeat(pa.scalar(topic), batch.num_rows)
        schema = pa.schema([pa.field("topic", pa.string(), nullable=False), *batch.schema])
        yield pa.RecordBatch.from_arrays([names, *batch.columns], schema=schema)


def decoded(
    batches: Iterator[pa.RecordBatch], fields: pa.Schema, decoder: Decoder
) -> Iterator[pa.RecordBatch]:
    """Add the fields of the payloads to every record batch."""
    for batch in batches:
        columns = decoder.columns(batch.column("payload"))
        schema = pa.schema([*batch.schema, *fields])
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema)


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
