"""``format("evenflow")`` on a durable topic: the archive first, then the live stream.

A query without a checkpoint that begins with `earliest`, or at a time, reads the archive and goes
on with what the nodes have, each item once (`joining`). The live part is the reader of
`evenflow.spark`, asked through what Spark asks it; a place in the archive is handed to it as the
position that it stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from evenflow.durable.archive import Archive
from evenflow.durable.archiver import brokers_of
from evenflow.durable.joining import Joining, place_of
from evenflow.durable.spark.reading import Bundles, shares
from evenflow.durable.spark.source import PartPartition
from evenflow.errors import ReadFailed
from evenflow.errors.words import counted, have
from evenflow.overlay.client.blocking import Client
from evenflow.query_options import checked
from evenflow.slices.consumer.arrow_batches import HEADED, SCHEMA
from evenflow.slices.consumer.core import EARLIEST
from evenflow.slices.consumer.header_column import with_headers
from evenflow.spark.columns import BASE_COLUMNS, decoded
from evenflow.spark.encodings import decoder_for
from evenflow.spark.options import Options
from evenflow.spark.source import EvenflowSource, source_with_times
from evenflow.spark.starting import a_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

STARTING_TIME = "startingTimestamp"
PARTS = 4
"""Into how many tasks a batch of the archive is cut, at most."""


class JoinedSource(EvenflowSource):
    """The data source; on topics that are not durable it is the one of `evenflow.spark`."""

    def schema(self) -> str:
        """The columns, as DDL."""
        return EvenflowSource(_split(self.options)[0]).schema()

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        """Read the stream, with its past if the topic has one."""
        given, time = _split(self.options)
        options, plain = Options.of(given), source_with_times(self.times_at)
        topic = next((value for name, value in given.items() if name.lower() == "topic"), "")
        durable = any(one.name == topic and one.archived for one in options.config.topics)
        if not durable or options.starting != EARLIEST:
            return plain(self.options).streamReader(schema)
        oldest = None if time is None else checked({STARTING_TIME: time}, STARTING_TIME, 0, a_time)
        return JoinedReader(plain(given).streamReader(schema), options, topic, schema, oldest)


def _split(options: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """Take the time to begin at out of options: of a durable topic the archive knows it."""
    given = dict(options)
    named = [name for name in given if name.lower() == STARTING_TIME.lower()]
    return given, given.pop(named[0]).strip() if named else None


class _Live:
    """The live stream as `joining` asks it."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.limit: Any = None

    def register(self) -> None:
        """Begin with what is kept: that registers the query there."""
        self._reader.initialOffset()

    def end(self, start: dict[str, Any]) -> dict[str, Any]:
        """How far the next batch may read."""
        found: dict[str, Any] = self._reader.latestOffset(start, self.limit)
        return found


class JoinedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The archive, then the stream. Only the driver's copy talks to anybody, when called."""

    def __init__(
        self, live: Any, options: Options, topic: str, schema: StructType, oldest: int | None
    ) -> None:
        self._live = live
        self._options = options
        self._topic = topic
        self._oldest = oldest
        self._brokers = brokers_of(options.config)
        fields = schema.fields[BASE_COLUMNS + options.headers :]
        self._fields = to_arrow_schema(StructType(fields), timezone="UTC") if fields else None
        self._client: Client | None = None
        self._joining: tuple[Joining, _Live] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None, "_joining": None}

    def _archive(self) -> Archive:
        if self._client is None:
            self._client = Client(self._brokers)
        return Archive(self._client, self._topic, self._options.config.store.level)

    def _opened(self) -> tuple[Joining, _Live]:
        if self._joining is None:
            live = _Live(self._live)
            self._joining = Joining(self._archive(), live), live
        return self._joining

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins: in the archive."""
        return self._opened()[0].begin(self._oldest)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the query's options set."""
        found: ReadLimit = self._live.getDefaultReadLimit()
        return found

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch may read; ``start`` itself when there is nothing."""
        joining, live = self._opened()
        live.limit = limit
        return joining.end(start, limit.max_rows if isinstance(limit, ReadMaxRows) else None)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the publishers are."""
        found: dict[str, Any] | None = self._live.reportLatestOffset()
        return found

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix what is available now: it is in the archive, or at the nodes."""
        self._live.prepareForTriggerAvailableNow()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut what lies between two offsets."""
        begin, finish = place_of(start), place_of(end)
        if finish is None:
            found: Sequence[InputPartition] = self._live.partitions(
                start if begin is None else begin.position, end
            )
            return found
        assert begin is not None, "nobody goes back into the archive"
        counted = self._archive().counted(begin.time, finish.time, begin.tip)
        groups = shares([one.entry for one in counted], PARTS)
        return [PartPartition(Bundles(some, lossless=True)) for some in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read what one task reads."""
        if not isinstance(partition, PartPartition):
            found: Iterator[pa.RecordBatch] = self._live.read(partition)
            return found
        assert isinstance(partition.part, Bundles)
        batches = self._items(partition.part)
        if self._fields is None:
            return batches
        options = self._options
        decoder = decoder_for(options.encoding, self._fields, options.avro_schema)
        return decoded(batches, self._fields, decoder)

    def _items(self, part: Bundles) -> Iterator[pa.RecordBatch]:
        with Client(self._brokers) as client:
            archive = Archive(client, self._topic, level=0)
            for entry in part.entries:
                rows = archive.rows(entry)
                if rows is None:
                    raise ReadFailed(
                        self._topic,
                        (),
                        f"{counted(entry.items, 'item')} {have(entry.items)} expired",
                    )
                if self._options.headers:
                    rows = with_headers(rows).select(HEADED.names)
                else:
                    rows = rows.select(SCHEMA.names)
                yield from rows.combine_chunks().to_batches(1 << 16)

    def commit(self, end: dict[str, Any]) -> None:
        """The micro-batch is safe: what is live of it may be forgotten."""
        if place_of(end) is None:
            self._live.commit(end)

    def stop(self) -> None:
        """The query has ended."""
        client, self._client = self._client, None
        try:
            self._live.stop()
        finally:
            if client is not None:
                client.close()
