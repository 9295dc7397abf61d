"""A Spark query in a process of its own, for experiments that measure it or kill it.

The process runs a source, ``format("evenflow")`` unless told otherwise, into a sink and says on its
output, a line of JSON each, what happens: ``{"started": ...}``, one ``{"batch": ...}`` for each
micro-batch with rows, and at the end ``{"summary": ...}``. It ends when its input is closed.
Killing it kills Spark with it.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenflow.errors import SparkFailed
from evenflow.spark.process import SparkProcess, input_closed, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S = 0.05
STARTED_S = 240.0
"""Python, Java and Spark start within that, also on a machine whose disk is slow and cold."""


class QueryProcess(SparkProcess):
    """The query as its parent sees it."""

    def __init__(self, *arguments: str, log: Path) -> None:
        self.batches: list[dict[str, Any]] = []
        """What was said of the micro-batches so far."""
        super().__init__(__name__, *arguments, log=log)

    def take(self, said: dict[str, Any]) -> None:
        """Remember micro-batches."""
        if "batch" in said:
            self.batches.append(said)

    def await_start(self) -> Self:
        """Wait until the query runs; if it does not, nothing of it is left behind."""
        try:
            self.wait_for("started", STARTED_S)
        except SparkFailed:
            self.kill()
            raise
        return self

    def hear(self) -> list[dict[str, Any]]:
        """The micro-batches so far, without waiting; also of a query that has ended."""
        with contextlib.suppress(SparkFailed):
            super().hear()
        return self.batches


# -- inside the process ---------------------------------------------------------------------------


def main() -> None:
    """Run the query until the input is closed."""
    args = arguments_of(sys.argv[1:])
    from evenflow.spark.session import session  # noqa: PLC0415 - Spark in this process alone

    spark = session("evenflow experiment")
    query = started(spark, args)
    say(started=time.time())
    _follow(query, _task_seconds(spark, query) if args.tasks else list)
    query.stop()
    say(summary=_summary(spark, args.out) if args.out else {})
    spark.stop()


def started(spark: SparkSession, args: argparse.Namespace) -> StreamingQuery:
    """Start a query."""
    return _sink(_items(spark, args), args)


def arguments_of(given: Sequence[str]) -> argparse.Namespace:
    """Read the arguments of a query."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", default="evenflow")
    parser.add_argument("--option", nargs=2, action="append", default=[])
    parser.add_argument("--out", type=Path, help="Parquet files here; else nowhere")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--work", type=int, default=0, help="hashes computed on every item")
    parser.add_argument("--tasks", action="store_true", help="tell the tasks' run times")
    parser.add_argument("--observe", action="store_true", help="tell the items' times")
    return parser.parse_args(given)


def _items(spark: SparkSession, args: argparse.Namespace) -> DataFrame:
    from evenflow.spark.columns import BASE  # noqa: PLC0415
    from evenflow_experiments.spark.generator import Generator  # noqa: PLC0415

    spark.dataSource.register(Generator)
    items = spark.readStream.format(args.format)
    if args.format == "json":
        items = items.schema(BASE.replace("payload BINARY", "payload STRING"))
    for name, value in args.option:
        items = items.option(name, value)
    return items.load()


def _observed(items: DataFrame) -> DataFrame:
    """Note the first and the last of the items' times in every batch's progress."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    micros = f.unix_micros("time")
    return items.observe("times", f.min(micros).alias("first"), f.max(micros).alias("last"))


def _worked(items: DataFrame, hashes: int) -> DataFrame:
    """Let every item cost some work."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    chain = f.aggregate(
        f.sequence(f.lit(1), f.lit(hashes)),
        f.sha2("payload", 512),
        lambda hashed, _: f.sha2(hashed.cast("binary"), 512),
    )
    return items.withColumn("work", chain)


def _sink(items: DataFrame, args: argparse.Namespace) -> StreamingQuery:
    if args.observe:
        items = _observed(items)
    if args.work:
        items = _worked(items, args.work)
    writer = items.writeStream.option("checkpointLocation", str(args.checkpoint))
    if args.out is None:
        return writer.format("noop").start()
    return writer.format("parquet").option("path", str(args.out)).start()


def _task_seconds(spark: SparkSession, query: StreamingQuery) -> Callable[[], list[float]]:
    """How long the tasks of the query's newest ended job ran."""
    from evenflow.spark.task_times import run_times  # noqa: PLC0415

    context = spark.sparkContext
    tracker = context.statusTracker()

    def newest() -> list[float]:
        for job in sorted(tracker.getJobIdsForGroup(query.runId), reverse=True):
            found = tracker.getJobInfo(job)
            if found is not None and found.status == "SUCCEEDED":
                stages = (run_times(context, stage) for stage in found.stageIds)
                return sorted(seconds for times in stages for seconds in times.values())
        return []

    return newest


def _follow(query: StreamingQuery, task_seconds: Callable[[], list[float]]) -> None:
    """Report every micro-batch until the input is closed or the query fails."""
    closed = input_closed()
    last = -1
    while not closed.wait(POLL_S):
        for batch in batches_of(query, last):
            last = batch["batch"]
            say(**batch, task_s=task_seconds())


def batches_of(query: StreamingQuery, last: int) -> list[dict[str, Any]]:
    """The micro-batches with rows that have ended since one; raises when the query has failed."""
    if not query.isActive:
        query.awaitTermination()
    newest = query.lastProgress
    if newest is None or newest.batchId <= last:
        return []  # asked often, and all of them are a hundred
    return [
        _batch(progress)
        for progress in query.recentProgress
        if progress.batchId > last and progress.numInputRows > 0
    ]


def _batch(progress: Any) -> dict[str, Any]:
    """What is told of a micro-batch; it ended ``triggerExecution`` ms after its timestamp."""
    ms = dict(progress.durationMs)
    began = datetime.fromisoformat(progress.timestamp).timestamp()
    times = progress.observedMetrics.get("times")
    return {
        "batch": progress.batchId,
        "rows": progress.numInputRows,
        "ms": ms,
        "began": began,
        "ended": began + ms["triggerExecution"] / 1_000,
        "times": None if times is None else [times.first, times.last],
    }


def _summary(spark: SparkSession, out: Path) -> dict[str, Any]:
    """What is in the Parquet files that Spark counts as written."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    row = spark.read.parquet(str(out)).agg(
        f.count("*").alias("rows"),
        f.count_distinct("id").alias("distinct"),
        f.min("id").alias("first"),
        f.max("id").alias("last"),
    )
    return dict(row.collect()[0].asDict())


if __name__ == "__main__":
    main()
