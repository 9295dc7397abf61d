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


def schema_of(fields: str) -> str:
    """The schema of a query that asks for these fields, as DDL."""
    return f"{BASE}, {fields}" if fields else BASE


def decoded(
    batches: Iterator[pa.RecordBatch], fields: pa.Schema, decoder: Decoder
) -> Iterator[pa.RecordBatch]:
    """Add the fields of the payloads to every record batch."""
    for batch in batches:
        columns = decoder.columns(batch.column("payload"))
        schema = pa.schema([*batch.schema, *fields])
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema)
