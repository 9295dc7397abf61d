"""``format("evenflow")``: the classes of Spark's Python Data Source API.

Offsets are positions as JSON, ``{writer: epoch}`` (:mod:`~.offsets`); a processing node is a
partition. The stream reader lives in a Python process of the driver for as long as the query;
``read`` runs in the executors' Python processes, from a copy, and needs nothing of the reader but
the share it is given.
"""

from __future__ import annotations

import logging
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
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

from evenflow.errors import UsageError
from evenflow.model.ids import NOWHERE, Position
from evenflow.slices.consumer.reading import Share, read_share, tell_reads
from evenflow.spark.columns import BASE_COLUMNS, decoded, schema_of
from evenflow.spark.encodings import decoder_for
from evenflow.spark.offsets import left_out_of, offset_of, position_of
from evenflow.spark.options import Options, SinkOptions
from evenflow.spark.reused import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from evenflow.model.messages import SliceReads
    from evenflow.slices.consumer.follower import Follower
    from evenflow.spark.encodings import Decoder
    from evenflow.spark.query_watch import QueryWatch
    from evenflow.spark.sink import StreamWriter
    from evenflow.spark.table_sink import TableWriter

IDLE_WAIT_S: Final = 0.1
"""How long a question for new items waits for them, so that an idle query does not spin."""
AVAILABLE_WITHIN_S: Final = 10.0
"""How long ``availableNow`` waits for nodes to have what publishers have closed."""


class SharePartition(InputPartition):
    """What one task reads."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.share = share


class EvenflowSource(DataSource):
    """The data source. Options: see :class:`~evenflow.spark.options.Options`."""

    times_at: ClassVar[str] = ""
    """Where Spark's task times are served; see :func:`evenflow.spark.register`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "evenflow"

    def schema(self) -> str:
        """The columns, as DDL."""
        return schema_of(Options.of(self.options).fields)

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        """Read the stream."""
        return StreamReader(Options.of(self.options), schema, self.times_at)

    def reader(self, schema: StructType) -> TableReader:
        """Read what is not committed, as a table."""
        return TableReader(Options.of(self.options), schema)

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


def source_with_times(times_at: str) -> type[EvenflowSource]:
    """The data source of a session whose task times are served at an address.

    Spark sends a class that cannot be imported by value, so the address travels with it into every
    process that makes the source anew.
    """
    return type(EvenflowSource.__name__, (EvenflowSource,), {"times_at": times_at})


class _Reading:
    """What runs in the executors."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        fields = schema.fields[BASE_COLUMNS:]
        self._fields: pa.Schema | None = None
        if fields:
            self._fields = to_arrow_schema(StructType(fields), timezone="UTC")
            self._decoder(self._fields)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's share."""
        assert isinstance(partition, SharePartition)
        return self._batches(partition.share)[0]

    def _batches(self, share: Share) -> tuple[Iterator[pa.RecordBatch], Callable[[], int]]:
        """A task's record batches, and how many payloads among them could not be decoded."""
        batches = read_share(share)
        if self._fields is None:
            return batches, lambda: 0
        decoder = self._decoder(self._fields)
        return decoded(batches, self._fields, decoder), lambda: decoder.damaged

    def _decoder(self, fields: pa.Schema) -> Decoder:
        return decoder_for(self._options.encoding, fields, self._options.avro_schema)


class TableReader(_Reading, DataSourceReader):
    """The uncommitted items as a table, for a look inside; the reader is not registered."""

    def partitions(self) -> Sequence[InputPartition]:
        """A partition for each node."""
        follower = _enter(self._options)
        try:
            end = follower.latest(NOWHERE, IDLE_WAIT_S)
            return [SharePartition(share) for share in follower.shares(NOWHERE, end)]
        finally:
            follower.close()


class StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream. Made in several processes; only the driver's enters the domain, when called."""

    def __init__(self, options: Options, schema: StructType, times_at: str = "") -> None:
        super().__init__(options, schema)
        self._times_at = times_at
        self._follower: Follower | None = None
        self._watch: QueryWatch | None = None
        self._target: Position | None = None
        self._recalled = False
        """Whether the counts go on where the query's log ends."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_follower": None, "_watch": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins."""
        begin = self._entered().begin(self._options.starting)
        follower = self._entered(begin)
        return offset_of(begin, follower.thinned(lambda counts: counts.up_to(begin)))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the query's options set."""
        if self._options.max_items is None:
            return ReadAllAvailable()
        return ReadMaxRows(self._options.max_items)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch may read.

        Spark asks for a new batch only when the one before is in its commit log, but calls
        :meth:`commit` for it when the next one is planned. An idle stream would so never be
        committed to its end: the question is taken as the commit of everything before ``start``.
        """
        begin = position_of(start)
        follower = self._entered(begin, left_out=left_out_of(start))
        follower.commit(begin, last=self._target is not None)
        if self._target is None:
            end = follower.latest(begin, IDLE_WAIT_S)
        else:
            newest = follower.latest(begin)
            end = newest.capped(self._target).merged(begin.capped(newest))
        if isinstance(limit, ReadMaxRows):
            end = follower.limited(begin, end, limit.max_rows)
        if end == begin:
            return start
        return offset_of(end, follower.thinned(lambda counts: counts.up_to(end)))

    def reportLatestOffset(self) -> dict[str, int] | None:  # noqa: N802
        """How far the publishers are, for the query's own report of its lag."""
        return None if self._follower is None else self._follower.closed().to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix what is available now."""
        follower = self._entered()
        closed = follower.closed()
        self._target = follower.reached(closed, AVAILABLE_WITHIN_S)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A partition for each node."""
        begin, finish = position_of(start), position_of(end)
        if begin.covers(finish):
            return []
        follower = self._entered(begin, finish, left_out_of(start))
        shares = follower.shares(begin, finish)
        if self._watch is not None:
            shares = self._watch.on_batch_planned(shares)
        return [SharePartition(share) for share in shares]

    def commit(self, end: dict[str, Any]) -> None:
        """The micro-batch is safe: publishers and nodes may forget it."""
        position = position_of(end)
        self._entered(position, left_out=left_out_of(end)).commit(position)

    def stop(self) -> None:
        """The query has ended."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._follower is not None:
            self._follower.close()
            self._follower = None

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

        return metered(batches, options.topic, options.consumer, damaged, tell)

    def _entered(
        self,
        position: Position | None = None,
        planned: Position = NOWHERE,
        left_out: Mapping[int, int] | None = None,
    ) -> Follower:
        """The query's place in the domain; at a position, it is registered there.

        Args:
            position: The position.
            planned: The end of a batch that is in the query's own log.
            left_out: What publishers have left out up to the position, as that log has it.
        """
        if self._follower is None:
            from evenflow.spark.query_watch import QueryWatch  # noqa: PLC0415 - in the driver alone

            self._follower = _enter(self._options, alone=True)
            self._watch = QueryWatch(self._options, self._follower, self._times_at)
        follower = self._follower
        if position is not None:
            if left_out is not None and not self._recalled:
                self._recalled = True
                follower.thinned(lambda counts: counts.recall(left_out, position))
            follower.register(position, planned, tell=False)
        return follower


def _enter(options: Options, *, alone: bool = False) -> Follower:
    """Enter the domain; only the driver process does, so executors need no DDS."""
    from evenflow.slices.consumer.follower import Follower  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING)
    follower = Follower(
        options.topic, options.consumer, options.config, read_timeout_s=options.read_timeout_s
    )
    follower.enter(alone=alone)
    return follower
