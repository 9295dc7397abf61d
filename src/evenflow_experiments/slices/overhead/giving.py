"""What a giving node pays for a move in CPU time (MAPE-SDDL, V-D: 1.4 %).

Two nodes share ten slices at 10 MB/s, the paper's largest rate. Five slices are ordered to and fro
between them, and the CPU clock of the node that gives is read every few milliseconds. A move costs
what its process used from just before its first order until shortly after its end, less what it
uses in as much time afterwards, when it has fewer slices: so the figure is rather too large. The
paper gives percent of CPU usage while the process lasts, which is about half a second; ours is over
long before, so it is given for the second in which the move falls, and for as long as the paper's.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.closing import Closing
from evenflow.domain.channels import MOVES, REPLIES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.model.messages import MoveRequest
from evenflow.processes import LocalCluster
from evenflow_experiments.parts import Part
from evenflow_experiments.report import own_domain, print_table
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.handover import ITEM_OCTETS
from evenflow_experiments.slices.handover_figures import PAPER_MS
from evenflow_experiments.slices.stream import SteadyStream
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from evenflow.model.messages import Receipt
    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

SLICES, RATE_MB = 10, 10.0
PAPER_PERCENT = 1.4
PROCESS_S = PAPER_MS[SLICES, RATE_MB] / 1000
"""How long the paper's process takes in that cell."""
MOVES_EACH, QUICK_MOVES = 20, 6
EARLY_S, LATE_S = 0.02, 0.1
"""What belongs to a move before its first order and after its last."""
PAUSE_S = 1.5
"""Between two moves; the usual load is looked at in it."""
USUAL_S = 1.0
NODES = ("one", "two")
Clock = list[tuple[float, float]]
"""Moments of the wall clock, with the CPU seconds that a process had used by then."""


class CpuClocks(Closing):
    """Reads the CPU clocks of processes every few milliseconds, in a thread."""

    def __init__(self, pids: Sequence[int], every_s: float = 0.005) -> None:
        self.read: dict[int, Clock] = {pid: [] for pid in pids}
        self._stop = threading.Event()
        self._every_s = every_s
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            for pid, clock in self.read.items():
                # Linux: the clock of another process, with all its threads, to the nanosecond.
                clock.append((time.time(), time.clock_gettime(~pid << 3 | 2)))

    def close(self) -> None:
        """Read no more."""
        self._stop.set()
        self._thread.join()


def extra_s(clock: Clock, start: float, end: float) -> float:
    """CPU seconds that a move from ``start`` to ``end`` has cost beyond what is usual after it."""
    begun, over = start - EARLY_S, end + LATE_S
    usual = _used(clock, over, over + USUAL_S) / USUAL_S
    return _used(clock, begun, over) - usual * (over - begun)


def _used(clock: Clock, start: float, end: float) -> float:
    times, seconds = zip(*clock, strict=True)
    first, last = np.interp([start, end], times, seconds)
    return float(last - first)


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Order slices to and fro and read the clock of who gives."""
    moves = QUICK_MOVES if given.quick else MOVES_EACH
    progress(f"{moves} moves of {SLICES // 2} slices at {RATE_MB:g} MB/s")
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": SLICES}},
            "publisher.linger_ms": 0,
            "balancer.algorithm": "count",  # leaves what was ordered where it is
        }
    )
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-giving-") as folder,
        LocalCluster(config, log_dir=Path(folder)) as cluster,
        Participant(config.domain) as participant,
    ):
        observer = Observer(participant)
        cluster.start_balancer()
        pids = {}
        for name in NODES:
            notes = {FILE_VARIABLE: str(Path(folder) / f"{name}.arrivals")}
            pids[name] = cluster.start_node(name, APP, env=notes).pid
        await_owners(observer, "overhead", SLICES, len(NODES))
        stream = SteadyStream(config, bytes(ITEM_OCTETS), RATE_MB * 1e6 / ITEM_OCTETS)
        observer.look(PAUSE_S)
        with CpuClocks(list(pids.values())) as clocks:
            given_by = [
                (NODES[number % 2], _move(participant, observer, number)) for number in range(moves)
            ]
        published = stream.end()
        lost = Arrivals.read(Path(folder)).lost(published)
    costs = [extra_s(clocks.read[pids[n]], r.time, r.time + r.ms / 1000) for n, r in given_by]
    usual = fmean(_percent(clocks.read[pid]) for pid in pids.values())
    return summary(costs, [receipt.ms for _, receipt in given_by], usual, lost)


def _percent(clock: Clock) -> float:
    (began, before), (ended, after) = clock[0], clock[-1]
    return 100 * (after - before) / (ended - began)


def _move(participant: Participant, observer: Observer, number: int) -> Receipt:
    """Order half of all slices from one node to the other, and wait a little after it is done."""
    giver, taker = NODES[number % 2], NODES[1 - number % 2]
    replies = participant.reader(REPLIES)
    request = MoveRequest("items", secrets.randbits(63), giver, taker, SLICES // 2, ())
    participant.writer(MOVES).write(request)
    deadline = time.monotonic() + 20
    term = None
    while time.monotonic() < deadline:
        observer.look(0.02)
        for reply in replies.take():
            if reply.request == request.request:
                if not reply.accepted:
                    raise ExperimentError("overhead", f"the move was refused: {reply.reason}")
                term = reply.term
        for receipt in observer.view("items").receipts:
            if receipt.term == term and receipt.outcome == "done":
                observer.look(PAUSE_S)
                return receipt
    raise ExperimentError("overhead", f"no receipt of a move from {giver} to {taker}")


def summary(
    costs: Sequence[float], times_ms: Sequence[float], usual: float, lost: int
) -> dict[str, Any]:
    """The figures: means over the moves, as the paper's."""
    extra = fmean(costs)
    return {
        "moves": len(costs),
        "move_ms_median": round(median(times_ms), 1),
        "usual_cpu_percent": round(usual, 1),
        "extra_cpu_ms": round(1000 * extra, 2),
        "extra_percent_of_the_second": round(100 * extra, 2),
        "extra_percent_of_the_papers_process": round(100 * extra / PROCESS_S, 2),
        "each_extra_cpu_ms": [round(1000 * cost, 2) for cost in costs],
        "lost": lost,
        "paper": {"extra_percent": PAPER_PERCENT, "process_ms": 1000 * PROCESS_S},
    }


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    print_table(
        "CPU of a node that gives half of its topic's slices away (MAPE-SDDL, V-D)",
        ["", "ours", "paper"],
        [
            ["percent of a core in the second of the move", figures["extra_percent_of_the_second"],
             PAPER_PERCENT],
            [f"percent of a core in {1000 * PROCESS_S:.0f} ms, as long as the paper's process",
             figures["extra_percent_of_the_papers_process"], PAPER_PERCENT],
            ["CPU time of a move, ms", figures["extra_cpu_ms"], None],
            ["time of a move, ms (median)", figures["move_ms_median"], 1000 * PROCESS_S],
        ],
        note=f"{figures['moves']} moves; a node usually takes {figures['usual_cpu_percent']} % of "
        f"a core; {figures['lost']} items lost",
    )  # fmt: skip
    return [f"{figures['lost']} items were lost"] if figures["lost"] else []


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw what every move cost."""
    axes.plot(figures["each_extra_cpu_ms"], "o-", label="ours")
    axes.axhline(10 * PAPER_PERCENT * PROCESS_S, ls="--", color="gray", label="paper")
    axes.set(xlabel="move", ylabel="CPU time of a move, ms", title="a node that gives")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


PART = Part("move", measure, show, draw)
