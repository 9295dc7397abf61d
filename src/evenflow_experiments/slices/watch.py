"""What the experiments see of a cluster from outside: who owns what, what a process costs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import psutil

from evenflow.errors import ExperimentError
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.observer import Observer, TopicView

MIB: Final = 1 << 20
_LOOK_S: Final = 0.05


def await_owners(
    observer: Observer, experiment: str, slices: int, nodes: int, patience_s: float = 30.0
) -> None:
    """Look until this many nodes report that they own all slices of "items", evenly.

    Raises:
        ExperimentError: They do not, within the patience.
    """
    view = observer.view("items")
    for _ in range(int(patience_s / _LOOK_S)):
        observer.look(_LOOK_S)
        held = [len(report.slices) for report in view.nodes.values() if not any(report.states)]
        complete = len(held) == len(view.nodes) == nodes and sum(held) == slices
        if complete and max(held) - min(held) <= 1:
            return
    raise ExperimentError(
        experiment, f"{nodes} nodes did not come to own {slices} slices in {patience_s:g} s"
    )


def owned_by(view: TopicView, name: str) -> list[int]:
    """The slices that are a node's by the balancer's map."""
    if view.map is None:
        return []
    owners = view.map.by_node().items()
    return [
        each for node, slices in owners if node and NodeId(node).name == name for each in slices
    ]


def taken_for_dead(log: str) -> int:
    """How often a node was taken for dead, from the balancer's log.

    On a machine with too much to do that happens to nodes that live. What they had in hand may be
    processed again elsewhere, so repetitions without a death are another matter than those with.
    """
    return log.count("event node-died-")


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds that processes have used together."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in times)


def cpu_clock_s(pid: int) -> float:
    """CPU seconds that a process has used, with all its threads, to the nanosecond (Linux)."""
    return time.clock_gettime(~pid << 3 | 2)  # what clock_getcpuclockid(3) makes of a process id


def most_mib(pids: Iterable[int]) -> float:
    """Resident memory of the largest of some processes, in MiB."""
    return max(psutil.Process(pid).memory_info().rss for pid in pids) / MIB
