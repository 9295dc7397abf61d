"""``writeStream.format("evenflow")``: results of a query become items of a topic.

Tasks hand their rows to the driver; the driver publishes them when all tasks of the micro-batch are
done, and notes the batch in a *ledger*, a small file. A batch that Spark runs again, because it
died before it had noted the batch itself, is found in the ledger and not published again.

One moment is left: a driver that dies when it has published and not yet noted (some milliseconds;
longer when nodes do not acknowledge, up to the end of ``deliverWithin``) publishes the batch again.
A ledger cannot close it, because publishing and noting are two acts, and the nodes cannot, because
a new driver is a new publisher to them. But a receiver can tell: the id
of a result is the number of its batch and its rank in it, in the order of the results' contents. A
batch that is run again has the same results, though tasks may hand them over in another order, so
each has its id again. A query may give ids of its own instead.

Results are answers and alerts, few beside the stream: they travel through the driver.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from evenflow.errors import ConfigError, UsageError
from evenflow.spark.reused import settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql.types import StructType

    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.spark.options import SinkOptions

COLUMNS: Final = ("payload", "sender", "id", "time")
ID_BITS: Final = 32
"""Room for the rank of a row in its batch, in the ids that the sink gives."""


@dataclass
class Rows(WriterCommitMessage):
    """What a task hands to the driver."""

    encoded: bytes
    """An Arrow stream; empty when there are no rows."""


class StreamWriter(DataSourceStreamArrowWriter):
    """Publishes micro-batches, each once."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema.fieldNames())
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Rows:
        """Collect a task's rows."""
        settle("write")
        batches = [batch for batch in iterator if batch.num_rows]
        if not batches:
            return Rows(b"")
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batches[0].schema) as stream:
            for batch in batches:
                stream.write_batch(batch)
        return Rows(out.getvalue().to_pybytes())

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch, unless the ledger has it."""
        ledger = Ledger(self._options.ledger, self._options.topic, self._options.name)
        if ledger.has(batchId):
            return
        parts = [
            pa.ipc.open_stream(message.encoded).read_all()
            for message in messages
            if isinstance(message, Rows) and message.encoded
        ]
        if parts:
            self._publish(pa.concat_tables(parts), batchId)
        ledger.note(batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing was published yet."""

    def _publish(self, rows: pa.Table, batch: int) -> None:
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        times = columns.get("time")
        publisher = _publisher(self._options)
        publisher.publish_columns(
            columns["payload"],
            senders=columns.get("sender", self._options.name),
            ids=columns["id"] if "id" in columns else ids_of(rows, batch),
            times=None if times is None else times.cast(pa.int64()),
            timeout=self._options.deliver_within_s,
        )
        publisher.flush(self._options.deliver_within_s)
        settle("publish")


def ids_of(rows: pa.Table, batch: int) -> NDArray[np.int64]:
    """The ids of a batch's results: the same for the same results, in whatever order they come."""
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in rows.column_names])
    ids = np.empty(len(rows), np.int64)
    ids[order.to_numpy()] = (batch << ID_BITS) + np.arange(len(rows))
    return ids


def check_columns(names: list[str]) -> None:
    """Raise `UsageError` unless these columns can be published."""
    wrong = sorted(set(names) - set(COLUMNS))
    if "payload" not in names or wrong:
        raise UsageError(
            f"a result has the columns payload (BINARY or STRING) and, if you like,"
            f" {', '.join(COLUMNS[1:])}; this one has {', '.join(names)}: select what to send,"
            " as in selectExpr('to_json(struct(*)) AS payload')"
        )


class Ledger:
    """Which micro-batches a sink has published: the newest one, in a file."""

    def __init__(self, folder: Path, topic: str, name: str) -> None:
        self._file = folder / f"{topic}.{name}.json"

    def has(self, batch: int) -> bool:
        """Whether a batch was published; `ConfigError` when the ledger cannot be this query's.

        Spark runs no batch again but the newest.
        """
        newest = self.newest()
        if batch < newest:
            raise ConfigError(
                "option ledger",
                str(self._file),
                f"has batch {newest}, and the query is at batch {batch}: it is another query's, or"
                " of an older checkpoint; set option 'name', or delete it with the checkpoint",
            )
        return batch == newest

    def newest(self) -> int:
        """The newest batch that was published; -1 before the first."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return -1
        except (OSError, ValueError) as error:
            raise ConfigError(
                "option ledger", str(self._file), f"cannot be read: {error}"
            ) from None
        if not isinstance(found, dict) or not isinstance(found.get("batch"), int):
            raise ConfigError("option ledger", str(self._file), "is no ledger of a sink")
        return int(found["batch"])

    def note(self, batch: int) -> None:
        """Note a batch, for good."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"batch": batch}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file)


def _publisher(options: SinkOptions) -> Publisher:
    """This process's publisher of a topic; Spark uses the process for the next batch too."""
    from evenflow.slices.publisher.publisher import Publisher  # noqa: PLC0415 - the driver alone needs DDS

    key = (options.config.domain.id, options.topic)
    if key not in _publishers:
        _publishers[key] = Publisher(options.topic, config=options.config)
    return _publishers[key]


_publishers: Final[dict[tuple[int, str], Publisher]] = {}
