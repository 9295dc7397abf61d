"""``format("evenflow")``: the classes of Spark's Python Data Source API.

Offsets are positions as JSON, ``{topic: {writer: epoch}}`` (:mod:`~.offsets`); a processing node is
a partition. The stream reader lives in a Python process of the driver for as long as the query, and
has a :class:`~evenflow.spark.topic_stream.TopicStream` for each topic there. ``read`` runs in the
executors' Python processes, from a copy, and needs nothing of the reader but the share it is given.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from functools import reduce
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from evenflow.errors import UsageError
from evenflow.model.selection import ALL, Selection
from evenflow.slices.consumer.planning import limited_points
from evenflow.slices.consumer.reading import Share, read_share, tell_reads
from evenflow.spark.columns import (
    BASE_COLUMNS,
    decoded,
    headed,
    schema_of,
    with_topic,
)
from evenflow.spark.encodings import decoder_for
from evenflow.spark.offsets import offset_of, places_in
from evenflow.spark.options import Options, SinkOptions
from evenflow.spark.reused import settle
from evenflow.spark.tasks import at_least, selected_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from evenflow.model.messages import SliceReads
    from evenflow.slices.consumer.splits import Point
    from evenflow.spark.encodings import Decoder
    from evenflow.spark.offsets import Place
    from evenflow.spark.sink import StreamWriter
    from evenflow.spark.table_sink import TableWriter
    from evenflow.spark.topic_stream import TopicStream

IDLE_WAIT_S: Final = 0.1
"""How long a question for new items waits for them, so that an idle query does not spin."""


class SharePartition(InputPartition):
    """What one task reads."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.share = share


class EvenflowSource(DataSource):
    """The data source. Options: see :class:`~evenflow.spark.options.Options`."""

    times_at: ClassVar[str] = ""
    """Where Spark's task times are served; see :func:`evenflow.spark.register`."""
    pushes_filters: ClassVar[bool] = False
    """Whether the session lets Python sources look at filters; else Spark refuses those that do."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "evenflow"

    def schema(self) -> str:
        """The columns, as DDL."""
        options = Options.of(self.options)
        return schema_of(options.fields, names_topics=options.names_topics, headers=options.headers)

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        """Read the stream."""
        return StreamReader(Options.of(self.options), schema, self.times_at)

    def reader(self, schema: StructType) -> TableReader:
        """Read what is not committed, as a table."""
        options = Options.of(self.options)
        pushes = options.push_filters and self.pushes_filters
        return (FilteringReader if pushes else TableReader)(options, schema)

    def writer(
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001 - Spark calls it so
    ) -> TableWriter:
        """Publish a table."""
        from evenflow.spark.table_sink import TableWriter, table_options  # noqa: PLC0415

        if overwrite:
            raise UsageError("rows are added to a topic: use mode('append')")
        return TableWriter(table_options(self.options), schema)

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001 - Spark calls it so
    ) -> StreamWriter:
        """Publish results."""
        from evenflow.spark.sink import StreamWriter  # noqa: PLC0415 - readers need no sink

        if overwrite:
            raise UsageError("results are added to a topic: use outputMode('append')")
        settle("sink")
        return StreamWriter(SinkOptions.of(self.options), schema)


def source_with_times(times_at: str, *, pushes_filters: bool = False) -> type[EvenflowSource]:
    """The data source of a session whose task times are served at an address.

    Spark sends a class that cannot be imported by value, so the address travels with it into every
    process that makes the source anew.
    """
    of_session = {"times_at": times_at, "pushes_filters": pushes_filters}
    return type(EvenflowSource.__name__, (EvenflowSource,), of_session)


class _Reading:
    """What runs in the executors."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        fields = schema.fields[BASE_COLUMNS + options.names_topics + options.headers :]
        self._fields: pa.Schema | None = None
        if fields:
            self._fields = to_arrow_schema(StructType(fields), timezone="UTC")
            self._decoder(self._fields)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's share."""
        if not isinstance(partition, SharePartition):
            return iter(())  # without a partition Spark asks once, for nothing
        return self._batches(partition.share)[0]

    def _batches(self, share: Share) -> tuple[Iterator[pa.RecordBatch], Callable[[], int]]:
        """A task's record batches, and how many payloads among them could not be decoded."""
        batches, decoder = read_share(share), None
        if self._options.headers:
            batches = headed(batches)
        if self._fields is not None:
            decoder = self._decoder(self._fields)
            batches = decoded(batches, self._fields, decoder)
        if self._options.names_topics:
            batches = with_topic(batches, share.topic)
        return batches, lambda: 0 if decoder is None else decoder.damaged

    def _decoder(self, fields: pa.Schema) -> Decoder:
        return decoder_for(self._options.encoding, fields, self._options.avro_schema)


class TableReader(_Reading, DataSourceReader):
    """What nodes keep, as a table: read once, and nobody is registered."""

    wanted = ALL
    """What the query's filters leave."""

    def partitions(self) -> Sequence[InputPartition]:
        """A partition for each node and topic."""
        from evenflow.spark.topic_stream import kept_shares  # noqa: PLC0415 - in the driver alone

        options = self._options
        kept = (share for topic in options.topics for share in kept_shares(options, topic))
        shares = selected_shares(kept, self.wanted)
        least = options.min_partitions
        return [SharePartition(share) for share in at_least(shares, least, lambda _: 0.0)]


class FilteringReader(TableReader):
    """The same, of a session that pushes filters down: nodes send only what they leave."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Note what is wanted; Spark looks at the rows again."""
        self.wanted = selection_of(filters)
        return filters


class StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream. Made in several processes; only the driver's enters the domain, when called."""

    def __init__(self, options: Options, schema: StructType, times_at: str = "") -> None:
        super().__init__(options, schema)
        self._times_at = times_at
        self._streams: dict[str, TopicStream] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_streams": {}}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins."""
        return offset_of({topic: one.begin() for topic, one in self._entered().items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the query's options set."""
        if self._options.max_items is None:
            return ReadAllAvailable()
        return ReadMaxRows(self._options.max_items)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch may read; ``start`` itself when there is nothing."""
        streams, places = self._entered(), self._places(start)
        wait_s = IDLE_WAIT_S / len(streams)
        newest = {topic: one.newest(places[topic], wait_s) for topic, one in streams.items()}
        if isinstance(limit, ReadMaxRows):
            newest = self._limited(places, newest, limit.max_rows)
        ends = {topic: one.place(places[topic], newest[topic]) for topic, one in streams.items()}
        return start if ends == places else offset_of(ends)

    def _limited(
        self, places: Mapping[str, Place], newest: dict[str, Point], items: int
    ) -> dict[str, Point]:
        """Where a micro-batch ends that may have so many items."""
        streams, starts = self._streams, {topic: place.point for topic, place in places.items()}
        if sum(streams[t].at_most(starts[t], newest[t]) for t in streams) <= items:
            return newest
        return limited_points(
            {t: one.counted(starts[t], newest[t], items) for t, one in streams.items()}, items
        )

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the publishers are, with the query's figures (:mod:`~.progress`)."""
        return {topic: one.report() for topic, one in self._streams.items()} or None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix what is available now."""
        for stream in self._entered().values():
            stream.prepare()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A partition for each node."""
        begins, ends = self._places(start), self._places(end)
        return [
            SharePartition(share)
            for topic, stream in self._entered().items()
            if not begins[topic].point.covers(ends[topic].point)
            for share in stream.shares(begins[topic], ends[topic])
        ]

    def commit(self, end: dict[str, Any]) -> None:
        """The micro-batch is safe: publishers and nodes may forget it."""
        places = self._places(end)
        for topic, stream in self._entered().items():
            stream.commit(places[topic])

    def stop(self) -> None:
        """The query has ended."""
        streams, self._streams = self._streams, {}
        with ExitStack() as stack:  # each, though another fails
            for stream in streams.values():
                stack.callback(stream.stop)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's share, and tell what was read of each slice."""
        from evenflow.spark.metering import metered  # noqa: PLC0415 - in executors alone

        assert isinstance(partition, SharePartition)
        settle("read")
        share, options = partition.share, self._options
        batches, damaged = self._batches(share)

        def tell(reads: SliceReads) -> None:
            # The task need not wait for it.
            Thread(target=tell_reads, args=(share, reads), daemon=True).start()

        return metered(batches, share.topic, options.consumer, damaged, tell)

    def _entered(self) -> dict[str, TopicStream]:
        """The query's places in the domain."""
        from evenflow.spark.topic_stream import TopicStream  # noqa: PLC0415 - in the driver alone

        for topic in self._options.topics:
            if topic not in self._streams:
                self._streams[topic] = TopicStream(self._options, topic, self._times_at)
        return self._streams

    def _places(self, offset: dict[str, Any]) -> dict[str, Place]:
        """An offset by topic."""
        options = self._options
        return places_in(offset, options.topics, fail_on_loss=options.fail_on_loss)


def selection_of(filters: Iterable[Filter]) -> Selection:
    """Return what filters, all of them together, leave.

    Comparisons of `slice`, `sender` and `time` with constants make that less is read. Spark applies
    all filters once more to what comes: a selection may be wider, and never narrower.
    """
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
