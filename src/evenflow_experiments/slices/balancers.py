"""``evenflow experiment balancers``: how soon two balancers settle, and how many orders they give.

Real processes, watched in the domain. Each round starts two balancers at the same moment beside two
nodes that hold nothing. Then the one that leads is stopped (SIGSTOP) until the other leads, and
continued. Who leads is told by its beats: only a balancer that leads beats.
"""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.domain.channels import BEATS, ORDERS
from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow.model.messages import Beat, Order
from evenflow.processes import LocalCluster
from evenflow.slices.node.node import Node
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot

if TYPE_CHECKING:
    from evenflow.config import Config

HELP = """\
Two balancers started at once, then the leading one stopped and continued: seconds until one leads
alone, and the orders that were given meanwhile."""

SLICES: Final = 100
WATCH_S: Final = 6.0
"""How long each part is looked at."""
PATIENCE_S: Final = 60.0
"""How long, when nobody beats: on a machine that does other work, programs are slow to start."""
NAMES: Final = ("one", "other")
COLUMNS: Final = {
    "start_s": "alone after s",
    "duel_s": "of these both s",
    "takeover_s": "takeover s",
    "silent_s": "continued: silent after s",
    "orders_start": "orders: start",
    "orders_takeover": "takeover",
    "orders_continued": "continued",
    "orders_most_a_second": "most a second",
}


@experiment("balancers", HELP)
@click.option("--rounds", metavar="N", type=int, default=0, help="rounds (3; quick: 1)")
def balancers(given: Given, rounds: int) -> int:
    """Measure all rounds and report."""
    progress = Progress("balancers")
    rows = []
    for number in range(rounds or (1 if given.quick else 3)):
        progress(f"round {number + 1}")
        config = given.config({"domain.id": own_domain(), "topics": {"items": {"slices": SLICES}}})
        rows.append(run(config))
    print_table(
        "Two balancers of one domain",
        list(COLUMNS.values()),
        [[row[name] for name in COLUMNS] for row in rows],
        note="from the start of both programs; from the stop; from the continuation",
    )
    write_json(given.json, {"rows": rows})
    if given.plot:
        plot(given.plot, rows)
    return 0


class Watch:
    """Notes when who beats, and when orders are given."""

    def __init__(self, participant: Participant) -> None:
        self._beats = participant.reader(BEATS)
        self._orders = participant.reader(ORDERS, ["*"])
        self.begin()

    def begin(self) -> None:
        """A part begins now."""
        self.since = time.monotonic()
        self.beats: list[tuple[float, str]] = []
        self.orders: list[float] = []

    def look(self, seconds: float) -> None:
        """Watch for so long, and until somebody beats."""
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < seconds or (
            not self.beats and passed < PATIENCE_S
        ):
            now = time.monotonic() - self.since
            beats = (one for one in self._beats.take() if isinstance(one, Beat))
            self.beats += [(now, str(one.balancer)) for one in beats]
            self.orders += [now for one in self._orders.take() if isinstance(one, Order)]
            time.sleep(0.01)

    def alone_s(self) -> float:
        """When it began that only the one who beat last beats."""
        if not self.beats:
            raise ExperimentError("balancers", "no balancer leads")
        last = self.beats[-1][1]
        others = max((at for at, who in self.beats if who != last), default=0.0)
        return next(at for at, who in self.beats if who == last and at >= others)

    def first_s(self, besides: str) -> float | None:
        """When another than this one beat first; None when nobody did."""
        return next((at for at, who in self.beats if who != besides), None)

    def last_s(self, who: str) -> float:
        """When this one beat last; 0 when it did not."""
        return max((at for at, one in self.beats if one == who), default=0.0)

    def most_orders(self) -> int:
        """Orders in the worst second."""
        return max((sum(at <= o < at + 1.0 for o in self.orders) for at in self.orders), default=0)


def run(config: Config) -> dict[str, Any]:
    """One round."""
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-balancers-") as folder,
        Participant(config.domain) as participant,
        LocalCluster(config, log_dir=Path(folder)) as cluster,
        Node("items", lambda _: None, config=config, name="a"),
        Node("items", lambda _: None, config=config, name="b"),
    ):
        watch = Watch(participant)
        time.sleep(WATCH_S / 3)  # the nodes and this program find one another
        watch.begin()
        for name in NAMES:
            cluster.start_balancer(name)
        watch.look(2 * WATCH_S)
        cluster.check()
        alone = watch.alone_s()
        row: dict[str, Any] = {"start_s": alone, "duel_s": alone - watch.beats[0][0]}
        most = [watch.most_orders()]
        row["orders_start"] = len(watch.orders)

        process, beating = leader(cluster), watch.beats[-1][1]
        watch.begin()
        cluster.signal(process, signal.SIGSTOP)
        watch.look(WATCH_S)
        row |= {"takeover_s": watch.first_s(beating), "orders_takeover": len(watch.orders)}
        most.append(watch.most_orders())

        watch.begin()
        cluster.signal(process, signal.SIGCONT)
        watch.look(WATCH_S)
        row |= {"silent_s": watch.last_s(beating), "orders_continued": len(watch.orders)}
        row["orders_most_a_second"] = max(*most, watch.most_orders())
    return {key: round(one, 2) if isinstance(one, float) else one for key, one in row.items()}


def leader(cluster: LocalCluster) -> str:
    """Who said last of the two that it balances."""
    logs = {name: cluster.log(name) for name in NAMES}
    return max(NAMES, key=lambda n: logs[n].rfind("balancing") - logs[n].rfind("standing by"))


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw the seconds of each round."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(6, 3))
    axes = figure.add_subplot()
    for name in ("start_s", "takeover_s", "silent_s"):
        axes.plot(range(1, len(rows) + 1), [row[name] for row in rows], "o-", label=COLUMNS[name])
    axes.set(xlabel="round", ylabel="s", ylim=(0, None))
    axes.legend()
    write_plot(path, figure)
