"""``evenflow experiment mobile-scale``: how many mobile nodes one gateway process carries.

1,000, 5,000 and 10,000 nodes, each a real client over QUIC, report once in 10 s to one gateway.
Told are the connections that it accepts a second, its CPU and memory for each node, and the delay
of an item from the node to a processing node in the domain. Then all nodes drive into a dead spot
at once: how long until the last is back, and what is lost or comes twice. Nodes and gateway share
this machine.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import rich_click as click

from evenflow_experiments.mobile.stage import Stage, staged_config
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot

if TYPE_CHECKING:
    from evenflow.fleet.mobile_processes import FleetProcesses

HELP = """\
1,000, 5,000 and 10,000 mobile nodes on one gateway process, each with 0.1 items/s: CPU and memory
for each node, delay, connections accepted a second, and a dead spot of all at once."""

EXPERIMENT: Final = "mobile-scale"
GATEWAY: Final = "g1"
SIZES: Final = (1_000, 5_000, 10_000)
QUICK_SIZES: Final = (200,)
COLUMNS: Final = {
    "nodes": "nodes", "connections_per_s": "accepted/s", "kib_per_node": "KiB/node",
    "gateway_mib": "MiB", "cpu_us_per_node": "CPU us", "delay_ms_p50": "delay ms p50",
    "delay_ms_p99": "p99", "back_ms": "back ms", "lost": "lost", "repeated": "twice",
}  # fmt: skip
ATTACH_S: Final = 600.0
BACK_S: Final = 300.0


@experiment(EXPERIMENT, HELP, quick_s=90)
@click.option("--nodes", metavar="N", type=int, multiple=True, help="how many (may be repeated)")
@click.option("--rate", metavar="R", type=float, default=0.1, help="items/s of each (0.1)")
@click.option("--steady", metavar="S", type=float, default=0.0, help="seconds of reports (30)")
@click.option("--dead-spot", metavar="S", type=float, default=5.0, help="seconds without (5)")
@click.option("--processes", metavar="N", type=int, default=2, help="processes of nodes (2)")
def mobile_scale(
    given: Given, nodes: tuple[int, ...], rate: float, steady: float, dead_spot: float,
    processes: int,
) -> int:  # fmt: skip
    """Measure all sizes and report."""
    progress = Progress(EXPERIMENT)
    steady = steady or (10.0 if given.quick else 30.0)
    rows = []
    for count in nodes or (QUICK_SIZES if given.quick else SIZES):
        progress(f"{count} nodes")
        rows.append(run_size(given, count, rate, steady, dead_spot, processes, progress))
        write_json(given.json, {"rows": rows})
    print_table(
        "Mobile nodes on one gateway process",
        list(COLUMNS.values()),
        [[row[name] for name in COLUMNS] for row in rows],
        note="CPU: of the gateway, for each node and second; back: after a dead spot of all",
    )
    if given.plot:
        plot(given.plot, rows)
    return 1 if any(row["lost"] or row["repeated"] for row in rows) else 0


def run_size(
    given: Given, count: int, rate: float, steady: float, dead_spot: float, processes: int,
    progress: Progress,
) -> dict[str, Any]:  # fmt: skip
    """Run one row."""
    with tempfile.TemporaryDirectory(prefix="evenflow-mobile-", dir=".") as name:
        folder = Path(name).resolve()
        config = staged_config(given, own_domain(), folder, {})
        with Stage(EXPERIMENT, config, folder, mailbox=False) as stage:
            stage.start_gateway(GATEWAY)
            with stage.fleet(processes, count=count, rate_hz=rate) as fleet:
                row = {"nodes": count, "rate_hz": rate}
                row |= attach(stage, fleet, count, progress)
                row |= report(stage, fleet, count, steady, progress)
                row |= lose_all(stage, fleet, dead_spot, progress)
                return row


def attach(stage: Stage, fleet: FleetProcesses, count: int, progress: Progress) -> dict[str, Any]:
    """Let all nodes connect."""
    empty_kib, cost = stage.rss_kib(GATEWAY), stage.cpu_s(GATEWAY)
    before = fleet.ask("books").cpu_s
    began = time.monotonic()
    books = fleet.ask("attach", patience_s=ATTACH_S)
    took = time.monotonic() - began
    progress(f"{books.attached} attached in {took:.1f} s")
    return {
        "attached": books.attached,
        "connections_per_s": round(count / took, 1),
        "handshake_cpu_ms": {
            "gateway": round((stage.cpu_s(GATEWAY) - cost) / count * 1_000, 3),
            "node": round((books.cpu_s - before) / count * 1_000, 3),
        },
        "empty_mib": round(empty_kib / 1_024, 1),
        "kib_per_node": round((stage.rss_kib(GATEWAY) - empty_kib) / count, 1),
    }


def report(
    stage: Stage, fleet: FleetProcesses, count: int, steady: float, progress: Progress
) -> dict[str, Any]:
    """Let all nodes report for a while."""
    fleet.ask("drive")
    time.sleep(min(steady, 10.0))
    stage.arrivals()
    before = fleet.ask("books")
    cost, began = stage.cpu_s(GATEWAY), time.monotonic()
    time.sleep(steady)
    used = (stage.cpu_s(GATEWAY) - cost) / (time.monotonic() - began)
    books, arrivals = fleet.ask("books"), stage.arrivals()
    rss = stage.rss_kib(GATEWAY)
    progress(f"{books.published - before.published} items, gateway {used:.0%} of a core")
    return {
        "gateway_cpu": round(used, 3),
        "cpu_us_per_node": round(used / count * 1e6, 1),
        "gateway_mib": round(rss / 1_024, 1),
        "items_per_s": round((books.published - before.published) / steady, 1),
        **_delays("delay_ms", arrivals.delays_ms),
        **_delays("safe_ms", books.delays_ms),
        "lost_connections": books.lost,
    }


def lose_all(
    stage: Stage, fleet: FleetProcesses, dead_spot: float, progress: Progress
) -> dict[str, Any]:
    """Drive all nodes into a dead spot and out of it; then count."""
    books = fleet.ask("dead_spot", dead_spot)
    began = time.monotonic()
    while books.attached < books.vehicles and time.monotonic() - began < BACK_S:
        time.sleep(0.05)
        books = fleet.ask("books")
    back_ms = (time.monotonic() - began) * 1_000
    progress(f"{books.attached} back after {back_ms:.0f} ms")
    fleet.ask("park")
    books = fleet.ask("flush", BACK_S, patience_s=2 * BACK_S)
    arrivals = stage.await_arrivals(books)
    most = stage.rss_kib(GATEWAY)
    fleet.ask("close", 1.0)
    return {
        "dead_spot_s": dead_spot,
        "back_ms": round(back_ms, 1),
        "back": books.attached,
        "gateway_mib_after": round(most / 1_024, 1),
        "published": books.published,
        "kept": books.kept,
        "lost": books.published - arrivals.distinct,
        "repeated": arrivals.reports - arrivals.distinct,
        "disordered": arrivals.disordered,
    }


def _delays(name: str, values: Any) -> dict[str, float | None]:
    if not len(values):
        return {f"{name}_p50": None, f"{name}_p99": None}
    p50, p99 = np.percentile(np.asarray(values), [50, 99])
    return {f"{name}_p50": round(float(p50), 1), f"{name}_p99": round(float(p99), 1)}


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw memory and delay over the number of nodes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(8, 3))
    nodes = [row["nodes"] for row in rows]
    for place, (key, label) in enumerate(
        (("gateway_mib", "MiB of the gateway"), ("delay_ms_p99", "delay p99, ms")), 1
    ):
        axes = figure.add_subplot(1, 2, place)
        axes.plot(nodes, [row[key] for row in rows], marker="o")
        axes.set(xlabel="mobile nodes", ylabel=label)
    write_plot(path, figure)
