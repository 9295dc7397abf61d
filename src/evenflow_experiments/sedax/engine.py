"""Runs spread over a Spark cluster, or one after another in this process.

Both give the same answers, because a run follows from its task and seed alone. On Spark every task
of a job does a few runs; a worker process loads the compiled kernel once and keeps it.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evenflow.errors import ExperimentError
from evenflow_experiments.sedax.tasks import Answer, Task, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

Run = tuple[Task, int]
"""A task and its seed."""

RUNS_A_PIECE = 4
"""Runs in one Spark task: few, so that the cores end together."""
POLL_S = 0.2


class Engine(Protocol):
    """Something that performs runs."""

    @property
    def name(self) -> str:
        """What a user calls it."""
        ...

    def perform(self, runs: Sequence[Run]) -> list[Answer]:
        """Return the answer of every run, in order."""
        ...


def progress_bar() -> Progress:
    """Return a bar on stderr that counts runs."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """All runs in this process."""

    name: str = "local"

    def perform(self, runs: Sequence[Run]) -> list[Answer]:
        """Run one after another."""
        with progress_bar() as bar:
            return [perform(task, seed) for task, seed in bar.track(runs, description="runs")]


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """The runs of a job on a Spark cluster."""

    master: str
    """Where Spark runs: ``local[2]``, ``spark://...``; the kernel must be installed there."""
    name: str = "spark"

    def perform(self, runs: Sequence[Run]) -> list[Answer]:
        """Spread the runs, dealt in random order so that long ones do not meet."""
        order = list(range(len(runs)))
        random.Random(0).shuffle(order)
        dealt = [runs[number] for number in order]
        spark = self._session()
        try:
            found = _with_bar(spark, len(runs), lambda: _collect(spark, dealt))
        finally:
            spark.stop()
        answers: list[Answer] = [{} for _ in runs]
        for number, answer in found:
            answers[order[number]] = answer
        return answers

    def _session(self) -> SparkSession:
        from pyspark.sql import SparkSession  # noqa: PLC0415  needs Java, so only when chosen

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return (
            SparkSession.builder.master(self.master)
            .appName("evenflow experiment overlay")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )


def _collect(spark: SparkSession, runs: Sequence[Run]) -> list[tuple[int, Answer]]:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415  this body is what the workers get

        kind = pa.map_(pa.string(), pa.list_(pa.float64()))
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            answers = [list(perform(*runs[number]).items()) for number in numbers]
            columns = [batch.column(0), pa.array(answers, kind)]
            yield pa.RecordBatch.from_arrays(columns, names=["run", "answer"])

    pieces = -(-len(runs) // RUNS_A_PIECE)
    numbers = spark.range(0, len(runs), 1, pieces)
    rows = numbers.mapInArrow(work, "run long, answer map<string, array<double>>").collect()
    return [(row["run"], row["answer"]) for row in rows]


def _with_bar(
    spark: SparkSession, runs: int, job: Callable[[], list[tuple[int, Answer]]]
) -> list[tuple[int, Answer]]:
    """Run a job in a thread and show how many of its tasks are done."""
    tracker = spark.sparkContext.statusTracker()
    with progress_bar() as bar, ThreadPoolExecutor(1) as pool:
        shown = bar.add_task("runs on Spark", total=runs)
        future = pool.submit(job)
        while True:
            try:
                found = future.result(timeout=POLL_S)
            except NotYet:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                bar.update(shown, completed=min(done * RUNS_A_PIECE, runs))
                continue
            bar.update(shown, completed=runs)
            return found


def spark_is_here() -> bool:
    """Say whether PySpark and a Java to run it are installed."""
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    return bool(java) and find_spec("pyspark") is not None


def engine_named(name: str | None, master: str) -> Engine:
    """Return the engine a user asked for: Spark unless told, if it can run here."""
    if name == "local" or (name is None and not spark_is_here()):
        return LocalEngine()
    if not spark_is_here():
        raise ExperimentError("overlay", "Spark needs pyspark and Java: use --engine local")
    return SparkEngine(master)
