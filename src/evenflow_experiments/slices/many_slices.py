"""``evenflow experiment many-slices``: what a load costs that is spread over many slices.

One publisher sends items one by one, in turn to all slices of a topic; two nodes note when they
were processed. Everything runs as real processes over DDS on this machine. There are two windows:

- In the first, CPU seconds of the publisher's process and of the nodes' are taken from the
  operating system, and delays from the items' times: from the call of ``publish`` to the
  application.
- In the second, a process of its own reads the data topic in all partitions and counts the samples
  that the publisher writes. It costs the publisher time to send to one more reader, so it is there
  in this window alone.

What was lost or repeated is counted over the whole run from what the nodes' application has
processed. The publisher's CPU includes the loop that paces it, about 1 % of a core, and the
nodes' includes the application, some 5 us a call.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import rich_click as click

from evenflow.domain import channels
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import LocalCluster, wait_until
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.helper import Helper, orders_of
from evenflow_experiments.slices.load import Load, Sent, Stream, books, streams
from evenflow_experiments.slices.watch import await_owners, cpu_s, taken_for_dead

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import Config

HELP = """\
One publisher's items spread over many slices: samples that it writes a second, CPU of publisher and
nodes, delay from publish to processing, and what was lost or repeated."""

NODES: Final = ("node-1", "node-2")
SETUP_S: Final = 60.0
_EVERYWHERE: Final = "*"
"""Every partition, in DDS's patterns."""
_TAKE: Final = 4_096


@experiment("many-slices", HELP)
@click.option("--rate", metavar="R", type=float, default=5_000.0, help="items/s (5,000)")
@click.option("--slices", metavar="N", type=int, default=1_000, help="slices of the topic (1,000)")
@click.option("--bytes", "octets", metavar="N", type=int, default=100, help="of a payload (100)")
@click.option(
    "--window", metavar="S", type=float, default=0.0, help="s of each window (20; quick: 4)"
)
def many_slices(given: Given, rate: float, slices: int, octets: int, window: float) -> int:
    """Measure both windows and report."""
    progress = Progress("many-slices")
    window = window or (4.0 if given.quick else 20.0)
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": slices}},
            "node.app": APP,
            "balancer.algorithm": "count",  # half of the slices each
        }
    )
    with tempfile.TemporaryDirectory(prefix="evenflow-slices-") as folder, ExitStack() as stack:
        stage = Stage(config, Path(folder), stack, streams(1, slices, rate, octets))
        stage.set_up()
        time.sleep(window / 4)
        progress(f"CPU and delay for {window:g} s: {slices} slices, {rate:g} items/s")
        costs = stage.costs(window)
        progress(f"samples for {window:g} s")
        samples = stage.samples(window)
        (sent,) = stage.end()
        figures = {"slices": slices, "rate": rate, "bytes": octets, "window_s": window}
        figures |= figures_of(costs, samples, sent, Arrivals.read(Path(folder)))
        figures |= {"taken_for_dead": stage.taken_for_dead}
    show(figures)
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, figures)
    return 1 if figures["lost"] or figures["repeated"] or sent.fault else 0


@dataclass(frozen=True, slots=True)
class Costs:
    """What the first window has shown."""

    begin: float
    """Seconds since 1970."""
    end: float
    items: int
    publisher_s: float
    """CPU seconds of the publisher's process."""
    node_s: tuple[float, ...]
    """CPU seconds of each node's."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What the second window has shown."""

    count: int
    items: int
    """Items published meanwhile."""
    seconds: float


class Stage:
    """The cluster and its load."""

    def __init__(
        self, config: Config, folder: Path, stack: ExitStack, wanted: list[Stream]
    ) -> None:
        self._config, self._folder = config, folder
        self._cluster = stack.enter_context(LocalCluster(config, log_dir=folder))
        self._load = stack.enter_context(Load("many-slices", config, wanted))
        self.taken_for_dead = 0
        """How often that happened to a node: what it had in hand may be processed twice."""

    def set_up(self) -> None:
        """Start the nodes, then let the load flow. Nobody looks on any more when it does."""
        self._cluster.start_balancer()
        for name in NODES:
            file = self._folder / f"{name}.arrivals"
            self._cluster.start_node(name, APP, env={FILE_VARIABLE: str(file)})
        with Participant(self._config.domain) as participant:
            slices = self._config.topics[0].slices
            await_owners(Observer(participant), "many-slices", slices, len(NODES), SETUP_S)
        self._load.begin()
        if not wait_until(lambda: self._load.look()[0].committed, SETUP_S, 0.5):
            raise ExperimentError("many-slices", f"nothing was committed within {SETUP_S:g} s")

    def costs(self, window_s: float) -> Costs:
        """Look at the processes' CPU at both ends of a window."""
        nodes = [self._cluster.processes[name].pid for name in NODES]
        before = cpu_s(self._load.pids), [cpu_s([pid]) for pid in nodes]
        begin, first = time.time(), len(self._load.look()[0].ids)
        time.sleep(window_s)
        end, last = time.time(), len(self._load.look()[0].ids)
        after = cpu_s(self._load.pids), [cpu_s([pid]) for pid in nodes]
        spent = tuple(b - a for a, b in zip(before[1], after[1], strict=True))
        return Costs(begin, end, last - first, after[0] - before[0], spent)

    def samples(self, window_s: float) -> Samples:
        """Count the samples of a window, and the items that were published in it."""
        topic = self._config.topics[0].name
        with Helper("many-slices", serve_counter, self._config, topic) as counter:
            counter.answer()
            first = len(self._load.look()[0].ids)
            count, seconds = counter.ask(window_s, SETUP_S + window_s)
            return Samples(count, len(self._load.look()[0].ids) - first, seconds)

    def end(self) -> list[Sent]:
        """End the load and the cluster."""
        sent = self._load.end()
        self.taken_for_dead = taken_for_dead(self._cluster.log("balancer"))
        self._cluster.close(0.0)  # everything is committed, nobody has to take anything over
        return sent


def serve_counter(config: Config, topic: str, pipe: Connection) -> None:
    """Count the samples that are written to a topic, whatever their partition, for so long."""
    with Participant(config.domain) as participant:
        reader = participant.reader(channels.data(topic), [_EVERYWHERE])
        waiter = participant.waiter()
        waiter.attach(reader)
        if not wait_until(lambda: reader.take(_TAKE), SETUP_S):
            raise ExperimentError("many-slices", f"no sample was seen within {SETUP_S:g} s")
        time.sleep(1.0)  # until the other writers, if there are more, have found the reader too
        pipe.send("ready")
        for window_s in orders_of(pipe):
            while reader.take(_TAKE):  # what has piled up since it was last looked at
                pass
            count, damaged, started = 0, reader.damaged, time.monotonic()
            while (left := started + window_s - time.monotonic()) > 0:
                waiter.wait(left)
                count += len(reader.take(_TAKE))
            count += reader.damaged - damaged
            pipe.send((count, time.monotonic() - started))


def figures_of(costs: Costs, samples: Samples, sent: Sent, arrivals: Arrivals) -> dict[str, Any]:
    """The figures as JSON has them; CPU in seconds of one core, for each second."""
    seconds = costs.end - costs.begin
    p50, p99 = np.percentile(arrivals.delays_ms(costs.begin, costs.end), (50, 99))
    return {
        "items_per_s": round(costs.items / seconds),
        "samples_per_s": round(samples.count / samples.seconds),
        "items_per_sample": round(samples.items / max(1, samples.count), 2),
        "publisher_cpu": round(costs.publisher_s / seconds, 3),
        "nodes_cpu": round(sum(costs.node_s) / seconds, 3),
        "node_cpu": [round(spent / seconds, 3) for spent in costs.node_s],
        "delay_ms_p50": round(float(p50), 1),
        "delay_ms_p99": round(float(p99), 1),
        "endpoints": sent.endpoints,
        **books([sent], arrivals),
        "fault": sent.fault,
    }


def show(figures: dict[str, Any]) -> None:
    """Print the figures."""
    columns = {
        "slices": "slices",
        "items/s": "items_per_s",
        "samples/s": "samples_per_s",
        "pub. CPU": "publisher_cpu",
        "node CPU": "nodes_cpu",
        "p50 ms": "delay_ms_p50",
        "p99 ms": "delay_ms_p99",
        "lost": "lost",
        "repeated": "repeated",
        "dead": "taken_for_dead",
    }
    print_table(
        "A load spread over many slices",
        list(columns),
        [[figures[key] for key in columns.values()]],
        note=figures["fault"]
        or "CPU: seconds of a core each second; dead: how often a node was taken for dead",
    )


def plot(path: Path, figures: dict[str, Any]) -> None:
    """Draw the CPU of the publisher and of each node."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(6, 3))
    axes = figure.add_subplot()
    axes.barh(("publisher", *NODES), (figures["publisher_cpu"], *figures["node_cpu"]))
    axes.invert_yaxis()
    axes.set(xlabel="CPU seconds each second")
    axes.set_title(f"{figures['items_per_s']:,} items/s over {figures['slices']:,} slices")
    write_plot(path, figure)
