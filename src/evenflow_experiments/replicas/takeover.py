"""Two of our nodes share the slices; one is killed, and the other takes its slices over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow import Publisher
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import LocalCluster, wait_until
from evenflow_experiments.replicas.outcome import figures, longest_gap
from evenflow_experiments.replicas.work import APP
from evenflow_experiments.slices.arrivals import FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.watch import await_owners, cpu_s, owned_by

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config

NODES: Final = ("node-1", "node-2")
PATIENCE_S: Final = 60.0


def measure(config: Config, rate: float, seconds: float, folder: Path) -> dict[str, Any]:
    """Publish, kill a node in the middle, and see when which item was processed."""
    slices = config.topic("items").slices
    with (
        LocalCluster(config, log_dir=folder) as cluster,
        Participant(config.domain) as participant,
        Publisher("items", config=config, participant=participant) as publisher,
    ):
        cluster.start_balancer()
        for name in NODES:
            env = {FILE_VARIABLE: str(folder / f"{name}.arrivals")}
            cluster.start_node(name, APP, env=env)
        observer = Observer(participant)
        await_owners(observer, "replicas", slices, len(NODES), PATIENCE_S)
        doomed = _owned(observer, slices // len(NODES))
        published, used, killed = 0, 0.0, False
        pids = [cluster.processes[name].pid for name in NODES]
        before, began = cpu_s(pids), time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            if not killed and now > seconds / 2:
                used, killed = (cpu_s(pids) - before) / max(1, published), True
                cluster.kill(NODES[0])
            while published < now * rate:
                published += 1
                publisher.publish(b"x" * 8, sender="source", id=published)
            time.sleep(0.001)
        wait_until(lambda: publisher.committed == published, PATIENCE_S)
    arrivals = Arrivals.read(folder)
    order = np.argsort(arrivals.processed, kind="stable")
    times: dict[int, float] = {}
    for number, moment in zip(arrivals.ids[order], arrivals.processed[order], strict=True):
        times.setdefault(int(number), float(moment) / 1e6)
    row = figures(published, times, arrivals.repeated, slices)
    # Of the slices that the dead node had alone: the other half went on all the time.
    theirs = [when for number, when in times.items() if number % slices in doomed]
    gap = round(longest_gap(theirs), 3)
    return row | {"gap_s": gap, "cpu_ms_item": round(1000 * used, 3)}


def _owned(observer: Observer, count: int) -> frozenset[int]:
    """The slices of the node that will be killed, when the map says so, too."""
    deadline = time.monotonic() + PATIENCE_S
    while len(found := owned_by(observer.view("items"), NODES[0])) < count:
        if time.monotonic() > deadline:
            raise ExperimentError("replicas", f"{NODES[0]} owns {len(found)} slices, not {count}")
        observer.look(0.05)
    return frozenset(found)
