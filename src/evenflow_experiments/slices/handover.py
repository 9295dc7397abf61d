"""``evenflow experiment handover``: how long a load balancing process takes (MAPE-SDDL, Table II).

One node owns all slices of a topic while a publisher sends items of 7.3 kB at a steady rate. A
second node joins; the balancer moves half of all slices to it in one session; the second node
leaves again and gives them back. That is repeated for each number of slices and each rate.
Everything runs as real processes over DDS on this machine. The time of a move is the balancer's:
from its first order until the taker owns the slices. What was lost or repeated is counted from what
the nodes' application really processed, and the delay is that of the items published from the
beginning of a move until half a second after its end.
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
from evenflow.errors import ExperimentError
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.arrivals import FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.stream import SteadyStream

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
APP = "evenflow_experiments.slices.arrivals:note"


@experiment("handover", HELP)
@click.option("--moves", metavar="N", type=int, default=0, help="moves of each cell (7; quick: 3)")
def handover(given: Given, moves: int) -> int:
    """Measure every cell and report."""
    progress = Progress("handover")
    moves = moves or (3 if given.quick else 7)
    cells = []
    for slices, rate in QUICK if given.quick else PAPER_MS:
        progress(f"{slices} slices at {rate:g} MB/s, {moves} moves")
        with tempfile.TemporaryDirectory(prefix="evenflow-handover-") as folder:
            cells.append(measure(given, slices, rate, moves, Path(folder)))
    show(cells)
    write_json(given.json, {"cells": cells})
    if given.plot:
        plot(given.plot, cells)
    return 1 if any(cell["lost"] or cell["repeated"] for cell in cells) else 0


def measure(given: Given, slices: int, rate: float, moves: int, folder: Path) -> dict[str, Any]:
    """Measure one cell of the table."""
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": slices}},
            "publisher.linger_ms": 0,
            "node.app": APP,
            "balancer.algorithm": "count",  # the papers': half of the slices, whatever they weigh
        }
    )
    with (
        LocalCluster(config, log_dir=folder) as cluster,
        Participant(config.domain) as participant,
    ):
        observer = Observer(participant)
        cluster.start_balancer()
        _start(cluster, "giver", folder)
        _await_owners(observer, slices, 1)
        stream = SteadyStream(config, bytes(ITEM_OCTETS), rate * 1e6 / ITEM_OCTETS)
        observer.look(1.0)
        receipts = []
        for number in range(1, moves + 1):
            name = f"taker-{number}"
            _start(cluster, name, folder)
            _await_owners(observer, slices, 2)
            receipts.append(_receipt_to(observer, name))
            observer.look(0.5)
            cluster.stop(name)
            _await_owners(observer, slices, 1)
        published = stream.end()
    return summary(slices, rate, receipts, Arrivals.read(folder), published)


def _start(cluster: LocalCluster, name: str, folder: Path) -> None:
    cluster.start_node(name, APP, env={FILE_VARIABLE: str(folder / f"{name}.arrivals")})


def _await_owners(observer: Observer, slices: int, nodes: int, patience_s: float = 30.0) -> None:
    """Look until this many nodes report that they own all slices between them, evenly."""
    view = observer.view("items")
    for _ in range(int(patience_s / 0.05)):
        observer.look(0.05)
        held = [len(report.slices) for report in view.nodes.values() if not any(report.states)]
        if len(held) == len(view.nodes) == nodes and sum(held) == slices:
            return
    raise ExperimentError(
        "handover", f"{nodes} nodes did not come to own {slices} slices in {patience_s:g} s"
    )


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
