"""``evenflow experiment outbox``: a publisher with an outbox, killed and measured.

First a publisher at 10,000 items/s is killed twenty times, every second time while no node takes
anything in (:mod:`evenflow_experiments.outbox.kills`). Then two publishers, one with an outbox and
one without, publish the same number of items by ``publish_columns``, in turns, until everything is
committed by a node whose application does nothing; what is told is the median of the ratios of each
pair.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import rich_click as click

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.outbox.kills import SETTINGS, Kills
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.helper import Helper, orders_of
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import Config

HELP = """\
A publisher with an outbox: what is lost and repeated when it is killed again and again, and its
throughput beside one without."""

SLICES: Final = 100
ITEMS: Final = {"100B": (100, 2_000_000), "8kB": (8_000, 60_000)}
"""Bytes of an item, and how many a run publishes."""
QUICK_SHARE: Final = 10
CALL: Final = 1_000
"""Items of one call."""
PATIENCE_S: Final = 120.0


@experiment("outbox", HELP, quick_s=90)
@click.option("--kills", metavar="N", type=int, default=0, help="how often (20; quick: 3)")
@click.option("--rate", metavar="R", type=float, default=10_000.0, help="items/s (10,000)")
@click.option("--pairs", metavar="N", type=int, default=0, help="runs of each (3; quick: 1)")
@click.option("--seed", metavar="N", type=int, default=1, help="when it is killed (1)")
def outbox(given: Given, kills: int, rate: float, pairs: int, seed: int) -> int:
    """Kill, measure and report."""
    progress = Progress("outbox")
    kills = kills or (3 if given.quick else 20)
    pairs = pairs or (1 if given.quick else 3)
    settings = {"topics": {"items": {"slices": SLICES, "assignment": "hash:id"}}}
    config = given.config({"domain.id": own_domain(), **SETTINGS, **settings})
    row = run_kills(config, kills, rate, seed, progress)
    progress(f"{row['published']} arrived: {row['lost']} lost, {row['repeated']} repeated")
    with tempfile.TemporaryDirectory(prefix="evenflow-outbox-", dir=".") as folder:
        for name, (size, count) in ITEMS.items():
            share = count // (QUICK_SHARE if given.quick else 1)
            progress(f"{pairs} pairs of {share} items of {name}")
            row |= run_pairs(config, Path(folder) / name, name, size, share, pairs)
    columns = ("kills", "published", "on_disk_alone", "lost", "repeated", "ratio_100B", "ratio_8kB")
    print_table(
        "A publisher with an outbox",
        list(columns),
        [[row[name] for name in columns]],
        note="on disk alone: owed, and nobody else had them; "
        "ratio: items/s with the outbox, divided by items/s without",
    )
    write_json(given.json, {"rows": [row], "seed": seed})
    if given.plot:
        plot(given.plot, row)
    return 1 if row["lost"] or row["repeated"] else 0


def run_kills(
    config: Config, kills: int, rate: float, seed: int, progress: Progress
) -> dict[str, Any]:
    """Kill a publisher so often; return what became of its items."""
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-outbox-", dir=".") as folder,
        LocalCluster(config, log_dir=Path(folder)) as cluster,
    ):
        trial = Kills("outbox", config, cluster, Path(folder), items_per_s=rate, seed=seed)
        trial.set_up()
        for number in range(1, kills + 1):
            trial.strike()
            progress(f"killed {number} of {kills} times")
        return trial.finish()


def run_pairs(
    config: Config, folder: Path, name: str, size: int, count: int, pairs: int
) -> dict[str, Any]:
    """Publish with and without an outbox, in turns."""
    folder.mkdir()
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(config, log_dir=folder))
        cluster.start_balancer()
        cluster.start_node("node-1", "evenflow.apps:discard")
        with Participant(config.domain) as participant:
            await_owners(Observer(participant), "outbox", SLICES, 1, PATIENCE_S)
        places = {"with": str(folder / "outbox"), "without": None}
        rates: dict[str, list[float]] = {kind: [] for kind in places}
        helpers = {
            kind: stack.enter_context(Helper("outbox", serve_publisher, config, place))
            for kind, place in places.items()
        }
        for helper in helpers.values():
            helper.answer()
            helper.ask((size, max(CALL, count // 10)), PATIENCE_S)
        for number in range(pairs):
            # Each kind goes first in turn.
            for kind in sorted(helpers, reverse=number % 2 == 1):
                rates[kind].append(count / helpers[kind].ask((size, count), PATIENCE_S))
    ratios = [a / b for a, b in zip(rates["with"], rates["without"], strict=True)]
    return {
        f"ratio_{name}": round(median(ratios), 3),
        f"ratios_{name}": [round(one, 3) for one in ratios],
        f"items_per_s_{name}": {kind: round(median(found)) for kind, found in rates.items()},
    }


def serve_publisher(config: Config, place: str | None, pipe: Connection) -> None:
    """Publish what is ordered; answer with the seconds until everything was committed."""
    with Publisher(config.topics[0].name, config=config, outbox=place) as publisher:
        pipe.send("ready")
        for size, count in orders_of(pipe):
            payloads = np.zeros((CALL, size), np.uint8)
            due = publisher.committed + count
            started = time.monotonic()
            for _ in range(count // CALL):
                publisher.publish_columns(payloads, timeout=PATIENCE_S)
            if not wait_until(lambda due=due: publisher.committed >= due, PATIENCE_S, 0.001):
                raise ExperimentError("outbox", f"{due - publisher.committed} uncommitted")
            pipe.send(time.monotonic() - started)


def plot(path: Path, row: dict[str, Any]) -> None:
    """Draw both ratios."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(5, 3))
    axes = figure.add_subplot()
    axes.bar(list(ITEMS), [row[f"ratio_{name}"] for name in ITEMS])
    axes.axhline(1.0, linewidth=0.5)
    axes.set(ylabel="items/s with an outbox / without")
    write_plot(path, figure)
