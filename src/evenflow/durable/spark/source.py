"""``format("evenflow-store")``: the classes of Spark's Python Data Source API.

A table is what a topic has in a range of time, cut into partitions (`reading`). Columns decoded
from payloads stand behind the others, as in ``format("evenflow")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from evenflow.durable.spark.options import ReadOptions
from evenflow.durable.spark.reading import (
    ITEM_COLUMNS,
    MESSAGE_COLUMNS,
    Part,
    plan,
    read_part,
)
from evenflow.errors import UsageError
from evenflow.spark.columns import decoded
from evenflow.spark.encodings import decoder_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from evenflow.durable.spark.sink import BatchWriter, StreamWriter
    from evenflow.spark.encodings import Decoder

NAME: Final = "evenflow-store"


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
        options = ReadOptions.of(self.options)
        fields = options.decoding.fields
        return f"{columns_of(options)}, {fields}" if fields else columns_of(options)

    def reader(self, schema: StructType) -> StoreReader:
        """Read a range of time."""
        return StoreReader(ReadOptions.of(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:  # noqa: FBT001
        """Publish a table."""
        from evenflow.durable.spark.sink import BatchWriter, writing  # noqa: PLC0415 - who writes

        return BatchWriter(writing(self.options, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: FBT001, N802
        """Publish micro-batches."""
        from evenflow.durable.spark.sink import StreamWriter, writing  # noqa: PLC0415

        options = writing(self.options, schema, overwrite=overwrite)
        if not options.name:
            raise UsageError('a stream into the store needs a name: add .option("name", NAME)')
        return StreamWriter(options)


def columns_of(options: ReadOptions) -> str:
    """The columns that every row has, as DDL."""
    return ITEM_COLUMNS if options.items else MESSAGE_COLUMNS


class PartPartition(InputPartition):
    """What one task reads."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.part = part


class StoreReader(DataSourceReader):
    """A range of time as a table."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._fields: pa.Schema | None = None
        fields = schema.fields[columns_of(options).count(",") + 1 :]
        if fields:
            self._fields = to_arrow_schema(StructType(fields), timezone="UTC")
            self._decoder(self._fields)

    def _decoder(self, fields: pa.Schema) -> Decoder:
        decoding = self._options.decoding
        return decoder_for(decoding.encoding, fields, decoding.avro_schema)

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the range."""
        return [PartPartition(part) for part in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one part."""
        if not isinstance(partition, PartPartition):
            return iter(())  # without a partition Spark asks once, for nothing
        batches = read_part(self._options, partition.part)
        if self._fields is None:
            return batches
        return decoded(batches, self._fields, self._decoder(self._fields))
