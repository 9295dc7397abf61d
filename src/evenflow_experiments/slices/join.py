"""``evenflow experiment join``: how long it takes until a new node has its share of the work.

Two nodes own all slices of a topic while many publishers send to all of them. A third node is
started; the balancer, by the algorithm ``count``, gives it a third of the slices. Measured is the
time from the new node's first report in the domain, when it is known there, until the balancer's
map says that a third of the slices is its own, and its application has processed an item of every
one of them. A slice gets an item every ``slices / rate`` seconds, so that can take as long by
itself; ``owned_s`` is the time of the map alone. How long the process took from its start to its
first report stands beside it as ``ready_s``.

Everything runs as real processes over DDS on this machine: the balancer, the nodes, and the
publishers, of which at most ten have a process to themselves; more share these ten, each with a
participant of its own. Memory is that of the largest process of its kind, when the new node has its
share or the time is over. What was lost or repeated over the whole run is counted from what the
nodes' application has processed: every id of every publisher must be there once.

A machine that is too slow for a case shows in three figures. ``items_per_s`` is what the publishers
did of the load. ``unfinished`` is what was still uncommitted a minute after its end, and processed
by nobody. ``taken_for_dead`` says how often a node stood still for too long; what it had in hand
may be processed twice.

A case that does not come to an end in time is a finding, not an error: ``joined_s`` is null, the
row says what was reached, and the exit code is 1.
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

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster, wait_until
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.load import Load, books, streams
from evenflow_experiments.slices.watch import await_owners, most_mib, owned_by, taken_for_dead

if TYPE_CHECKING:
    from evenflow.config import Config

HELP = """\
Time until a third node owns and processes its share, memory, DDS endpoints, and what was lost or
repeated, for several numbers of publishers and slices under a steady load."""

CASES: Final = ((1, 100), (10, 1_000), (30, 1_000), (10, 10_000))
QUICK: Final = ((1, 50), (3, 200))
OLD: Final = ("node-1", "node-2")
NEW: Final = "node-3"
SETUP_S: Final = 90.0
"""How long the cluster may take until the first two nodes process items of every publisher."""
JOIN_S: Final = 90.0
"""How long the new node may take, from the start of its process."""
_STEADY_S: Final = 1.0
_LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured at once."""

    publishers: int
    slices: int
    rate: float
    """Items a second, of all publishers together."""
    octets: int

    @property
    def share(self) -> int:
        """How many slices the third node gets at least."""
        return self.slices // (len(OLD) + 1)


@experiment("join", HELP)
@click.option("--publishers", metavar="N", type=int, default=0, help="one case alone: publishers")
@click.option("--slices", metavar="N", type=int, default=0, help="one case alone: slices")
@click.option("--rate", metavar="R", type=float, default=5_000.0, help="items/s of all (5,000)")
@click.option("--bytes", "octets", metavar="N", type=int, default=100, help="of a payload (100)")
def join(given: Given, publishers: int, slices: int, rate: float, octets: int) -> int:
    """Measure every case and report."""
    progress = Progress("join")
    cases: tuple[tuple[int, int], ...] = QUICK if given.quick else CASES
    if publishers or slices:
        cases = ((publishers or 1, slices or 100),)
    rows = []
    for case in (Case(*numbers, rate, octets) for numbers in cases):
        progress(f"{case.publishers} publishers, {case.slices} slices, {rate:g} items/s")
        with tempfile.TemporaryDirectory(prefix="evenflow-join-") as folder, ExitStack() as stack:
            rows.append(Trial(given, case, Path(folder), stack).measure())
        progress(rows[-1]["finding"] or f"joined in {rows[-1]['joined_s']} s")
    show(rows)
    write_json(given.json, {"rate": rate, "bytes": octets, "rows": rows})
    if given.plot:
        plot(given.plot, rows)
    return 1 if any(row["finding"] or row["lost"] or row["repeated"] for row in rows) else 0


def settings(case: Case) -> dict[str, Any]:
    """What the processes of a case are told; everything else has its default."""
    return {
        "domain.id": own_domain(),
        "topics": {"items": {"slices": case.slices}},
        "node.app": APP,
        "balancer.algorithm": "count",  # a third of the slices, whatever they weigh
    }


class Trial:
    """One case: its cluster, its load, and what was seen of them."""

    def __init__(self, given: Given, case: Case, folder: Path, stack: ExitStack) -> None:
        self._case, self._folder, self._stack = case, folder, stack
        self._config: Config = given.config(settings(case))
        self._cluster = stack.enter_context(LocalCluster(self._config, log_dir=folder))
        participant = stack.enter_context(Participant(self._config.domain))
        self._observer = Observer(participant)
        self._view = self._observer.view("items")
        self._load: Load | None = None
        self._began = 0.0
        """When the load began, on the monotonic clock."""

    def measure(self) -> dict[str, Any]:
        """Play the case; its row, also when it does not come to an end."""
        row: dict[str, Any] = {
            "publishers": self._case.publishers,
            "slices": self._case.slices,
            "joined_s": None,
            "ready_s": None,
            "owned_s": None,
            "share": None,
            "node_mib": None,
            "publisher_mib": None,
            "endpoints": None,
            "published": None,
            "items_per_s": None,
            "lost": None,
            "unfinished": None,
            "repeated": None,
            "taken_for_dead": None,
            "finding": "",
        }
        try:
            self._set_up()
            row |= self._join()
        except ExperimentError as error:
            row["finding"] = error.reason
        if self._load is not None:
            try:
                row |= self._sizes(self._load)
                figures, fault = self._books(self._load)
                row |= figures
            except ExperimentError as error:
                fault = error.reason
            row["finding"] = row["finding"] or fault
        return row

    def _start(self, name: str) -> None:
        file = self._folder / f"{name}.arrivals"
        self._cluster.start_node(name, APP, env={FILE_VARIABLE: str(file)})

    def _set_up(self) -> None:
        """Two nodes that process items of every publisher."""
        self._cluster.start_balancer()
        for name in OLD:
            self._start(name)
        await_owners(self._observer, "join", self._case.slices, len(OLD), SETUP_S)
        case = self._case
        wanted = streams(case.publishers, case.slices, case.rate, case.octets)
        load = self._stack.enter_context(Load("join", self._config, wanted))
        load.begin()
        self._load, self._began = load, time.monotonic()
        flowing = wait_until(lambda: all(sent.committed for sent in load.look()), SETUP_S, 0.5)
        if not flowing:
            idle = sum(sent.committed == 0 for sent in load.look())
            raise ExperimentError(
                "join", f"nothing of {idle} publishers was committed within {SETUP_S:g} s"
            )
        self._observer.look(_STEADY_S)

    def _join(self) -> dict[str, Any]:
        """Start the new node and wait until it has its share."""
        started = time.time()
        deadline = time.monotonic() + JOIN_S
        self._start(NEW)
        while not any(NodeId(node).name == NEW for node in self._view.nodes):
            self._look(deadline, "the new node has not reported")
        known = time.time()
        while len(mine := owned_by(self._view, NEW)) < self._case.share:
            self._look(deadline, f"the new node owns {len(mine)} of {self._case.share} slices")
        owned = time.time()
        while None in (first := self._first_processed(mine)):
            lacking = first.count(None)
            self._look(deadline, f"of {lacking} of its {len(mine)} slices nothing was processed")
        processed = max(moment for moment in first if moment is not None)
        return {
            "joined_s": round(max(owned, processed) - known, 2),
            "ready_s": round(known - started, 2),
            "owned_s": round(owned - known, 2),
            "share": len(mine),
        }

    def _look(self, deadline: float, otherwise: str) -> None:
        self._observer.look(_LOOK_S)
        if time.monotonic() > deadline:
            raise ExperimentError("join", f"after {JOIN_S:g} s {otherwise}")

    def _first_processed(self, slices: list[int]) -> list[float | None]:
        """When the new node has first processed an item of each of these slices."""
        return first_times(Arrivals.of_node(self._folder, NEW), slices, self._case.slices)

    def _sizes(self, load: Load) -> dict[str, Any]:
        """Memory and endpoints, while everything runs."""
        running = self._cluster.processes
        nodes = [running[name].pid for name in (*OLD, NEW) if name in running]
        return {
            "node_mib": round(most_mib(nodes), 1),
            "publisher_mib": round(most_mib(load.pids), 1),
            "endpoints": max(sent.endpoints for sent in load.look()),
        }

    def _books(self, load: Load) -> tuple[dict[str, Any], str]:
        """End the load; what became of it, and what went wrong with a publisher."""
        self._observer.look(_STEADY_S)
        seconds = time.monotonic() - self._began
        sent = load.end()
        dead = taken_for_dead(self._cluster.log("balancer"))
        self._cluster.close(0.0)  # nobody has to take anything over
        figures: dict[str, Any] = books(sent, Arrivals.read(self._folder))
        figures |= {"items_per_s": round(figures["published"] / seconds), "taken_for_dead": dead}
        return figures, next((each.fault for each in sent if each.fault), "")


def first_times(arrivals: Arrivals, slices: list[int], count: int) -> list[float | None]:
    """When an item of each of these slices was first processed, in seconds since 1970."""
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, arrivals.ids % count, arrivals.processed)
    never = np.iinfo(np.int64).max
    return [None if first[each] == never else float(first[each]) / 1e6 for each in slices]


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    columns = {
        "pub.": "publishers",
        "slices": "slices",
        "joined s": "joined_s",
        "owned s": "owned_s",
        "ready s": "ready_s",
        "share": "share",
        "node MiB": "node_mib",
        "pub. MiB": "publisher_mib",
        "endpoints": "endpoints",
        "items/s": "items_per_s",
        "lost": "lost",
        "not done": "unfinished",
        "twice": "repeated",
        "dead": "taken_for_dead",
    }
    print_table(
        "A third node joins under load",
        list(columns),
        [[row[key] for key in columns.values()] for row in rows],
        note="; ".join(row["finding"] for row in rows if row["finding"])
        or "not done: published and not processed at the end; twice: processed again; dead: how"
        " often a node was taken for dead",
    )


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw the times, a bar for each case; a case that did not end has none."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    names = [f"{row['publishers']} x {row['slices']:,}" for row in rows]
    axes.barh(names, [row["joined_s"] or 0.0 for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="s until a third node has its share", ylabel="publishers x slices")
    axes.grid(visible=True, axis="x", alpha=0.3)
    write_plot(path, figure)
