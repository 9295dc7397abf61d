"""The process that runs the fleet's pipeline: ``python -m evenflow.fleet.job``.

Tells its parent (:class:`~evenflow.spark.process.SparkProcess`): the ``phase`` of its start, every
``batch`` of a query, the ``table`` of the fleet now and then, and when its input is closed the
``summary``, counted by Spark in the table that its query has committed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.spark.process import FAILED, input_closed, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S: Final = 0.25
LOOK_EVERY_S: Final = 4.0
"""How often the table of the fleet is looked at."""
SETTINGS: Final = {
    # Twice as fast to the first results, and enough for what this pipeline computes.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_OWN_ERROR: Final = re.compile(r"evenflow\.errors\.\w+: (.+)")


def main() -> int:
    """Run until the input is closed or a query fails."""
    args = _arguments()
    closed = input_closed()
    say(phase="starting Java")
    try:
        _run(args, closed)
    except Exception as error:
        say(**{FAILED: reason_of(error)})
        raise
    return 0


def _run(args: argparse.Namespace, closed: threading.Event) -> None:
    from evenflow.fleet import pipeline  # noqa: PLC0415 - loading Spark takes a while
    from evenflow.spark.session import quick_home, session  # noqa: PLC0415

    os.environ.setdefault("SPARK_HOME", str(quick_home(args.folder)))
    settings = {**SETTINGS, "spark.sql.shuffle.partitions": str(args.cores)}
    spark = session("evenflow fleet", f"local[{args.cores}]", settings)
    say(phase="starting the queries")
    queries = pipeline.start_queries(spark, args.config, args.topic, args.folder)
    say(phase="the first micro-batches")
    _follow(spark, queries, closed)
    for query in queries.values():
        query.stop()
    say(summary=pipeline.look_at_table(spark))
    spark.stop()


def _follow(
    spark: SparkSession, queries: Mapping[str, StreamingQuery], closed: threading.Event
) -> None:
    from evenflow.fleet import pipeline  # noqa: PLC0415

    seen: dict[str, int] = {}
    next_look = 0.0
    while not closed.wait(POLL_S):
        for name, query in queries.items():
            if not query.isActive:
                query.awaitTermination()
            progress = query.lastProgress
            if progress and progress["batchId"] > seen.get(name, -1) and progress["numInputRows"]:
                seen[name] = progress["batchId"]
                ms = progress["durationMs"]["triggerExecution"]
                say(query=name, batch=seen[name], rows=progress["numInputRows"], ms=ms)
        if "table" in seen and time.monotonic() >= next_look:
            next_look = time.monotonic() + LOOK_EVERY_S
            say(table=pipeline.look_at_table(spark))


def reason_of(error: Exception) -> str:
    """What went wrong, without Spark's and Java's traces."""
    text = str(error)
    own = _OWN_ERROR.search(text)
    return own[1] if own else text.strip().partition("\n")[0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="the domain's configuration file")
    parser.add_argument("--topic", required=True, help="where the vehicles report")
    parser.add_argument("--folder", type=Path, required=True, help="for checkpoints and the outbox")
    parser.add_argument("--cores", type=int, default=2, help="tasks at the same time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
