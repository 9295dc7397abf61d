"""``write.format("evenflow-store")``: tables and streams into a topic of the store.

Writing goes through the driver: tasks hand it their rows, and when all are done it sorts them and
publishes them under a publisher's name that follows from the query's name and the number of the
batch. The store knows the messages of a publisher by their count, so a batch that Spark runs again,
with the same rows in whatever order, is stored once, also when the driver died in the middle of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from evenflow.durable.spark.options import WriteOptions
from evenflow.errors import UsageError
from evenflow.overlay.client.aio import AsyncClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.types import StructType


def writing(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> WriteOptions:
    """Check what a query asks to be written; `UsageError` says what would be right."""
    if overwrite:
        raise UsageError("the store only adds: use mode('append'), outputMode('append')")
    names = schema.fieldNames()
    if names != ["payload"] or schema["payload"].dataType.typeName() not in ("binary", "string"):
        raise UsageError(
            "a message of the store has one column, payload (BINARY or STRING); this table has"
            f" {', '.join(names)}: as in selectExpr('to_json(struct(*)) AS payload')"
        )
    return WriteOptions.of(given)


@dataclass
class Payloads(WriterCommitMessage):
    """What a task hands to the driver."""

    payloads: list[bytes]


def collected(batches: Iterator[pa.RecordBatch]) -> Payloads:
    """Collect a task's rows."""
    kept: list[bytes] = []
    for batch in batches:
        column = batch.column(0).cast(pa.binary())
        if column.null_count:
            raise UsageError("a payload is null: leave such rows out, as in where('payload' ...)")
        kept += column.to_pylist()
    return Payloads(kept)


def publisher_of(name: str, batch: int) -> int:
    """Return the publisher's name that a batch of a query has, always the same."""
    digest = hashlib.blake2b(f"{name}\0{batch}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 3 or 1


def store(
    options: WriteOptions, messages: Sequence[WriterCommitMessage | None], publisher: int
) -> None:
    """Publish the rows of all tasks; what is stored already is not stored again."""
    payloads = sorted(
        payload
        for message in messages
        if isinstance(message, Payloads)
        for payload in message.payloads
    )

    async def publish() -> None:
        async with AsyncClient(options.brokers, timeout_s=options.timeout_s) as client:
            client.publish_as(options.topic, publisher, level=options.level)
            await client.publish_all(options.topic, payloads, level=options.level)

    if payloads:
        asyncio.run(publish())


class StreamWriter(DataSourceStreamArrowWriter):
    """Stores micro-batches, each once."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Payloads:
        """Collect a task's rows."""
        return collected(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Store a micro-batch."""
        store(self._options, messages, publisher_of(self._options.name, batchId))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing was stored yet."""


class BatchWriter(DataSourceArrowWriter):
    """Stores a table; under a name, once however often it is written."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Payloads:
        """Collect a task's rows."""
        return collected(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Store the table."""
        name = self._options.name or secrets.token_hex(16)
        store(self._options, messages, publisher_of(name, -1))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing was stored yet."""
