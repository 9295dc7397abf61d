"""``evenflow experiment handover``: how long a load balancing process takes (MAPE-SDDL, Table II).

One node owns all slices of a topic while a publisher sends items of 7.3 kB at a steady rate. A
second node joins; the balancer moves half of all slices to it in one session; the second node
leaves again and gives them back. That is repeated for each number of slices and each rate.
Everything runs as real processes over DDS on this machine. The time of a move is the balancer's:
from its first order until the taker owns the slices, and processes. What the giver's cache does not
hold of the backlog is replayed by the publishers after that; it is told, too, when the balancer
knew that nothing was missing any more (nodes look every 20 ms). What was lost or repeated is
counted from what the nodes' application really processed, and the delay is that of the items
published from the beginning of a move until half a second after its end.

Two set-ups:

*saturated*, the paper's. Every item is an image that is converted to grayscale, and a core does 48
of them a second, as a node of the paper does (an image of ours is converted so often that it takes
that long). Giver and taker have a core each, if there are two, and share it with the application.
At 1.4 MB/s four times as much comes as one can do, at 10 MB/s twenty-eight times. Before every
move the nodes have nothing to do; then the backlog grows for as long as the taker takes to start,
and goes with the slices. After it the application does nothing until the backlog is gone.

*idle*. The application only notes what came, so the time of a move is that of the protocol alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError, UsageError
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, write_json
from evenflow_experiments.slices.arrivals import (
    APP,
    CALM,
    FILE_VARIABLE,
    IMAGE_APP,
    ROUNDS_VARIABLE,
    Arrivals,
)
from evenflow_experiments.slices.handover_figures import (
    PAPER_MS,
    Move,
    figures,
    plot,
    show,
    summary,
)
from evenflow_experiments.slices.images import colour_jpeg, image_s
from evenflow_experiments.slices.stream import SteadyStream
from evenflow_experiments.slices.throughput.landmarks import TABLE_START
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from evenflow.config import Config

HELP = """\
Time of a load balancing process: half of all slices moved from one node to a new one, for several
numbers of slices and rates, with the paper's image application under more than it can do and with
an idle one, beside Table II of the MAPE-SDDL paper."""

ITEM_OCTETS = 7_300
QUICK = ((10, 1.4), (100, 1.4), (1000, 1.4), (10, 10.0), (1000, 10.0))
"""Cells of a quick look: those from which the paper derives something, and its largest."""
FEW_ITEMS = 500
"""What may wait at the giver when it counts as having nothing to do."""
CLOSE_S = 180.0
"""How long the nodes may need for what is left when the moves are over."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the nodes do with items."""

    app: str
    rounds: int
    """How often an image is converted; 0 when items are none."""
    moves: int
    quick_moves: int
    settings: dict[str, int]


def setup_named(name: str) -> Setup:
    """The set-up of a name; the paper's is as slow on this machine as the paper's nodes were."""
    if name == "idle":
        return Setup(APP, 0, 7, 3, {})
    rounds = max(1, round(1 / (TABLE_START * image_s())))
    room = {"publisher.retention_bytes": 512 << 20, "node.cache_bytes": 512 << 20}
    return Setup(IMAGE_APP, rounds, 5, 2, {"node.deliver_items": 1, **room})


SETUPS = ("saturated", "idle")


@experiment("handover", HELP, quick_s=180)
@click.option(
    "--moves", metavar="N", type=int, default=0, help="moves of each cell (5 and 7; quick: 2 and 3)"
)
@click.option(
    "--setup", "names", metavar="NAME", type=click.Choice(SETUPS), multiple=True,
    help=f"{', '.join(SETUPS)} (may be repeated; both)",
)  # fmt: skip
@click.option("--slices", metavar="N", type=int, default=0, help="cells of this many slices alone")
@click.option("--rate", metavar="MB", type=float, default=0.0, help="cells of this rate alone")
def handover(given: Given, moves: int, names: tuple[str, ...], slices: int, rate: float) -> int:
    """Measure every cell and report."""
    progress = Progress("handover")
    chosen = [
        cell
        for cell in (QUICK if given.quick else PAPER_MS)
        if cell[0] == (slices or cell[0]) and cell[1] == (rate or cell[1])
    ]
    if not chosen:
        raise UsageError("the paper has no such cell: 10, 100 or 1000 slices at 1.4, 4 or 10 MB/s")
    found: dict[str, list[dict[str, Any]]] = {}
    for name in names or SETUPS:
        setup = setup_named(name)
        count = moves or (setup.quick_moves if given.quick else setup.moves)
        found[name] = []
        for cell_slices, cell_rate in chosen:
            progress(f"{name}: {cell_slices} slices at {cell_rate:g} MB/s, {count} moves")
            with tempfile.TemporaryDirectory(prefix="evenflow-handover-") as folder:
                bench = Bench(given, setup, Path(folder))
                found[name].append(bench.measure(cell_slices, cell_rate, count))
        show(name, found[name])
        write_json(given.json, figures(found))
    if given.plot:
        plot(given.plot, found)
    cells = [cell for setups in found.values() for cell in setups]
    return 1 if any(cell["lost"] or cell["repeated"] for cell in cells) else 0


class Bench:
    """Measures cells of the table in one set-up.

    Args:
        given: What the command was given.
        setup: What the nodes do.
        folder: Where the nodes leave their notes.
    """

    def __init__(self, given: Given, setup: Setup, folder: Path) -> None:
        self._given = given
        self._setup = setup
        self._folder = folder

    def measure(self, slices: int, rate: float, moves: int) -> dict[str, Any]:
        """Measure one cell of the table."""
        payload = colour_jpeg() if self._setup.rounds else bytes(ITEM_OCTETS)
        config = self._config(slices)
        with (
            LocalCluster(config, log_dir=self._folder) as cluster,
            Participant(config.domain) as participant,
        ):
            observer = Observer(participant)
            cluster.start_balancer()
            self._start(cluster, "giver")
            await_owners(observer, "handover", slices, 1)
            stream = SteadyStream(config, payload, rate * 1e6 / len(payload))
            observer.look(1.0)
            done = []
            for number in range(1, moves + 1):
                self._be_calm(on=False)
                name = f"taker-{number}"
                self._start(cluster, name)
                done.append(_move_to(observer, name))
                await_owners(observer, "handover", slices, 2)
                observer.look(0.5)
                self._be_calm(on=True)
                cluster.stop(name)
                await_owners(observer, "handover", slices, 1)
                self._await_nothing_waits(observer)
            published = stream.end(CLOSE_S)
        return summary(slices, rate, done, Arrivals.read(self._folder), published)

    def _config(self, slices: int) -> Config:
        return self._given.config(
            {
                "domain.id": own_domain(),
                "topics": {"items": {"slices": slices}},
                "publisher.linger_ms": 0,
                "node.app": self._setup.app,
                "balancer.algorithm": "count",  # the papers': half of the slices, however heavy
                **self._setup.settings,
            }
        )

    def _start(self, cluster: LocalCluster, name: str) -> None:
        notes = {FILE_VARIABLE: str(self._folder / f"{name}.arrivals")}
        rounds = {ROUNDS_VARIABLE: str(self._setup.rounds)}
        process = cluster.start_node(name, self._setup.app, env=notes | rounds)
        cores = sorted(os.sched_getaffinity(0))
        if self._setup.rounds and len(cores) > 1:
            os.sched_setaffinity(process.pid, {cores[0] if name == "giver" else cores[1]})

    def _be_calm(self, *, on: bool) -> None:
        calm = self._folder / CALM
        if on:
            calm.touch()
        else:
            calm.unlink(missing_ok=True)

    def _await_nothing_waits(self, observer: Observer, patience_s: float = 120.0) -> None:
        """Wait until the giver has worked off what waited, but for what has just come."""
        if not self._setup.rounds:
            return
        view = observer.view("items")
        old = max((report.number for report in view.nodes.values()), default=0)
        for _ in range(int(patience_s / 0.1)):
            observer.look(0.1)
            fresh = [report for report in view.nodes.values() if report.number > old + 1]
            if fresh and all(report.backlog_items < FEW_ITEMS for report in fresh):
                return
        raise ExperimentError("handover", f"the backlog was not gone after {patience_s:g} s")


def _move_to(observer: Observer, name: str, patience_s: float = 60.0) -> Move:
    """The handover to a node; its receipt comes when all gaps are closed."""
    view = observer.view("items")
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        for receipt in view.receipts:
            moved = receipt.giver and receipt.outcome == "done"
            if moved and NodeId(receipt.taker).name == name:
                return Move(receipt, 1000 * (time.time() - receipt.time))
        observer.look(0.01)
    raise ExperimentError("handover", f"no receipt of the handover to {name}")
