"""Spark queries that take turns in one session, so that what is compared meets the same machine.

A machine that others share is now fast and now slow. Two queries measured one after the other may
differ for that alone; in short turns both have their part of either. The first turn of each, in
which Spark gets warm, and the first batches of every turn, which read what has gathered meanwhile,
do not count.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import mean
from typing import TYPE_CHECKING, Any

from evenflow.spark.process import SparkProcess, input_closed, say
from evenflow_experiments.spark.query import arguments_of, batches_of, started

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

FIRST_BATCHES = 3
"""Of every turn; they do not count."""
FEWEST_BATCHES = FIRST_BATCHES + 2
"""Of every turn, however long they take: a rate is told from the end of one to that of another."""
ROWS = "{rows}"
POLL_S = 0.05


def in_turns(
    queries: Mapping[str, Sequence[str]],
    turns: int,
    turn_s: float,
    log: Path,
    within_s: float,
    warm_s: float = 0.0,
) -> dict[str, list[list[dict[str, Any]]]]:
    """Run queries in turns; the micro-batches of each turn that count.

    Args:
        queries: Arguments of each query, by its name. In them `ROWS` stands for the rows of a mean
            batch in the turn before.
        turns: How many turns of each count.
        turn_s: How long a turn is, from its first batch; longer until `FEWEST_BATCHES` have ended.
        log: Where what Spark says goes.
        within_s: How long a batch may take to come.
        warm_s: How long the first turn of each is; by default as long as the others.
    """
    given = [list(arguments) for arguments in queries.values()]
    seconds = [warm_s or turn_s] + [turn_s] * turns
    order = {"queries": given, "seconds": seconds}
    found: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in queries}
    with SparkProcess(__name__, json.dumps(order), log=log) as process:
        for turn in range(turns + 1):
            for name in queries:
                told = process.wait_for("batches", within_s + seconds[turn])
                if turn:
                    found[name].append(told["batches"][FIRST_BATCHES:])
    return found


# -- inside the process ---------------------------------------------------------------------------


def main() -> None:
    """Run the queries, each for its time; tell its batches when its turn is over."""
    order = json.loads(sys.argv[1])
    from evenflow.spark.session import session  # noqa: PLC0415 - Spark in this process alone

    spark = session("evenflow experiment")
    closed = input_closed()
    rows = 0
    for seconds in order["seconds"]:
        for given in order["queries"]:
            arguments = [one.replace(ROWS, str(rows)) for one in given]
            found = _turn(spark, arguments, seconds, closed)
            rows = round(mean(batch["rows"] for batch in found)) if found else rows
            say(batches=found)
    spark.stop()


def _turn(
    spark: SparkSession, given: Sequence[str], turn_s: float, closed: threading.Event
) -> list[dict[str, Any]]:
    query = started(spark, arguments_of(given))
    found: list[dict[str, Any]] = []
    end = None
    try:
        while not closed.wait(POLL_S) and not is_over(len(found), end, time.monotonic()):
            found += batches_of(query, found[-1]["batch"] if found else -1)
            if found and end is None:
                end = time.monotonic() + turn_s
    finally:
        query.stop()
    return found


def is_over(batches: int, end: float | None, now: float) -> bool:
    """Whether a turn has had its time, and batches enough to tell a rate."""
    return end is not None and now >= end and batches >= FEWEST_BATCHES


if __name__ == "__main__":
    main()
