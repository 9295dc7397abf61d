"""``evenflow experiment replicas``: replicas by DDS Ownership, or takeover?

MAPE-SDDL (section VII) would replicate processing nodes by the Ownership QoS: two nodes process
everything, readers hear the stronger one, and the other when that dies. Evenflow has the slices of
a dead node taken over instead. Both are played with the same load, the same work for each item and
the same liveliness, and one process is killed in the middle: how long does nothing come out, what
is lost, what does an item cost?
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.replicas import ownership, takeover
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot

if TYPE_CHECKING:
    from collections.abc import Sequence

HELP = """\
Two replicas by stock Cyclone's exclusive ownership beside two of our nodes, when one is killed:
the gap, items lost and repeated, and CPU time of an item."""

SECONDS: Final = 20.0
QUICK_S: Final = 6.0
WAYS: Final = ("ownership", "takeover")


@experiment("replicas", HELP)
@click.option("--rate", metavar="R", type=float, default=200.0, help="items a second (200)")
@click.option("--rounds", metavar="N", type=int, default=0, help="repetitions (3)")
def replicas(given: Given, rate: float, rounds: int) -> int:
    """Play both ways in turns and report."""
    progress = Progress("replicas")
    seconds = QUICK_S if given.quick else SECONDS
    rows: list[dict[str, Any]] = []
    for number in range(rounds or (1 if given.quick else 3)):
        for way in WAYS:
            rows.append({"way": way, "round": number, **play(given, way, rate, seconds)})
            progress(f"{way}: a gap of {rows[-1]['gap_s']} s, {rows[-1]['lost']} lost")
    show(rows)
    write_json(given.json, {"rate": rate, "seconds": seconds, "rows": rows})
    if given.plot:
        plot(given.plot, rows)
    return 1 if any(row["lost"] for row in rows if row["way"] == "takeover") else 0


def play(given: Given, way: str, rate: float, seconds: float) -> dict[str, Any]:
    """One way, once."""
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": 10, "assignment": "modulo:id"}},
            "balancer.algorithm": "count",
        }
    )
    if way == "ownership":
        return ownership.measure(config, rate, seconds)
    with tempfile.TemporaryDirectory(prefix="evenflow-replicas-") as folder:
        return takeover.measure(config, rate, seconds, Path(folder))


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print both beside each other."""
    keys = ("way", "round", "published", "gap_s", "lost", "repeated", "cpu_ms_item")
    print_table(
        "One of two processes is killed (MAPE-SDDL, VII)",
        ["way", "round", "published", "gap s", "lost", "repeated", "CPU ms/item"],
        [[row[key] for key in keys] for row in rows],
        note="gap: the longest time in which nothing came out, of takeover in the slices of the"
        " killed node",
    )


def plot(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw gaps and costs."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(8, 3))
    for number, (key, label) in enumerate((("gap_s", "gap, s"), ("cpu_ms_item", "CPU, ms/item"))):
        axes = figure.add_subplot(1, 2, number + 1)
        axes.bar([f"{row['way']} {row['round']}" for row in rows], [row[key] for row in rows])
        axes.set(ylabel=label)
        axes.tick_params(axis="x", rotation=30)
    write_plot(path, figure)
