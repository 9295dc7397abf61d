"""The columns of the source, and those decoded from payloads.

Every row has ``slice, sender, id, time, payload``. When the query or its topic names fields, each
of them becomes a column behind these (:mod:`evenflow.spark.encodings`); what a payload does not
have is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

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


def schema_of(fields: str, *, names_topics: bool = False) -> str:
    """The schema of a query that asks for these fields, as DDL."""
    return ", ".join(part for part in (TOPIC if names_topics else "", BASE, fields) if part)


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
