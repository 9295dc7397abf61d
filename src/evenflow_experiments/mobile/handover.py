"""``evenflow experiment mobile-handover``: half of a gateway's nodes move to a new one.

The paper's experiment (MAPE-SDDL, section V): 600 mobile nodes on one gateway, each sends an item
every 10 s; a second, empty gateway is started, and half of the nodes move to it at the same time.
And a harder row: every node sends 10 items a second and receives a message a second. Each in two
modes: make-before-break, and break-before-make as in the paper.

The clock starts with the plan and ends with the last node attached and usable at the new gateway,
handshakes included. Both ends run on this machine, so what handshakes cost is told apart.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import rich_click as click

from evenflow.domain.channels import ACTION_OUTCOMES, ACTION_PLANS
from evenflow.errors import ExperimentError
from evenflow.mobile.gateway.shell.executors import HANDOVER
from evenflow.model.checked_json import encode_json
from evenflow.model.messages import ActionOrder
from evenflow_experiments.mobile.stage import Dispatcher, Stage, staged_config
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot

if TYPE_CHECKING:
    from evenflow.fleet.mobile_processes import FleetProcesses
    from evenflow.fleet.tour import MoveReceipt, TourBooks

HELP = """\
Half of 600 mobile nodes move from one gateway to a new one at the same time (MAPE-SDDL, section V):
how long until the last is usable there, and what is lost or comes twice, up and down."""

EXPERIMENT: Final = "mobile-handover"
OLD, NEW = "g1", "g2"
MODES: Final = {"make-before-break": True, "break-before-make": False}
RATES: Final = (0.1, 10.0)
"""The paper's, and a harder one, with messages to the nodes."""
PAPER_MS: Final = 750.0
WITHIN_S: Final = 30.0
MOVE_S: Final = 60.0
"""How long all moves may take."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One row."""

    mode: str
    rate_hz: float
    downlink: bool
    nodes: int
    moved: int
    warm_s: float
    """How long nodes send before the move, and after it."""


@experiment(EXPERIMENT, HELP, quick_s=90)
@click.option("--nodes", metavar="N", type=int, default=0, help="mobile nodes (600; quick: 60)")
@click.option("--rate", metavar="R", type=float, multiple=True, help="items/s of each (0.1, 10)")
@click.option("--rounds", metavar="N", type=int, default=1, help="runs of each row (1)")
@click.option("--processes", metavar="N", type=int, default=1, help="processes of nodes (1)")
def mobile_handover(
    given: Given, nodes: int, rate: tuple[float, ...], rounds: int, processes: int
) -> int:
    """Measure all rows and report."""
    progress = Progress(EXPERIMENT)
    nodes = nodes or (60 if given.quick else 600)
    trials = [
        Trial(mode, each, each >= 1, nodes, nodes // 2, 3.0 if given.quick or each >= 1 else 12.0)
        for each in rate or RATES
        for mode in MODES
    ]
    rows = []
    for number in range(rounds):
        for trial in trials:
            progress(f"{trial.mode}, {trial.rate_hz:g} items/s of each, round {number + 1}")
            rows.append(run_trial(given, trial, processes))
    columns = (
        "mode", "rate_hz", "moved", "all_moved_ms", "gap_ms_p50", "gap_ms_p99",
        "lost", "repeated", "downlink_lost", "downlink_repeated",
    )  # fmt: skip
    print_table(
        "Half of the nodes move to a new gateway (MAPE-SDDL, section V)",
        [*columns, "paper ms"],
        [[*(row[name] for name in columns), _paper(row)] for row in rows],
        note=handshakes(rows),
    )
    write_json(given.json, {"rows": rows, "paper": {"moved": 300, "all_moved_ms": PAPER_MS}})
    if given.plot:
        plot(given.plot, rows)
    wrong = ("lost", "repeated", "downlink_lost", "downlink_repeated")
    return 1 if any(row[name] for row in rows for name in wrong) else 0


def _paper(row: dict[str, Any]) -> float | None:
    """The paper's figure beside the row that does what it did."""
    return PAPER_MS if row["rate_hz"] < 1 and row["mode"] == "break-before-make" else None


def handshakes(rows: list[dict[str, Any]]) -> str:
    """What a handshake costs, in words."""
    gateway = np.median([row["handshake_cpu_ms"]["gateway"] for row in rows])
    node = np.median([row["handshake_cpu_ms"]["node"] for row in rows])
    return f"CPU of a handshake: gateway {gateway:.2f} ms, node {node:.2f} ms; both run here"


def run_trial(given: Given, trial: Trial, processes: int) -> dict[str, Any]:
    """Run one row."""
    with tempfile.TemporaryDirectory(prefix="evenflow-mobile-", dir=".") as name:
        folder = Path(name).resolve()
        config = staged_config(given, own_domain(), folder, {})
        with Stage(EXPERIMENT, config, folder, mailbox=trial.downlink) as stage:
            stage.start_gateway(OLD)
            with stage.fleet(processes, count=trial.nodes, rate_hz=trial.rate_hz) as fleet:
                return _measure(stage, fleet, trial)


def _measure(stage: Stage, fleet: FleetProcesses, trial: Trial) -> dict[str, Any]:
    cost, before = stage.cpu_s(OLD), fleet.ask("books").cpu_s
    books = fleet.ask("attach")
    handshake = {
        "gateway": round((stage.cpu_s(OLD) - cost) / trial.nodes * 1_000, 3),
        "node": round((books.cpu_s - before) / trial.nodes * 1_000, 3),
    }
    fleet.ask("drive")
    dispatcher = Dispatcher(stage) if trial.downlink else None
    time.sleep(trial.warm_s)
    fleet.ask("books")
    began = time.monotonic()
    address = stage.start_gateway(NEW)
    found = time.monotonic()
    move = move_half(stage, fleet, trial, address)
    time.sleep(trial.warm_s)
    sent = 0 if dispatcher is None else dispatcher.stop()
    fleet.ask("park")
    books = await_messages(fleet, sent)
    arrivals = stage.await_arrivals(books)
    if dispatcher is not None:
        dispatcher.close()
    fleet.ask("close", 1.0)
    return {
        "mode": trial.mode,
        "rate_hz": trial.rate_hz,
        "nodes": trial.nodes,
        "moved": len(move.receipts),
        "detected_ms": round((found - began) * 1_000, 1),
        "all_moved_ms": round(move.all_moved_ms, 1),
        "gap_ms_p50": _percentile([one.gap_ms for one in move.receipts], 50),
        "gap_ms_p99": _percentile([one.gap_ms for one in move.receipts], 99),
        "lost": books.published - arrivals.distinct,
        "repeated": arrivals.reports - arrivals.distinct,
        "disordered": arrivals.disordered,
        "downlink_lost": sent - books.messages,
        "downlink_repeated": books.repeated,
        "published": books.published,
        "messages": sent,
        "in_flight": sum(one.in_flight for one in move.receipts),
        "move_ms_p50": _percentile([one.milliseconds for one in move.receipts], 50),
        "move_ms_p99": _percentile([one.milliseconds for one in move.receipts], 99),
        "cpu_s_of_the_move": {name: round(used, 3) for name, used in move.cpu_s.items()},
        "handshake_cpu_ms": handshake,
    }


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of a plan."""

    receipts: list[MoveReceipt]
    all_moved_ms: float
    cpu_s: dict[str, float]
    """CPU that each part used meanwhile."""


def move_half(stage: Stage, fleet: FleetProcesses, trial: Trial, address: str) -> Moved:
    """Order half of the nodes to go; wait until all have gone."""
    nodes = [f"vehicle-{number:03}" for number in range(1, trial.moved + 1)]
    arguments = {
        "nodes": nodes,
        "addresses": [address],
        "within_s": WITHIN_S,
        "make_before_break": MODES[trial.mode],
    }
    order = ActionOrder(
        EXPERIMENT, "1", 1, OLD, HANDOVER, encode_json(arguments), undo=False, reason=EXPERIMENT
    )
    outcomes = stage.participant.reader(ACTION_OUTCOMES)
    writer = stage.participant.writer(ACTION_PLANS, OLD)
    _await_match(writer)
    before = {name: stage.cpu_s(name) for name in (OLD, NEW)}
    before["nodes"] = fleet.ask("books").cpu_s
    started = time.time()
    writer.write(order)
    deadline = time.monotonic() + MOVE_S
    while not [one for one in outcomes.take() if getattr(one, "plan_id", "") == EXPERIMENT]:
        if time.monotonic() > deadline:
            raise ExperimentError(EXPERIMENT, f"{OLD} did not say what came of the plan")
        time.sleep(0.02)
    books = fleet.ask("books")
    receipts = list(books.moves)
    failed = [one for one in receipts if not one.ok]
    if failed:
        raise ExperimentError(EXPERIMENT, f"{failed[0].vehicle}: {failed[0].reason}")
    cpu = {name: stage.cpu_s(name) - before[name] for name in (OLD, NEW)}
    cpu["nodes"] = books.cpu_s - before["nodes"]
    last = max((one.ended for one in receipts), default=started)
    return Moved(receipts, (last - started) * 1_000, cpu)


def _await_match(writer: Any) -> None:
    deadline = time.monotonic() + 10.0
    while not writer.matched():
        if time.monotonic() > deadline:
            raise ExperimentError(EXPERIMENT, f"{OLD} does not hear of plans")
        time.sleep(0.01)


def await_messages(fleet: FleetProcesses, sent: int) -> TourBooks:
    """Wait until everything is safe, and every message that was sent has come."""
    books = fleet.ask("flush", 60.0)
    deadline = time.monotonic() + 30.0
    while books.messages < sent and time.monotonic() < deadline:
        time.sleep(0.2)
        books = fleet.ask("books")
    return books


def _percentile(values: list[float], share: float) -> float:
    return round(float(np.percentile(values, share)), 2) if values else 0.0


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw how long all moves took, beside the paper's."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 3))
    axes = figure.add_subplot()
    names = [f"{row['mode']}\n{row['rate_hz']:g} items/s" for row in rows]
    axes.bar(names, [row["all_moved_ms"] for row in rows])
    axes.axhline(PAPER_MS, linewidth=0.5, label="paper")
    axes.set(ylabel="ms until all have moved")
    axes.legend()
    write_plot(path, figure)
