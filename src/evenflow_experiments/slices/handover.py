"""``evenflow experiment handover``: how long a load balancing process takes (MAPE-SDDL, Table II).

One node owns all slices of a topic while a publisher sends items of 7.3 kB at a steady rate. A
second node joins; the balancer moves half of all slices to it in one session; the second node
leaves again and gives them back. That is repeated for each number of slices and each rate.
Everything runs as real processes over DDS on this machine. The time of a move is the balancer's:
from its first order until the taker owns the slices. What was lost or repeated is counted from what
the nodes' application really processed, and the delay is that of the items published from the
beginning of a move until half a second after its end.

By default the application does nothing with an item but note it. With ``--app image`` it is the
paper's: every item is an image that is converted to grayscale, which two cores can do for a small
part of what is published; the nodes have a backlog then, and the publisher is held up by it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import rich_click as click

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError, UsageError
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, IMAGE_APP, Arrivals
from evenflow_experiments.slices.images import colour_jpeg
from evenflow_experiments.slices.stream import SteadyStream
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from evenflow.model.messages import Receipt

HELP = """\
Time of a load balancing process: half of all slices moved from one node to a new one, for several
numbers of slices and rates, beside Table II of the MAPE-SDDL paper."""

ITEM_OCTETS = 7_300
PAPER_MS = {
    (10, 1.4): 401, (100, 1.4): 422, (1000, 1.4): 432,
    (10, 4.0): 406, (100, 4.0): 433, (1000, 4.0): 450,
    (10, 10.0): 454, (100, 10.0): 479, (1000, 10.0): 491,
}  # fmt: skip
QUICK = ((10, 1.4), (100, 4.0), (1000, 10.0))
APPS = {"idle": APP, "image": IMAGE_APP}
CLOSE_S = 180.0
"""How long the nodes may need for what is left when the moves are over."""


@experiment("handover", HELP)
@click.option("--moves", metavar="N", type=int, default=0, help="moves of each cell (7; quick: 3)")
@click.option(
    "--app", type=click.Choice(["idle", "image"]), default="idle", help="what nodes do with an item"
)
@click.option("--slices", metavar="N", type=int, default=0, help="cells of this many slices alone")
@click.option("--rate", metavar="MB", type=float, default=0.0, help="cells of this rate alone")
def handover(given: Given, moves: int, app: str, slices: int, rate: float) -> int:
    """Measure every cell and report."""
    progress = Progress("handover")
    moves = moves or (3 if given.quick else 7)
    cells = []
    chosen = [
        cell
        for cell in (QUICK if given.quick else PAPER_MS)
        if cell[0] == (slices or cell[0]) and cell[1] == (rate or cell[1])
    ]
    if not chosen:
        raise UsageError("the paper has no such cell: 10, 100 or 1000 slices at 1.4, 4 or 10 MB/s")
    for cell_slices, cell_rate in chosen:
        progress(f"{cell_slices} slices at {cell_rate:g} MB/s, {moves} moves")
        with tempfile.TemporaryDirectory(prefix="evenflow-handover-") as folder:
            bench = Bench(given, APPS[app], Path(folder))
            cells.append(bench.measure(cell_slices, cell_rate, moves))
    show(cells)
    write_json(given.json, {"app": app, "cells": cells})
    if given.plot:
        plot(given.plot, cells)
    return 1 if any(cell["lost"] or cell["repeated"] for cell in cells) else 0


class Bench:
    """Measures cells of the table with one application.

    Args:
        given: What the command was given.
        app: The application of the nodes.
        folder: Where the nodes leave their notes.
    """

    def __init__(self, given: Given, app: str, folder: Path) -> None:
        self._given = given
        self._app = app
        self._folder = folder

    def measure(self, slices: int, rate: float, moves: int) -> dict[str, Any]:
        """Measure one cell of the table."""
        payload = colour_jpeg() if self._app == IMAGE_APP else bytes(ITEM_OCTETS)
        config = self._given.config(
            {
                "domain.id": own_domain(),
                "topics": {"items": {"slices": slices}},
                "publisher.linger_ms": 0,
                "node.app": self._app,
                "balancer.algorithm": "count",  # the papers': half of the slices, however heavy
            }
        )
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
            receipts = []
            for number in range(1, moves + 1):
                name = f"taker-{number}"
                self._start(cluster, name)
                await_owners(observer, "handover", slices, 2)
                receipts.append(_receipt_to(observer, name))
                observer.look(0.5)
                cluster.stop(name)
                await_owners(observer, "handover", slices, 1)
            published = stream.end(CLOSE_S)
        return summary(slices, rate, receipts, Arrivals.read(self._folder), published)

    def _start(self, cluster: LocalCluster, name: str) -> None:
        notes = {FILE_VARIABLE: str(self._folder / f"{name}.arrivals")}
        cluster.start_node(name, self._app, env=notes)


def _receipt_to(observer: Observer, name: str, patience_s: float = 10.0) -> Receipt:
    """The receipt of the handover to a node; it comes when all gaps are closed."""
    view = observer.view("items")
    for _ in range(int(patience_s / 0.05)):
        for receipt in view.receipts:
            moved = receipt.giver and receipt.outcome == "done"
            if moved and NodeId(receipt.taker).name == name:
                return receipt
        observer.look(0.05)
    raise ExperimentError("handover", f"no receipt of the handover to {name}")


def summary(
    slices: int, rate: float, receipts: list[Receipt], arrivals: Arrivals, published: int
) -> dict[str, Any]:
    """One cell's figures."""
    times = [receipt.ms for receipt in receipts]
    delays = np.concatenate(
        [arrivals.delays_ms(r.time, r.time + r.ms / 1000 + 0.5) for r in receipts]
    )
    return {
        "slices": slices,
        "mb_per_s": rate,
        "paper_ms": PAPER_MS.get((slices, rate)),
        "move_ms_median": round(median(times), 1),
        "move_ms_max": round(max(times), 1),
        "item_delay_ms_p99": round(float(np.percentile(delays, 99)), 1),
        "moves": len(times),
        "moved": sum(receipt.moved for receipt in receipts),
        "replayed": sum(receipt.replayed for receipt in receipts),
        "published": published,
        "lost": arrivals.lost(published) + sum(receipt.lost for receipt in receipts),
        "repeated": arrivals.repeated + sum(receipt.repeated for receipt in receipts),
    }


def show(cells: list[dict[str, Any]]) -> None:
    """Print the table."""
    columns = {
        "slices": "slices",
        "MB/s": "mb_per_s",
        "paper ms": "paper_ms",
        "median ms": "move_ms_median",
        "max ms": "move_ms_max",
        "item delay p99 ms": "item_delay_ms_p99",
        "moved": "moved",
        "replayed": "replayed",
        "lost": "lost",
        "repeated": "repeated",
    }
    print_table(
        "Moving half of all slices to a new node (MAPE-SDDL, Table II)",
        list(columns),
        [[cell[key] for key in columns.values()] for cell in cells],
    )


def plot(path: Path, cells: list[dict[str, Any]]) -> None:
    """Draw the times over the number of slices, a line for each rate, the paper's dashed."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 4.5))
    axes = figure.add_subplot()
    for colour, rate in enumerate(sorted({cell["mb_per_s"] for cell in cells})):
        mine = [cell for cell in cells if cell["mb_per_s"] == rate]
        slices = [cell["slices"] for cell in mine]
        style: dict[str, Any] = {"color": f"C{colour}", "marker": "o"}
        axes.plot(slices, [c["move_ms_median"] for c in mine], label=f"{rate:g} MB/s", **style)
        axes.plot(slices, [c["paper_ms"] for c in mine], **style, ls="--", alpha=0.5,
                  label=f"{rate:g} MB/s, paper")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="slices", ylabel="time of a move, ms (median)")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    write_plot(path, figure)
