"""``evenflow experiment standing``: what serving nodes keep in memory while Spark stands still.

A publisher sends 20 MB/s to two serving nodes, and a Spark query writes the items into Parquet.
Driver, Java and Spark's Python processes are stopped (SIGSTOP) for a minute while publishing goes
on, and continued. The resident memory of each node is read all the time. Its bound is what it was
before, while Spark read a little, and what `docs/protocol.md` (What is kept where) says that a
serving node keeps: cache, spill, and one epoch of each publisher or a thirtieth of what that one
keeps. In the end the ids in the files are counted: each must be there, once.
"""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psutil
import rich_click as click

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.processes import LocalCluster
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.watch import await_owners
from evenflow_experiments.spark.exactly_once import BATCH_WITHIN_S, serve
from evenflow_experiments.spark.query import QueryProcess

if TYPE_CHECKING:
    from evenflow.config import Config

HELP = """\
Resident memory of serving nodes beside its documented bound, while a Spark query stands still and
a publisher sends 20 MB/s; every id must arrive once when the query goes on."""

NAME: Final = "standing"
TOPIC: Final = "items"
SLICES: Final = 40
NODES: Final = ("node-1", "node-2")
MIB: Final = 1 << 20
CACHE, SPILL = 16 * MIB, 32 * MIB
ITEM: Final = 8_000
TICK_S: Final = 0.01
BEFORE_S: Final = 5.0
CALM_RATE: Final = 1.0
"""Before Spark is stopped nodes serve a little, so that all their code is loaded."""
EPOCH_S: Final = 0.1
AHEAD: Final = 30
"""A node takes one part in so many of what a publisher keeps, if that is more than an epoch."""
START_S, END_S = 60.0, 300.0


@experiment(NAME, HELP, quick_s=90)
@click.option("--seconds", metavar="S", type=float, default=0.0,
              help="how long Spark stands still (60; quick: 10)")  # fmt: skip
@click.option("--rate", metavar="MB/S", type=float, default=20.0, help="what is published (20)")
def standing(given: Given, seconds: float, rate: float) -> int:
    """Run once and report."""
    seconds = seconds or (10.0 if given.quick else 60.0)
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {TOPIC: {"slices": SLICES, "served": True, "assignment": "hash:id"}},
            "node": {"cache_bytes": CACHE, "spill_bytes": SPILL},
            "publisher": {"retention_bytes": 256 * MIB, "spill_bytes": 8 << 30, "block_s": 120.0},
        }
    )
    with tempfile.TemporaryDirectory(prefix="evenflow-standing-") as folder:
        figures = run(config, Path(folder), seconds, rate)
    columns = ("node", "before_mib", "most_mib", "bound_mib")
    print_table(
        f"Serving nodes while Spark stands still for {seconds:g} s",
        ["node", "before MiB", "most MiB", "bound MiB"],
        [[row[name] for name in columns] for row in figures["rows"]],
        note=f"{figures['published']:,} items at {rate:g} MB/s, {figures['lost']} lost, "
        f"{figures['repeated']} repeated; all were through {figures['recovered_s']} s after "
        "Spark went on",
    )
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, figures)
    over = any(row["most_mib"] > row["bound_mib"] for row in figures["rows"])
    return 1 if over or figures["lost"] or figures["repeated"] else 0


def run(config: Config, folder: Path, seconds: float, rate: float) -> dict[str, Any]:
    """Let Spark stand still once."""
    tell = Progress(NAME)
    (file := folder / "evenflow.toml").write_text(config.as_toml(), encoding="utf-8")
    with (
        LocalCluster(config, log_dir=folder) as cluster,
        Participant(config.domain) as participant,
    ):
        cluster.start_balancer()
        for node in NODES:
            serve(cluster, node)
        await_owners(Observer(participant), NAME, SLICES, len(NODES), START_S)
        tell("nodes own all slices; Spark starts")
        query = QueryProcess(
            "--option", "topic", TOPIC, "--option", "config", str(file),
            "--out", str(folder / "parquet"), "--checkpoint", str(folder / "checkpoint"),
            log=folder / "spark.log",
        ).await_start()  # fmt: skip
        try:
            with Publisher(TOPIC, config=config, participant=participant) as publisher:
                source = Source(publisher)
                source.publish(CALM_RATE, BEFORE_S)
                query.wait_for("batch", BATCH_WITHIN_S)
                watch = Watch(cluster)
                tell(f"Spark stands still; {rate:g} MB/s are published for {seconds:g} s")
                signal_all(query, signal.SIGSTOP)
                stood = [watch.now()]
                source.publish(rate, seconds, watch)
                kept = source.kept_bytes
                signal_all(query, signal.SIGCONT)
                stood.append(watch.now())
                tell(f"Spark goes on; {source.published:,} items are published")
                recovered_s = source.finish(watch)
            summary = query.end(timeout_s=END_S)
        finally:
            query.kill()
    room = CACHE + SPILL + max(rate * 1e6 * EPOCH_S, kept / AHEAD)
    return {
        "rows": watch.rows(room),
        "samples": watch.samples,
        "published": source.published,
        "lost": source.published - summary["distinct"],
        "repeated": summary["rows"] - summary["distinct"],
        "seconds": seconds,
        "stood": stood,
        "rate_mb_s": rate,
        "cache_bytes": CACHE,
        "spill_bytes": SPILL,
        "publisher_kept_bytes": kept,
        "recovered_s": round(recovered_s, 1),
    }


class Source:
    """Publishes numbered items at a rate."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.published = 0

    @property
    def kept_bytes(self) -> int:
        """What nobody has committed."""
        return (self.published - self._publisher.committed) * ITEM

    def publish(self, rate: float, seconds: float, watch: Watch | None = None) -> None:
        """Publish so many MB/s for some time."""
        each = max(1, round(rate * 1e6 * TICK_S / ITEM))
        payloads = np.zeros((each, ITEM), np.uint8)
        due = time.monotonic()
        end = due + seconds
        while due < end:
            first = self.published + 1
            ids = np.arange(first, first + each)
            self._publisher.publish_columns(payloads, ids=ids, senders="counter")
            self.published += each
            if watch is not None:
                watch.look()
            due += TICK_S
            time.sleep(max(0.0, due - time.monotonic()))

    def finish(self, watch: Watch) -> float:
        """Wait until everything is committed; return how long that took."""
        began = time.monotonic()
        while self.kept_bytes and time.monotonic() < began + END_S:
            time.sleep(TICK_S)
            watch.look()
        return time.monotonic() - began


class Watch:
    """Reads the resident memory of all nodes a few times a second."""

    EVERY_S: Final = 0.25

    def __init__(self, cluster: LocalCluster) -> None:
        self._processes = {node: psutil.Process(cluster.processes[node].pid) for node in NODES}
        self._before = {node: one.memory_info().rss for node, one in self._processes.items()}
        self._started = self._next = time.monotonic()
        self.samples: list[dict[str, float]] = []
        """The seconds, and the MiB of each node."""

    def now(self) -> float:
        """Seconds since it began."""
        return round(time.monotonic() - self._started, 2)

    def look(self) -> None:
        """Read, when it is time."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self.EVERY_S
            found = {
                node: round(one.memory_info().rss / MIB, 1) for node, one in self._processes.items()
            }
            self.samples.append({"s": self.now()} | found)

    def rows(self, room: float) -> list[dict[str, Any]]:
        """The most that each node had, beside what it had before and so many bytes."""
        return [
            {
                "node": node,
                "before_mib": round(before / MIB),
                "most_mib": round(max(sample[node] for sample in self.samples)),
                "bound_mib": round((before + room) / MIB),
            }
            for node, before in self._before.items()
        ]


def signal_all(query: QueryProcess, number: signal.Signals) -> None:
    """Send a signal to the driver, Java, and all that Java started."""
    for process in [psutil.Process(query.pid), *query.family()]:
        process.send_signal(number)


def plot(path: Path, figures: dict[str, Any]) -> None:
    """Draw the memory of each node over time, and its bound."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 3.5))
    axes = figure.add_subplot()
    for row in figures["rows"]:
        axes.plot(
            [sample["s"] for sample in figures["samples"]],
            [sample[row["node"]] for sample in figures["samples"]],
            label=row["node"],
        )
    axes.axhline(max(row["bound_mib"] for row in figures["rows"]), linestyle="--", label="bound")
    begin, end = figures["stood"]
    axes.axvspan(begin, end, alpha=0.1, label="Spark stands still")
    axes.set(xlabel="s", ylabel="resident MiB", ylim=(0, None))
    axes.legend()
    write_plot(path, figure)
