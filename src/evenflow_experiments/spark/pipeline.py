"""``evenflow experiment pipeline``: items per second, and delay, through the whole path into Spark.

*Whole path*: one publisher, DDS, serving nodes, Flight, a Spark query, a sink that does nothing;
all on this machine at once. The publisher offers items as fast as they are taken, and what it could
publish while the batches were timed must not be less than what Spark read. Beside it the same query
on two other sources. The *ceiling* makes its rows inside Spark, in batches of the same size; it
takes turns with the whole path in one Spark session, because the JVM's compiler takes up to a fifth
of the machine for more than half a minute, and whoever comes later would meet a warmer one. *json
files* is Spark's own file source on the same items as JSON lines, in a session of its own.

*Delay*: at a modest, steady rate, the time from an item's publication until the micro-batch with it
has ended; a batch's items are spread evenly between its first and its last. Epochs are short
(``publisher.epoch_ms`` of 20 unless it is set), as for any query that shall answer soon. Beside it
the duration of an empty micro-batch, in the same Spark session with the same stream flowing, in
turns: a query whose batches have one row for each partition.

*Skew*: :mod:`evenflow_experiments.spark.pipeline_skew`.

Spark has to get warm, so ``--quick`` has time for one size of items, without the files.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from itertools import chain
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import numpy as np
import rich_click as click

from evenflow.errors import ExperimentError
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, write_json
from evenflow_experiments.spark.exactly_once import TOPIC
from evenflow_experiments.spark.pipeline_domain import DELAY_RATE, ServedDomain, Stream
from evenflow_experiments.spark.pipeline_figures import plot, show
from evenflow_experiments.spark.pipeline_skew import measure_skew
from evenflow_experiments.spark.query import STARTED_S, QueryProcess
from evenflow_experiments.spark.turns import ROWS, in_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.config import Config

HELP = """\
Items per second through publisher, DDS, serving nodes, Flight and Spark, beside a source inside
Spark and Spark's JSON file source; and the delay from publication to the end of the micro-batch."""

NODES = 2
WARM_BATCHES = 3
"""Batches that count as warming up at least: the JVM compiles, Python imports."""
WARM_S, QUICK_WARM_S = 20.0, 5.0
"""How long batches count as warming up: so long the JVM takes a part of the cores to compile."""
SECONDS, QUICK_SECONDS = 30.0, 5.0
"""How long each path is measured."""
DELAY_OCTETS = 100
DELAY_EPOCH_MS = 20
"""Epochs in the part on delay: short beside a micro-batch, because an item waits for the end."""
TURNS = 4
"""Of items, and of empty micro-batches, in the part on delay."""
FILE_ROWS = 100_000
FEWEST_FILES, MOST_FILES, FILES_OCTETS = 20, 200, 1 << 30
"""JSON files for one size of items, and about how many bytes in all."""
SKEW_BATCHES, QUICK_SKEW_BATCHES = 20, 8
"""Micro-batches counted in each case of the part on skew."""
PARTS = ("throughput", "delay", "skew")
QUICK_PARTS = ("throughput",)


@experiment("pipeline", HELP, quick_s=90)
@click.option("--seconds", metavar="S", type=float, default=0.0, help=f"each path ({SECONDS:g})")
@click.option(
    "--bytes", "sizes", metavar="B", type=int, multiple=True, help="payload (100 and 7300)"
)
@click.option(
    "--part",
    "parts",
    type=click.Choice(PARTS),
    multiple=True,
    help="measure this part alone (may be repeated)",
)
@click.option("--nodes", metavar="N", type=int, default=NODES, help="serving nodes (2)")
def pipeline(
    given: Given, seconds: float, sizes: tuple[int, ...], parts: tuple[str, ...], nodes: int
) -> int:
    """Measure all paths and report."""
    progress = Progress("pipeline")
    seconds = seconds or (QUICK_SECONDS if given.quick else SECONDS)
    parts = parts or (QUICK_PARTS if given.quick else PARTS)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="evenflow-pipeline-") as name:
        warm_s = QUICK_WARM_S if given.quick else WARM_S
        bench = Bench(_config(given), Path(name), progress, warm_s, seconds, nodes)
        if "throughput" in parts:
            sizes = sizes or ((100,) if given.quick else (100, 7_300))
            with_files = not given.quick
            figures["rows"] = [
                row for octets in sizes for row in bench.throughput(octets, with_files=with_files)
            ]
        if "delay" in parts:
            figures |= bench.delay(_config(given, {"publisher.epoch_ms": DELAY_EPOCH_MS}))
        if "skew" in parts:
            batches = QUICK_SKEW_BATCHES if given.quick else SKEW_BATCHES
            figures["skew"] = measure_skew(_config(given), Path(name), batches, progress)
    show(figures)
    write_json(given.json, figures)
    if given.plot and "rows" in figures:
        plot(given.plot, figures["rows"])
    return 0


def _config(given: Given, more: Mapping[str, Any] | None = None) -> Config:
    return given.config(
        {
            **(more or {}),
            "domain.id": own_domain(),
            "topics": {TOPIC: {"slices": 32, "served": True, "assignment": "hash:sender"}},
            "publisher.retention_bytes": 256 << 20,
            "publisher.batch_items": 100_000,
            "publisher.batch_bytes": 4 << 20,
            "node.cache_bytes": 512 << 20,
        }
    )


class Bench:
    """Measures one path after the other."""

    def __init__(
        self,
        config: Config,
        folder: Path,
        progress: Progress,
        warm_s: float,
        seconds: float,
        nodes: int,
    ) -> None:
        self._config = config
        self._folder = folder
        self._tell = progress
        self._warm_s = warm_s
        self._seconds = seconds
        self._nodes = nodes
        self._queries = 0

    def throughput(self, octets: int, *, with_files: bool) -> list[dict[str, Any]]:
        """Items per second on each path, for one size."""
        self._tell(f"{octets} B: the whole path and the ceiling, in turns")
        ceiling = [
            "--format", "evenflow-generator", "--option", "rows", ROWS,
            "--option", "bytes", str(octets), "--option", "partitions", str(self._nodes),
        ]  # fmt: skip
        with ServedDomain(self._config, self._folder, self._nodes) as domain:
            source = Stream(domain.publisher, octets)
            try:
                turns = self._in_turns({"evenflow": domain.options(), "ceiling": ceiling})
            finally:
                source.end()
        limits = {"evenflow": source.published}
        if with_files:
            self._tell(f"{octets} B: JSON files")
            size = max(self._nodes, int(_rows_a_batch(turns["evenflow"])))
            files, count = self._files(octets, size)
            turns["json files"] = [self._measure(*files, most=count // self._nodes)]
        return [
            {
                "path": path,
                "bytes": octets,
                "items_per_s": round(rate(batches, limits.get(path))),
                "rows_a_batch": round(_rows_a_batch(batches)),
            }
            for path, batches in turns.items()
        ]

    def delay(self, config: Config) -> dict[str, Any]:
        """Delay through Spark at a modest rate, and the duration of an empty micro-batch."""
        self._tell(f"delay at {DELAY_RATE:,} items/s")
        empty = [
            "--format", "evenflow-generator", "--option", "rows", str(self._nodes),
            "--option", "bytes", "1", "--option", "partitions", str(self._nodes),
        ]  # fmt: skip
        with ServedDomain(config, self._folder, self._nodes) as domain:
            source = Stream(domain.publisher, DELAY_OCTETS, DELAY_RATE)
            try:
                turns = self._in_turns({"items": domain.options(), "empty": empty}, "--observe")
            finally:
                source.end()
        batches, empties = (list(chain.from_iterable(found)) for found in turns.values())
        delays = delays_of(batches)
        return {
            "epoch_ms": config.publisher.epoch_ms,
            "delay_ms": {
                "p50": round(float(np.percentile(delays, 50))),
                "p99": round(float(np.percentile(delays, 99))),
            },
            "batch_ms": round(median(batch["ms"]["triggerExecution"] for batch in batches)),
            "empty_batch_ms": round(median(batch["ms"]["triggerExecution"] for batch in empties)),
        }

    def _in_turns(
        self, sources: Mapping[str, list[str]], *more: str
    ) -> dict[str, list[list[dict[str, Any]]]]:
        """Micro-batches of several queries, each turn's by itself, in one Spark session."""
        self._queries += 1
        queries = {
            name: [*source, *more, "--checkpoint", str(self._folder / f"{name}-{self._queries}")]
            for name, source in sources.items()
        }
        turn_s, log = self._seconds / TURNS, self._folder / "spark.log"
        return in_turns(queries, TURNS, turn_s, log, STARTED_S, self._warm_s)

    def _measure(self, *arguments: str, most: float = math.inf) -> list[dict[str, Any]]:
        """Run a query in a session of its own; its micro-batches after the warm-up.

        Args:
            arguments: Of the query.
            most: So many micro-batches there are, if the time is not over before.
        """
        self._queries += 1
        checkpoint = self._folder / f"checkpoint-{self._queries}"
        log = self._folder / "spark.log"
        with QueryProcess(*arguments, "--checkpoint", str(checkpoint), log=log) as query:
            query.await_start()
            end = None
            while (end is None or time.monotonic() < end) and len(query.batches) < most:
                query.wait_for("batch", STARTED_S)
                end = end or time.monotonic() + self._warm_s + self._seconds
        return warm(query.batches, self._warm_s)

    def _files(self, octets: int, size: int) -> tuple[list[str], int]:
        """Write the items as JSON lines; say how to read them, and in how many files they are."""
        folder = self._folder / f"json-{octets}"
        folder.mkdir()
        rows = min(FILE_ROWS, max(1_000, size // self._nodes))
        files = min(MOST_FILES, max(FEWEST_FILES, FILES_OCTETS // (rows * (octets + 80))))
        line = {"slice": 1, "sender": "sender-001", "time": "2026-01-01T00:00:00.000Z"}
        filler = "x" * octets
        for number in range(files):
            with (folder / f"{number:05}.json").open("w", encoding="utf-8") as file:
                first = number * rows
                file.writelines(
                    json.dumps({**line, "id": item, "payload": filler}) + "\n"
                    for item in range(first, first + rows)
                )
        return [
            "--format", "json",
            "--option", "path", str(folder),
            "--option", "maxFilesPerTrigger", str(self._nodes),
        ], files  # fmt: skip


def warm(batches: list[dict[str, Any]], warm_s: float) -> list[dict[str, Any]]:
    """The batches after the warm-up; when they come to an end early, at least half of them."""
    began = batches[0]["ended"]
    cold = sum(batch["ended"] - began < warm_s for batch in batches)
    return batches[min(max(cold, WARM_BATCHES), len(batches) // 2) :]


def rate(
    turns: list[list[dict[str, Any]]], published: Callable[[float, float], float] | None = None
) -> float:
    """Rows per second, of each turn from the end of its first batch to the end of its last.

    Not more than was published in that time: reading off what had gathered before does not count.
    """
    rows = seconds = 0.0
    for batches in turns:
        if len(batches) > 1:
            start, end = batches[0]["ended"], batches[-1]["ended"]
            read = sum(batch["rows"] for batch in batches[1:])
            rows += min(read, published(start, end)) if published else read
            seconds += end - start
    if not seconds:
        raise ExperimentError("pipeline", "too few micro-batches to tell a rate: raise --seconds")
    return rows / seconds


def _rows_a_batch(turns: list[list[dict[str, Any]]]) -> float:
    return float(mean(batch["rows"] for batches in turns for batch in batches))


def delays_of(batches: list[dict[str, Any]]) -> list[float]:
    """Milliseconds from an item's time to the end of its batch: one item of every ten."""
    found: list[float] = []
    for batch in batches:
        first, last = batch["times"]
        times = np.linspace(first, last, max(2, batch["rows"] // 10))
        found += (batch["ended"] * 1_000 - times / 1_000).tolist()
    return found
