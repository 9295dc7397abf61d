"""``format("evenflow-store")``: the classes of Spark's Python Data Source API.

A table is what a topic has in a range of time, cut into partitions (`reading`). Columns decoded
from payloads stand behind the others, as in ``format("evenflow")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from evenflow.durable.spark.options import ReadOptions
from evenflow.durable.spark.reading import (
    HEADER_COLUMN,
    ITEM_COLUMNS,
    MESSAGE_COLUMNS,
    Bundles,
    Part,
    plan,
    read_part,
)
from evenflow.durable.spark.streaming import Offset, StoreStream
from evenflow.errors import UsageError
from evenflow.model.selection import ALL
from evenflow.spark.columns import decoded
from evenflow.spark.encodings import decoder_for
from evenflow.spark.source import selection_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from evenflow.durable.spark.sink import BatchWriter, StreamWriter
    from evenflow.spark.encodings import Decoder

NAME: Final = "evenflow-store"


class StoreSource(DataSource):
    """The data source. Options: `ReadOptions`, `WriteOptions`."""

    pushes_filters: ClassVar[bool] = False
    """Whether the session lets Python sources look at filters; else Spark refuses those that do."""

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
        options = ReadOptions.of(self.options, stream=False)
        pushes = options.push_filters and self.pushes_filters
        return (FilteringReader if pushes else StoreReader)(options, schema)

    def streamReader(self, schema: StructType) -> StoreStreamReader:  # noqa: N802
        """Read what there is, and what comes."""
        return StoreStreamReader(ReadOptions.of(self.options, stream=True), schema)

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
    if not options.items:
        return MESSAGE_COLUMNS
    return f"{ITEM_COLUMNS}, {HEADER_COLUMN}" if options.headers else ITEM_COLUMNS


class PartPartition(InputPartition):
    """What one task reads."""

    def __init__(self, part: Part | Bundles) -> None:
        super().__init__(part)
        self.part = part


class _Reading:
    """What runs in the executors."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._fields: pa.Schema | None = None
        before = ITEM_COLUMNS if options.items else MESSAGE_COLUMNS
        fields = schema.fields[before.count(",") + 1 + options.headers :]
        if fields:
            self._fields = to_arrow_schema(StructType(fields), timezone="UTC")
            self._decoder(self._fields)

    def _decoder(self, fields: pa.Schema) -> Decoder:
        decoding = self._options.decoding
        return decoder_for(decoding.encoding, fields, decoding.avro_schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one part."""
        if not isinstance(partition, PartPartition):
            return iter(())  # without a partition Spark asks once, for nothing
        batches = read_part(self._options, partition.part)
        if self._fields is None:
            return batches
        return decoded(batches, self._fields, self._decoder(self._fields))


class StoreReader(_Reading, DataSourceReader):
    """A range of time as a table."""

    wanted = ALL
    """What the query's filters leave."""

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the range."""
        return [PartPartition(part) for part in plan(self._options, self.wanted)]


class FilteringReader(StoreReader):
    """The same, of which only what a query's filters leave is fetched."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Note what is wanted; Spark looks at the rows again."""
        self.wanted = selection_of(filters)
        return filters


class StoreStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What there is, then what comes. Only the driver's copy talks to the store, when called."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._stream: StoreStream | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None}

    def _opened(self) -> StoreStream:
        if self._stream is None:
            self._stream = StoreStream(self._options)
        return self._stream

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins."""
        return self._opened().begin().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the query's options set."""
        limit = self._options.max_items
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch may read; ``start`` itself when there is nothing."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return self._opened().end(Offset.from_json(start), most).to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix what is available now."""
        self._opened().fix()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut what lies between two offsets."""
        parts = self._opened().parts(Offset.from_json(start), Offset.from_json(end))
        return [PartPartition(part) for part in parts]

    def commit(self, end: dict[str, Any]) -> None:
        """The store keeps what it has, whoever has read it."""

    def stop(self) -> None:
        """The query has ended."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
