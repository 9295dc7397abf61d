"""A Spark query in a process of its own, for experiments that measure it or kill it.

The process runs a source, ``format("evenflow")`` unless told otherwise, into a sink and says on its
output, a line of JSON each, what happens: ``{"started": ...}``, one ``{"batch": ...}`` for each
micro-batch with rows, and at the end ``{"summary": ...}``. It ends when its input is closed.
Killing it kills Spark with it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S = 0.05


class QueryProcess:
    """The query as its parent sees it."""

    def __init__(self, *arguments: str, log: Path) -> None:
        self.batches: list[dict[str, Any]] = []
        """What was said of the micro-batches so far."""
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # killed as a group: Spark's JVM is a child of the process
            )
        self._log = log
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                self._heard.put(said)
        self._heard.put(None)

    def wait_for(self, what: str, timeout_s: float) -> dict[str, Any]:
        """Wait until the process says something; `RuntimeError` when it ends or stays silent."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                said = self._heard.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise RuntimeError(f"no {what} within {timeout_s:g} s; {self._tail()}") from None
            if said is None:
                raise RuntimeError(f"the query ended before {what}; {self._tail()}")
            if "batch" in said:
                self.batches.append(said)
            if what in said:
                return said

    def hear(self) -> list[dict[str, Any]]:
        """The micro-batches so far, without waiting."""
        while not self._heard.empty():
            said = self._heard.get()
            if said is not None and "batch" in said:
                self.batches.append(said)
        return self.batches

    def _tail(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-2_000:]

    def end(self, timeout_s: float = 120.0) -> dict[str, Any]:
        """End the query in order; what it says at the end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        summary: dict[str, Any] = self.wait_for("summary", timeout_s)["summary"]
        self._process.wait(timeout_s)
        return summary

    def kill(self) -> None:
        """``kill -9`` for the process and its JVM."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> QueryProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()


# -- inside the process ---------------------------------------------------------------------------


def say(**what: Any) -> None:
    """Tell the parent."""
    print(json.dumps(what), flush=True)


def main() -> None:
    """Run the query until the input is closed."""
    args = _arguments()
    from evenflow.spark.session import session  # noqa: PLC0415 - Spark in this process alone

    spark = session("evenflow experiment")
    query = _sink(_items(spark, args), args)
    say(started=time.time())
    _follow(query, sys.stdin)
    query.stop()
    say(summary=_summary(spark, args.out) if args.out else {})
    spark.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", default="evenflow")
    parser.add_argument("--option", nargs=2, action="append", default=[])
    parser.add_argument("--out", type=Path, help="Parquet files here; else nowhere")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--work", type=int, default=0, help="hashes computed on every item")
    parser.add_argument("--observe", action="store_true", help="tell the items' times")
    return parser.parse_args()


def _items(spark: SparkSession, args: argparse.Namespace) -> DataFrame:
    from evenflow.experiments.generator import Generator  # noqa: PLC0415
    from evenflow.spark.columns import BASE  # noqa: PLC0415

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

    result = f.col("payload")
    for _ in range(hashes):
        result = f.sha2(result, 512)
    return items.withColumn("work", result)


def _sink(items: DataFrame, args: argparse.Namespace) -> StreamingQuery:
    if args.observe:
        items = _observed(items)
    if args.work:
        items = _worked(items, args.work)
    writer = items.writeStream.option("checkpointLocation", str(args.checkpoint))
    if args.out is None:
        return writer.format("noop").start()
    return writer.format("parquet").option("path", str(args.out)).start()


def _follow(query: StreamingQuery, stdin: TextIO) -> None:
    """Report every micro-batch until the input is closed or the query fails."""
    closed = threading.Event()

    def wait() -> None:
        stdin.read()
        closed.set()

    threading.Thread(target=wait, daemon=True).start()
    last = -1
    while not closed.wait(POLL_S):
        if not query.isActive:
            query.awaitTermination()
        for progress in query.recentProgress:
            if progress.batchId > last and progress.numInputRows > 0:
                last = progress.batchId
                say(**_batch(progress))


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
