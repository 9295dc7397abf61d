"""``writeStream.format("evenflow")``: results of a query become items of a topic.

Tasks hand their rows to the driver. When all tasks of the micro-batch are done, the driver writes
its results down in an outbox, together with the number of the batch, all or nothing, and only then
publishes them (:meth:`Publisher.publish_unit`). A batch that Spark runs again, because it died
before it had noted the batch itself, is found in the outbox and not published again; what the
outbox has and nodes have not is sent, by the same writer under the same numbers. So whenever the
driver dies, or nodes do not acknowledge in time, each result is published once.

The id of a result is the number of its batch and its rank in it, in the order of the results'
contents. A query may give ids of its own instead.

Results are answers and alerts, few beside the stream: they travel through the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from evenflow.errors import ConfigError, UsageError
from evenflow.spark.reused import settle
from evenflow.spark.sink_publishers import PUBLISHERS, outbox_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql.types import StructType

    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.spark.options import SinkOptions

COLUMNS: Final = ("payload", "sender", "id", "time", "headers")
ID_BITS: Final = 32
"""Room for the rank of a row in its batch, in the ids that the sink gives."""


@dataclass
class Rows(WriterCommitMessage):
    """What a task hands to the driver."""

    encoded: bytes
    """An Arrow stream; empty when there are no rows."""


def collected(batches: Iterator[pa.RecordBatch]) -> Rows:
    """A task's rows, encoded as they came: no single row is touched."""
    kept = [batch for batch in batches if batch.num_rows]
    if not kept:
        return Rows(b"")
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, kept[0].schema) as stream:
        for batch in kept:
            stream.write_batch(batch)
    return Rows(out.getvalue().to_pybytes())


def joined(messages: Sequence[WriterCommitMessage | None]) -> pa.Table | None:
    """The rows of all tasks; None when there are none."""
    parts = [
        pa.ipc.open_stream(message.encoded).read_all()
        for message in messages
        if isinstance(message, Rows) and message.encoded
    ]
    return pa.concat_tables(parts) if parts else None


class StreamWriter(DataSourceStreamArrowWriter):
    """Publishes micro-batches, each once."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema.fieldNames())
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Rows:
        """Collect a task's rows."""
        settle("write")
        return collected(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch, unless the outbox has it; wait until nodes have what it has."""
        rows = joined(messages)
        with PUBLISHERS.of(self._options) as publisher:
            check_batch(batchId, publisher.newest_unit, outbox_of(self._options))
            if batchId > publisher.newest_unit:
                self._publish(publisher, rows, batchId)
            publisher.flush(self._options.deliver_within_s)
        settle("publish")

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing was published yet."""

    def _publish(self, publisher: Publisher, rows: pa.Table | None, batch: int) -> None:
        if rows is None:
            publisher.publish_unit(batch, [], timeout=self._options.deliver_within_s)
            return
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        times = columns.get("time")
        publisher.publish_unit(
            batch,
            columns["payload"],
            senders=columns.get("sender", self._options.name),
            ids=columns["id"] if "id" in columns else ids_of(rows, batch),
            times=None if times is None else times.cast(pa.int64()),
            headers=columns.get("headers"),
            timeout=self._options.deliver_within_s,
        )


def ids_of(rows: pa.Table, batch: int) -> NDArray[np.int64]:
    """The ids of a batch's results: the same for the same results, in whatever order they come."""
    order = order_of(rows)
    ids = np.empty(len(rows), np.int64)
    ids[order.to_numpy()] = (batch << ID_BITS) + np.arange(len(rows))
    return ids


def order_of(rows: pa.Table) -> pa.Array:
    """The order of rows by their contents, column after column by name."""
    if "headers" in rows.column_names:
        # Arrow sorts no maps: by a text that says the same.
        texts = [repr(sorted(one or ())) for one in rows.column("headers").to_pylist()]
        place = rows.column_names.index("headers")
        rows = rows.set_column(place, "headers", pa.array(texts, pa.string()))
    keys = [(name, "ascending") for name in sorted(rows.column_names)]
    return pc.sort_indices(rows, sort_keys=keys)


def check_columns(names: list[str]) -> None:
    """Raise `UsageError` unless these columns can be published."""
    wrong = sorted(set(names) - set(COLUMNS))
    if "payload" not in names or wrong:
        raise UsageError(
            f"a result has the columns payload (BINARY or STRING) and, if you like,"
            f" {', '.join(COLUMNS[1:])}; this one has {', '.join(names)}: select what to send,"
            " as in selectExpr('to_json(struct(*)) AS payload')"
        )


def check_batch(batch: int, newest: int, outbox: Path) -> None:
    """Raise `ConfigError` when an outbox cannot be this query's: Spark repeats only the newest."""
    if batch < newest:
        raise ConfigError(
            "option outbox",
            str(outbox),
            f"has batch {newest}, and the query is at batch {batch}: it is another query's, or of"
            " an older checkpoint; set option 'name', or delete it with the checkpoint",
        )
