"""What a giving node pays for a move in CPU time (MAPE-SDDL, V-D: 1.4 %).

Two nodes share ten slices. Five slices are ordered to and fro between them, and the CPU clock of
the node that gives is read every few milliseconds. A move costs what its process used from just
before its first order until shortly after its end, less what it uses in as much time afterwards,
when it has fewer slices: so the figure is rather too large. The paper gives percent of CPU usage
while the process lasts, which is about half a second; ours is over long before, so it is given for
the second in which the move falls, and for as long as the paper's.

Two set-ups:

*images*, the paper's application, at a rate of which a node that owns all ten slices is busy half
of the time. At more than it can do, as in the paper, a node uses its whole core before, during and
after a move, and what the move costs cannot be seen. The CPU time of the images themselves is not
part of the cost: each is written down, and taken off the clock.

*idle*. The application only notes what came, at 10 MB/s, the paper's largest rate. With images, two
cores do not carry it.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from evenflow.domain.channels import MOVES, REPLIES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.model.messages import MoveRequest
from evenflow.processes import LocalCluster
from evenflow_experiments.parts import Part
from evenflow_experiments.report import own_domain, print_table
from evenflow_experiments.slices import arrivals
from evenflow_experiments.slices.handover import ITEM_OCTETS
from evenflow_experiments.slices.handover_figures import PAPER_MS
from evenflow_experiments.slices.images import colour_jpeg, image_s
from evenflow_experiments.slices.overhead import image_work
from evenflow_experiments.slices.overhead.cpu_clocks import CpuClocks, beside, extra_s, percent
from evenflow_experiments.slices.stream import SteadyStream
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from evenflow.config import Config
    from evenflow.model.messages import Receipt
    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress
    from evenflow_experiments.slices.overhead.cpu_clocks import Clock

SLICES, RATE_MB = 10, 10.0
BUSY = 0.5
"""Part of a core that goes into images at a node with all slices."""
PAPER_PERCENT = 1.4
PROCESS_S = PAPER_MS[SLICES, RATE_MB] / 1000
"""How long the paper's process takes in that cell."""
PAPER = {"extra_percent": PAPER_PERCENT, "process_ms": 1000 * PROCESS_S}
MOVES_EACH, QUICK_MOVES = 20, 6
PAUSE_S = 1.5
"""Between two moves; the usual load is looked at in it."""
NODES = ("one", "two")
SETUPS = ("images", "idle")


@dataclass(frozen=True, slots=True)
class Setup:
    """What the nodes are given, and what they do with it."""

    app: str
    payload: bytes
    items_per_s: float


def setup_named(name: str) -> Setup:
    """The set-up of a name; that of the images by what an image costs on this machine, now."""
    if name == "idle":
        return Setup(arrivals.APP, bytes(ITEM_OCTETS), RATE_MB * 1e6 / ITEM_OCTETS)
    return Setup(image_work.APP, colour_jpeg(), BUSY / image_s())


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Measure both set-ups."""
    moves = QUICK_MOVES if given.quick else MOVES_EACH
    figures: dict[str, Any] = {}
    for name in SETUPS:
        setup = setup_named(name)
        progress(f"{name}: {moves} moves at {setup.items_per_s:,.0f} items/s")
        with tempfile.TemporaryDirectory(prefix="evenflow-giving-") as folder:
            figures[name] = _measure(given, setup, moves, Path(folder))
    return {**figures, "paper": PAPER}


def _measure(given: Given, setup: Setup, moves: int, folder: Path) -> dict[str, Any]:
    """Order slices to and fro and read the clock of who gives."""
    config = _config(given)
    with (
        LocalCluster(config, log_dir=folder) as cluster,
        Participant(config.domain) as participant,
    ):
        observer = Observer(participant)
        cluster.start_balancer()
        pids = {}
        for name in NODES:
            notes = {arrivals.FILE_VARIABLE: str(folder / f"{name}.arrivals")}
            pids[name] = cluster.start_node(name, setup.app, env=notes).pid
        await_owners(observer, "overhead", SLICES, len(NODES))
        stream = SteadyStream(config, setup.payload, setup.items_per_s)
        observer.look(PAUSE_S)
        with CpuClocks(list(pids.values())) as clocks:
            receipts = [_move(participant, observer, number) for number in range(moves)]
        published = stream.end()
        lost = arrivals.Arrivals.read(folder).lost(published)
    read = {name: clocks.read[pid] for name, pid in pids.items()}
    own = {name: beside(read[name], image_work.read_work(folder, name)) for name in NODES}
    return {"items_per_s": round(setup.items_per_s, 1), **summary(receipts, read, own, lost)}


def _config(given: Given) -> Config:
    return given.config(
        {
            "domain.id": own_domain(),
            "topics": {"items": {"slices": SLICES}},
            "publisher.linger_ms": 0,
            "balancer.algorithm": "count",  # leaves what was ordered where it is
        }
    )


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
    receipts: Sequence[Receipt], read: dict[str, Clock], own: dict[str, Clock], lost: int
) -> dict[str, Any]:
    """The figures: means over the moves, as the paper's.

    Args:
        receipts: Of the moves, in order; the nodes give in turns.
        read: The CPU clock of each node.
        own: The same without what images have used.
        lost: How many items were not processed.
    """
    costs = [
        extra_s(own[NODES[number % 2]], receipt.time, receipt.time + receipt.ms / 1000)
        for number, receipt in enumerate(receipts)
    ]
    extra = fmean(costs)
    usual = fmean(percent(clock) for clock in read.values())
    return {
        "moves": len(costs),
        "move_ms_median": round(median(receipt.ms for receipt in receipts), 1),
        "usual_cpu_percent": round(usual, 1),
        "images_cpu_percent": round(usual - fmean(percent(clock) for clock in own.values()), 1),
        "extra_cpu_ms": round(1000 * extra, 2),
        "extra_cpu_ms_median": round(1000 * median(costs), 2),
        "extra_percent_of_the_second": round(100 * extra, 2),
        "extra_percent_of_the_papers_process": round(100 * extra / PROCESS_S, 2),
        "each_extra_cpu_ms": [round(1000 * cost, 2) for cost in costs],
        "lost": lost,
    }


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    lines = {
        "percent of a core in the second of the move":
            ("extra_percent_of_the_second", PAPER_PERCENT),
        f"percent of a core in {1000 * PROCESS_S:.0f} ms, as long as the paper's process":
            ("extra_percent_of_the_papers_process", PAPER_PERCENT),
        "CPU time of a move, ms (mean)": ("extra_cpu_ms", None),
        "CPU time of a move, ms (median)": ("extra_cpu_ms_median", None),
        "time of a move, ms (median)": ("move_ms_median", 1000 * PROCESS_S),
        "items/s": ("items_per_s", None),
        "CPU of a node all the while, percent of a core": ("usual_cpu_percent", None),
        "of it images": ("images_cpu_percent", None),
        "moves": ("moves", None),
        "lost": ("lost", None),
    }  # fmt: skip
    print_table(
        "CPU of a node that gives half of its topic's slices away (MAPE-SDDL, V-D)",
        ["", "images, half load", "only notes", "paper"],
        [
            [title, *(figures[name][key] for name in SETUPS), paper]
            for title, (key, paper) in lines.items()
        ],
    )
    lost = {name: figures[name]["lost"] for name in SETUPS}
    return [f"{name}: {count} items were lost" for name, count in lost.items() if count]


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw what every move cost."""
    for name in SETUPS:
        axes.plot(figures[name]["each_extra_cpu_ms"], "o-", label=name)
    axes.axhline(10 * PAPER_PERCENT * PROCESS_S, ls="--", color="gray", label="paper")
    axes.set(xlabel="move", ylabel="CPU time of a move, ms", title="a node that gives")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


PART = Part("move", measure, show, draw)
