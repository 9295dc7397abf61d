"""``evenflow experiment replicas``: replicas by DDS Ownership, or takeover?

MAPE-SDDL (section VII) would replicate processing nodes by the Ownership QoS: two nodes process
everything, readers hear the stronger one, and the other when that dies. Evenflow has the slices of
a dead node taken over instead. Both are played with the same load, the same work for each item and
the same liveliness, and one process is killed in the middle: how long does nothing come out, what
is lost, repeated or overtaken, what does an item cost?

DDS decides about ownership instance by instance, so replicas are played with all results as one
instance, and with each as its own, as in the paper (Figure 13). Instances cost something as well;
that is measured by itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.replicas import ownership, takeover
from evenflow_experiments.replicas.instances import cost
from evenflow_experiments.replicas.results import Keying
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.config import Config

HELP = """\
Two replicas by stock Cyclone's exclusive ownership, their results one DDS instance or one each,
beside two of our nodes, when one is killed: the gap, items lost, repeated and overtaken, and CPU
time of an item; and what instances cost."""

SECONDS: Final = 20.0
QUICK_S: Final = 6.0
TAKEOVER: Final = "takeover"
WAYS: Final = (*Keying, TAKEOVER)


@experiment("replicas", HELP)
@click.option("--rate", metavar="R", type=float, default=200.0, help="items a second (200)")
@click.option("--rounds", metavar="N", type=int, default=0, help="repetitions (3)")
def replicas(given: Given, rate: float, rounds: int) -> int:
    """Play all ways in turns and report."""
    progress = Progress("replicas")
    seconds = QUICK_S if given.quick else SECONDS
    rows: list[dict[str, Any]] = []
    for number in range(rounds or (1 if given.quick else 3)):
        for way in WAYS:
            found = play(_config(given), way, rate, seconds)
            rows.append({"way": str(way), "round": number, **found})
            progress(f"{way}: a gap of {found['gap_s']} s, {found['lost']} lost")
    costs = []
    for keying in Keying:
        costs.append(cost(_config(given).domain, keying))
        progress(f"instances, {keying}: {costs[-1]['bytes_item']} bytes an item")
    show(rows, costs)
    figures = {"rate": rate, "seconds": seconds, "rows": rows, "instances": costs}
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, rows)
    return 1 if any(row["lost"] for row in rows if row["way"] == TAKEOVER) else 0


def _config(given: Given) -> Config:
    return given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": 10, "assignment": "modulo:id"}},
            "balancer.algorithm": "count",
        }
    )


def play(config: Config, way: str, rate: float, seconds: float) -> dict[str, Any]:
    """One way, once."""
    if way != TAKEOVER:
        return ownership.measure(config, Keying(way), rate, seconds)
    with tempfile.TemporaryDirectory(prefix="evenflow-replicas-") as folder:
        return takeover.measure(config, rate, seconds, Path(folder))


def show(rows: Sequence[Mapping[str, Any]], costs: Sequence[Mapping[str, Any]]) -> None:
    """Print all ways beside one another, and what instances cost."""
    keys = ("way", "round", "published", "gap_s", "lost", "repeated", "overtaken", "cpu_ms_item")
    print_table(
        "One of two processes is killed (MAPE-SDDL, VII)",
        ["way", "round", "published", "gap s", "lost", "repeated", "overtaken", "CPU ms/item"],
        [[row[key] for key in keys] for row in rows],
        note="gap: the longest time in which nothing came out, of takeover in the slices of the"
        " killed node; overtaken: came after a later item of their slice",
    )
    print_table(
        "What results cost that are DDS instances, without work",
        ["way", "items", "CPU µs/item", "memory gained, bytes/item"],
        [[row["way"], row["items"], row["cpu_us_item"], row["bytes_item"]] for row in costs],
        note="writer and reader in one process",
    )


def plot(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw gaps and costs."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(8, 3))
    for number, (key, label) in enumerate((("gap_s", "gap, s"), ("cpu_ms_item", "CPU, ms/item"))):
        axes = figure.add_subplot(1, 2, number + 1)
        axes.bar([f"{row['way']} {row['round']}" for row in rows], [row[key] for row in rows])
        axes.set(ylabel=label)
        axes.tick_params(axis="x", rotation=30)
    write_plot(path, figure)
