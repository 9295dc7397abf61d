"""``format("evenflow-store")``: topics of the overlay store as tables of Spark, and as a sink.

    from evenflow.durable.spark import register

    register(spark)
    past = spark.read.format("evenflow-store").option("topic", "meters").load()

*Reading* cuts the time range into partitions, see `spark_reading`. *Writing* goes through the
driver: tasks hand it their rows, and when all are done it sorts them and publishes them under a
publisher's name that follows from the query's name and the number of the batch. The store knows
the messages of a publisher by their count, so a batch that Spark runs again, with the same rows
in whatever order, is stored once, also when the driver died in the middle of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from evenflow.durable.spark_options import ReadOptions, WriteOptions
from evenflow.durable.spark_reading import (
    ITEM_COLUMNS,
    MESSAGE_COLUMNS,
    Part,
    plan,
    read_part,
)
from evenflow.errors import UsageError
from evenflow.extras import explained
from evenflow.overlay.client.aio import AsyncClient

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamArrowWriter,
        InputPartition,
        WriterCommitMessage,
    )
except ModuleNotFoundError as error:
    raise explained(error) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME: Final = "evenflow-store"


def register(spark: SparkSession) -> None:
    """Make ``format("evenflow-store")`` known to a session."""
    spark.dataSource.register(StoreSource)


class StoreSource(DataSource):
    """The data source. Options: `ReadOptions`, `WriteOptions`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return NAME

    def schema(self) -> str:
        """The columns, as DDL."""
        return ITEM_COLUMNS if ReadOptions.of(self.options).items else MESSAGE_COLUMNS

    def reader(self, schema: StructType) -> StoreReader:  # noqa: ARG002 - it is always ours
        """Read a range of time."""
        return StoreReader(ReadOptions.of(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:  # noqa: FBT001
        """Publish a table."""
        return BatchWriter(_writing(self.options, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: FBT001, N802
        """Publish micro-batches."""
        options = _writing(self.options, schema, overwrite=overwrite)
        if not options.name:
            raise UsageError('a stream into the store needs a name: add .option("name", NAME)')
        return StreamWriter(options)


def _writing(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> WriteOptions:
    if overwrite:
        raise UsageError("the store only adds: use mode('append'), outputMode('append')")
    names = schema.fieldNames()
    if names != ["payload"] or schema["payload"].dataType.typeName() not in ("binary", "string"):
        raise UsageError(
            "a message of the store has one column, payload (BINARY or STRING); this table has"
            f" {', '.join(names)}: as in selectExpr('to_json(struct(*)) AS payload')"
        )
    return WriteOptions.of(given)


class PartPartition(InputPartition):
    """What one task reads."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.part = part


class StoreReader(DataSourceReader):
    """A range of time as a table."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the range."""
        return [PartPartition(part) for part in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one part."""
        if isinstance(partition, PartPartition):  # without a partition Spark asks once, for nothing
            yield from read_part(self._options, partition.part)


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
