"""The columns of the source, and those decoded from payloads.

Every row has ``slice, sender, id, time, payload``, and ``headers`` if the query wants them. When
the query or its topic names fields, each of them becomes a column behind these
(:mod:`evenflow.spark.encodings`); what a payload does not have is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from evenflow.slices.consumer.header_column import with_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

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
