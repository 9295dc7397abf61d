"""``evenflow experiment mobile-handover``: half of a gateway's nodes move to a new one.

The paper's experiment (MAPE-SDDL, section V): 600 mobile nodes on one gateway, each sends an item
every 10 s; a second, empty gateway is started, and half of the nodes move to it at the same time.
And a harder row: every node sends 10 items a second and receives a message a second. Each in two
modes: make-before-break, and break-before-make as in the paper. Who moves is decided by the
PoA-Manager, which finds the new gateway by itself.

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
import psutil
import rich_click as click

from evenflow.domain.channels import ACTION_OUTCOMES, ACTION_PLANS, Gone
from evenflow.errors import ExperimentError
from evenflow.mobile.poa.planner import HANDOVER
from evenflow_experiments.mobile.stage import Dispatcher, Stage, staged_config
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.watch import cpu_s

if TYPE_CHECKING:
    from collections.abc import Callable

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
PLANNER: Final = {"planner": "poa", "pace_per_s": 0.0, "rest_s": 1.0, "within_s": 30.0}
"""All at once, as in the paper."""
COLUMNS: Final = {
    "mode": "mode", "rate_hz": "Hz", "moved": "moved", "detected_ms": "found ms",
    "all_moved_ms": "all ms", "gap_ms_p50": "gap p50", "gap_ms_p99": "p99", "lost": "lost",
    "repeated": "twice", "downlink_lost": "down lost", "downlink_repeated": "twice",
}  # fmt: skip
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


@experiment(EXPERIMENT, HELP, quick_s=120)
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
    print_table(
        "Half of the nodes move to a new gateway (MAPE-SDDL, section V)",
        [*COLUMNS.values(), "paper ms"],
        [[*(row[name] for name in COLUMNS), _paper(row)] for row in rows],
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
        planner = {**PLANNER, "make_before_break": MODES[trial.mode]}
        config = staged_config(given, own_domain(), folder, {"planners": {"gateways": planner}})
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
    cores = steady_cores(stage, fleet, trial.warm_s)
    fleet.ask("books")
    move = move_half(stage, fleet)
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
        "detected_ms": round(move.detected_ms, 1),
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
        "cores_before_the_move": cores,
        "handshake_cpu_ms": handshake,
    }


def steady_cores(stage: Stage, fleet: FleetProcesses, seconds: float) -> dict[str, float]:
    """What sending alone takes, in cores: what is left of two is there for a handover."""

    def used() -> dict[str, float]:
        machine = psutil.cpu_times()
        return {
            OLD: stage.cpu_s(OLD),
            "nodes": cpu_s(fleet.pids),
            "all": sum(machine) - machine.idle - machine.iowait,
        }

    before = used()
    time.sleep(seconds)
    return {name: round((now - before[name]) / seconds, 2) for name, now in used().items()}


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of a plan."""

    receipts: list[MoveReceipt]
    detected_ms: float
    """From the first report of the new gateway to the plan."""
    all_moved_ms: float
    """From the plan to the last node that is usable at the new gateway."""
    cpu_s: dict[str, float]
    """CPU that each part used meanwhile."""


def move_half(stage: Stage, fleet: FleetProcesses) -> Moved:
    """Start the second gateway; wait until the nodes have gone that the PoA-Manager sends there."""
    plans = stage.participant.reader(ACTION_PLANS, [OLD])
    outcomes = stage.participant.reader(ACTION_OUTCOMES)
    stage.start_gateway(NEW)
    heard = time.time()
    order = _await_message(
        stage, plans, lambda one: one.kind == HANDOVER, "the PoA-Manager plans nothing"
    )
    planned = time.time()
    before = _costs(stage, fleet)
    wanted = (order.plan_id, order.action_id)
    _await_message(
        stage,
        outcomes,
        lambda one: (one.plan_id, one.action_id) == wanted,
        f"{OLD} does not answer",
    )
    after = _costs(stage, fleet)
    receipts = fleet.ask("books").moves
    failed = [one for one in receipts if not one.ok]
    if failed or not receipts:
        why = f"{failed[0].vehicle}: {failed[0].reason}" if failed else "nobody has moved"
        raise ExperimentError(EXPERIMENT, why)
    return Moved(
        receipts,
        detected_ms=(planned - heard) * 1_000,
        all_moved_ms=(max(one.ended for one in receipts) - planned) * 1_000,
        cpu_s={name: after[name] - used for name, used in before.items()},
    )


def _await_message(stage: Stage, reader: Any, is_it: Callable[[Any], bool], complaint: str) -> Any:
    deadline = time.monotonic() + MOVE_S
    while time.monotonic() < deadline:
        stage.cluster.check()
        for message in reader.take():
            if not isinstance(message, Gone) and is_it(message):
                return message
        time.sleep(0.002)
    raise ExperimentError(EXPERIMENT, complaint)


def _costs(stage: Stage, fleet: FleetProcesses) -> dict[str, float]:
    """CPU seconds that each part has used."""
    return {OLD: stage.cpu_s(OLD), NEW: stage.cpu_s(NEW), "nodes": cpu_s(fleet.pids)}


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
