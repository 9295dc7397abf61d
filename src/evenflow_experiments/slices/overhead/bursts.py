"""``evenflow experiment overhead``: what a node costs when nothing moves.

MAPE-SDDL, Figures 18 and 19.

The same application (colour image to grayscale) processes the same items twice: behind a plain DDS
reader, and behind a processing node with its balancer. Both workers stand ready on the same core;
the client sends a burst, faster than they can process, to one and then to the other, in turns, so
that whatever else the machine does hits both alike. Throughput and round-trip delay are measured at
the client, from the replies. The figures are medians over pairs of neighbouring bursts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow.model.batch import Item
from evenflow.model.sample import encode_item
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.images import colour_jpeg
from evenflow_experiments.slices.overhead_worker import BALANCED, CORE, PLAIN, REPLIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config

HELP = """\
Throughput and round-trip delay of an image application behind a plain DDS reader and behind a
processing node, in turns, beside Figures 18 and 19 of the MAPE-SDDL paper."""

SLICES = 10
RATE = 10_000
"""Items a second that the client sends: about 14 times what can be processed, as in the paper."""
PAPER_LOSS, PAPER_INCREASE = 1.4, 1.58


@dataclass(frozen=True, slots=True)
class Burst:
    """What the client saw of one burst."""

    throughput: float
    """Items a second, from the first item sent to the last reply."""
    delay_s: float
    """Mean round-trip delay."""


@experiment("overhead", HELP)
@click.option("--pairs", metavar="N", type=int, default=0, help="pairs of bursts (30)")
@click.option("--items", metavar="N", type=int, default=0, help="items a burst (1000)")
def overhead(given: Given, pairs: int, items: int) -> int:
    """Measure and report."""
    progress = Progress("overhead")
    pairs = pairs or (10 if given.quick else 30)
    items = items or (700 if given.quick else 1_000)
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {name: {"slices": SLICES} for name in (PLAIN, BALANCED, REPLIES)},
            "publisher.linger_ms": 0,
        }
    )
    with tempfile.TemporaryDirectory(prefix="evenflow-overhead-") as folder:
        bursts = measure(config, Path(folder), pairs, items, progress)
    figures = summary(bursts)
    show(figures)
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, bursts)
    return 0


class Client:
    """Sends bursts and counts replies."""

    def __init__(self, config: Config, participant: Participant) -> None:
        self._image = colour_jpeg()
        self._replies = participant.reader(data(REPLIES), [REPLIES])
        self._waiter = participant.waiter()
        self._waiter.attach(self._replies)
        self._publisher = Publisher(
            BALANCED, config=config, assignment="modulo:id", participant=participant
        )
        self._writer = participant.writer(data(PLAIN), PLAIN)
        self._id = 0

    def _send_plain(self, item: Item) -> None:
        encoded = encode_item(1, item.id, 1, item.id % SLICES, item.id, item)
        while not self._writer.write_encoded(encoded):
            time.sleep(0.0005)

    def _send_balanced(self, item: Item) -> None:
        self._publisher.publish(item.payload, sender=item.sender, id=item.id, time=item.time)

    def burst(self, kind: str, items: int) -> Burst:
        """Send items at the rate of the paper and wait for all the replies."""
        send: Callable[[Item], None]
        send = self._send_plain if kind == PLAIN else self._send_balanced
        delays: list[float] = []
        sent = 0
        started = time.monotonic()
        while len(delays) < items:
            while sent < items and sent <= (time.monotonic() - started) * RATE:
                self._id += 1
                sent += 1
                send(Item("client", self._id, time.time_ns() // 1000, self._image))
            self._waiter.wait(0.0005 if sent < items else 0.05)
            now = time.time_ns() // 1000
            for sample in self._replies.take(256):
                delays += [(now - published) / 1e6 for published in sample.rows.times.tolist()]
            if time.monotonic() - started > 120:
                raise ExperimentError(
                    "overhead", f"{items - len(delays)} replies of {kind} did not come"
                )
        return Burst(items / (time.monotonic() - started), mean(delays))

    def ready(self) -> bool:
        """Whether the plain reader is found; for the node, replay makes up for being early."""
        return bool(self._writer.matched()) and self._replies.matched() == 2

    def close(self) -> None:
        """Wait for the last commits and leave."""
        self._publisher.close(30)


def measure(
    config: Config, folder: Path, pairs: int, items: int, progress: Progress
) -> list[dict[str, Burst]]:
    """Run pairs of bursts; which of the two comes first alternates."""
    others = set(range(os.cpu_count() or 1)) - {CORE}
    if not others:
        raise ExperimentError("overhead", "it needs two cores, this machine has one")
    os.sched_setaffinity(0, others)
    file = folder / "evenflow.toml"
    file.write_text(config.as_toml(), encoding="utf-8")
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "evenflow_experiments.slices.overhead_worker", kind, str(file)]
        )
        for kind in (PLAIN, BALANCED)
    ]
    try:
        with (
            LocalCluster(config, log_dir=folder) as cluster,
            Participant(config.domain) as participant,
        ):
            cluster.start_balancer()
            client = Client(config, participant)
            if not wait_until(client.ready, 30):
                raise ExperimentError("overhead", "the worker with the plain reader did not start")
            for kind in (PLAIN, BALANCED):
                client.burst(kind, items // 2)
            progress(f"{pairs} pairs of bursts of {items} images, {len(colour_jpeg()):,} B each")
            results = []
            for number in range(pairs):
                order = (PLAIN, BALANCED) if number % 2 else (BALANCED, PLAIN)
                results.append({kind: client.burst(kind, items) for kind in order})
                progress(f"pair {number + 1} of {pairs}")
            client.close()
            return results
    finally:
        os.sched_setaffinity(0, others | {CORE})
        for worker in workers:
            worker.kill()
            worker.wait()


def summary(bursts: list[dict[str, Burst]]) -> dict[str, Any]:
    """The figures: medians over the pairs."""
    loss = [100 * (1 - b[BALANCED].throughput / b[PLAIN].throughput) for b in bursts]
    increase = [100 * (b[BALANCED].delay_s / b[PLAIN].delay_s - 1) for b in bursts]
    return {
        "throughput_loss_percent": round(median(loss), 2),
        "rtd_increase_percent": round(median(increase), 2),
        "paper": {"throughput_loss_percent": PAPER_LOSS, "rtd_increase_percent": PAPER_INCREASE},
        "pairs": len(bursts),
        **{
            kind: {
                "items_per_s": round(median(b[kind].throughput for b in bursts), 1),
                "rtd_ms": round(1000 * median(b[kind].delay_s for b in bursts), 1),
            }
            for kind in (PLAIN, BALANCED)
        },
        "losses_percent": [round(value, 2) for value in loss],
        "increases_percent": [round(value, 2) for value in increase],
    }


def show(figures: dict[str, Any]) -> None:
    """Print the table."""
    plain, balanced = figures[PLAIN], figures[BALANCED]
    print_table(
        "Overhead of a processing node (MAPE-SDDL, Figures 18 and 19)",
        ["", "plain reader", "processing node", "overhead %", "paper %"],
        [
            ["throughput, items/s", plain["items_per_s"], balanced["items_per_s"],
             figures["throughput_loss_percent"], PAPER_LOSS],
            ["round-trip delay, ms", plain["rtd_ms"], balanced["rtd_ms"],
             figures["rtd_increase_percent"], PAPER_INCREASE],
        ],
        note=f"medians over {figures['pairs']} pairs of bursts",
    )  # fmt: skip


def plot(path: Path, bursts: list[dict[str, Burst]]) -> None:
    """Draw the throughput and the delay of every burst."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(8, 3.5))
    labels = {"throughput": "items/s", "delay_s": "round-trip delay, s"}
    for place, (name, label) in enumerate(labels.items(), 1):
        axes = figure.add_subplot(1, 2, place)
        for kind in (PLAIN, BALANCED):
            axes.plot([getattr(pair[kind], name) for pair in bursts], "o-", label=kind)
        axes.set(xlabel="pair of bursts", ylabel=label, ylim=(0, None))
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    write_plot(path, figure)
