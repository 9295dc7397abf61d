"""``write.format("evenflow")``: the rows of a table become items of a topic.

Tasks hand their rows to the driver, as Arrow. Spark takes one answer for each partition, whatever
tasks failed, were run again or ran twice at the same time; only when it has all of them does the
driver publish. So no task publishes anything, and none can publish twice. A job that fails before
that has published nothing.

What happens when the driver dies while it publishes is for the user to choose:

- With an *outbox* and a *name*, a write is published once under that name, however often it is
  run. Rows are put in the order of their contents and cut into units of a bounded size; each is
  in the outbox, all or nothing, before any of it is published. A write that is run again goes on
  behind the last unit that the outbox has: with the same rows, the same units.
- Without, a driver that died may have published a part, and who writes again writes all of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceArrowWriter

from evenflow.errors import ConfigError, DeliveryTimeout
from evenflow.spark.options import SinkOptions
from evenflow.spark.reused import settle
from evenflow.spark.sink import Rows, check_columns, collected, joined, order_of
from evenflow.spark.sink_publishers import PUBLISHERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.datasource import WriterCommitMessage
    from pyspark.sql.types import StructType

UNIT_OCTETS: Final = 4 << 20
"""About how large a unit is: what is written to the outbox at once."""
LAST_WORDS_S: Final = 2.0
"""Who leaves before a node has asked where its numbers start is taken for silent, and its items
wait until it is cut (``node.writer_silence_s``); so it stays for a moment, if not all is
committed."""


def table_options(given: Mapping[str, str]) -> SinkOptions:
    """Read the options of a table that is written; an outbox needs a name."""
    options = SinkOptions.of(given, table=True)
    if options.outbox is not None and not any(option.lower() == "name" for option in given):
        raise ConfigError(
            "option name",
            None,
            "must name the write when it has an outbox: run again under the same name, it"
            " publishes nothing twice",
        )
    return options


class TableWriter(DataSourceArrowWriter):
    """Publishes a table: under a name and with an outbox, once however often it is written."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema.fieldNames())
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Rows:
        """Collect a task's rows."""
        settle("write")
        return collected(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish the rows of all tasks, and wait until nodes have them."""
        rows = joined(messages)
        if self._options.outbox is None:
            self._publish(rows)
            return
        with PUBLISHERS.of(replace(self._options, name=f"{self._options.name}.table")) as publisher:
            for unit, part in enumerate(units(rows)):
                if unit > publisher.newest_unit:
                    publisher.publish_unit(unit, **self._columns(part))
            publisher.flush(self._options.deliver_within_s)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing was published yet."""

    def _publish(self, rows: pa.Table | None) -> None:
        from evenflow.slices.publisher.publisher import Publisher  # noqa: PLC0415 - the driver alone needs DDS

        if rows is None:
            return
        options = self._options
        publisher = Publisher(options.topic, config=options.config)
        try:
            for batch in rows.to_batches():
                publisher.publish_columns(**self._columns(pa.Table.from_batches([batch])))
            publisher.flush(options.deliver_within_s)
        finally:
            # The nodes have it, or an error says so: nobody waits for consumers to commit.
            with suppress(DeliveryTimeout):
                publisher.close(LAST_WORDS_S)

    def _columns(self, rows: pa.Table) -> dict[str, Any]:
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        times = columns.get("time")
        return {
            "payloads": columns["payload"],
            "senders": columns.get("sender", self._options.name),
            "ids": columns.get("id"),
            "times": None if times is None else times.cast(pa.int64()),
            "headers": columns.get("headers"),
            "timeout": self._options.deliver_within_s,
        }


def units(rows: pa.Table | None, octets: int = UNIT_OCTETS) -> Iterator[pa.Table]:
    """Cut a table into units, the same ones in whatever order its rows come.

    Rows without an id get their rank, as the other columns sort them.
    """
    if rows is None:
        return
    rows = rows.take(order_of(rows)).combine_chunks()
    if "id" not in rows.column_names:
        rows = rows.append_column("id", pa.array(np.arange(rows.num_rows)))
    sizes = pc.binary_length(rows.column("payload")).fill_null(0).to_numpy().cumsum()
    begin = 0
    while begin < rows.num_rows:
        before = int(sizes[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(sizes, before + octets, side="right")))
        yield rows.slice(begin, end - begin)
        begin = end
