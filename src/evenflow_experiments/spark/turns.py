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
POLL_S = 0.05


def in_turns(
    queries: Mapping[str, Sequence[str]], turns: int, turn_s: float, log: Path, within_s: float
) -> dict[str, list[dict[str, Any]]]:
    """Run queries in turns; the micro-batches of each that count.

    Args:
        queries: Arguments of each query, by its name.
        turns: How many turns of each count.
        turn_s: How long a turn is, from its first batch.
        log: Where what Spark says goes.
        within_s: How long a batch may take to come.
    """
    given = [list(arguments) for arguments in queries.values()]
    order = {"queries": given, "turns": turns + 1, "turn_s": turn_s}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}
    with SparkProcess(__name__, json.dumps(order), log=log) as process:
        for turn in range(turns + 1):
            for name in queries:
                told = process.wait_for("batches", within_s + turn_s)
                if turn:
                    found[name] += told["batches"][FIRST_BATCHES:]
    return found


# -- inside the process ---------------------------------------------------------------------------


def main() -> None:
    """Run the queries, each for its time; tell its batches when its turn is over."""
    order = json.loads(sys.argv[1])
    from evenflow.spark.session import session  # noqa: PLC0415 - Spark in this process alone

    spark = session("evenflow experiment")
    closed = input_closed()
    for _ in range(order["turns"]):
        for given in order["queries"]:
            say(batches=_turn(spark, given, order["turn_s"], closed))
    spark.stop()


def _turn(
    spark: SparkSession, given: Sequence[str], turn_s: float, closed: threading.Event
) -> list[dict[str, Any]]:
    query = started(spark, arguments_of(given))
    found: list[dict[str, Any]] = []
    end = None
    try:
        while not closed.wait(POLL_S) and (end is None or time.monotonic() < end):
            found += batches_of(query, found[-1]["batch"] if found else -1)
            if found and end is None:
                end = time.monotonic() + turn_s
    finally:
        query.stop()
    return found


if __name__ == "__main__":
    main()
