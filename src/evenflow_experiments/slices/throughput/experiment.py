"""``evenflow experiment throughput``: more nodes, more work done.

MAPE-SDDL, Figures 15 to 17 and Table I.

A client sends images faster than one node can process them; four more nodes join, and at last the
client sends seven times as much. Each node is held to the same small share of a core by a cgroup
quota, so that five of them fit on one machine and no node can take from another. Throughput and
round-trip delay are measured at the client from the replies, the CPU at each node as percent of its
share. At the end the quotas are lifted and what is left is processed. Then each node says which
images it has processed, so that it can be told what was lost or repeated: every image must have
been processed exactly once. (Replies go over plain DDS and prove less: some may get lost when a
process stands still for long.)

Each reply says what CPU time its image has cost. On a machine whose cores are busy a second of CPU
time does less than on an idle one; a quota does not show that, but the cost of an image does.

Joining takes no time for starting: the processes stand ready and enter the domain when it is time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import rich_click as click

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import LocalCluster, wait_until
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, write_json
from evenflow_experiments.slices.cpu_share import CpuShare
from evenflow_experiments.slices.image_replies import REPLIES
from evenflow_experiments.slices.images import image_s
from evenflow_experiments.slices.throughput.client import Client
from evenflow_experiments.slices.throughput.figures import Run, summary
from evenflow_experiments.slices.throughput.landmarks import TABLE_START
from evenflow_experiments.slices.throughput.plots import plot
from evenflow_experiments.slices.throughput.tables import show
from evenflow_experiments.slices.throughput.worker import TOPIC
from evenflow_experiments.slices.watch import cpu_clock_s

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.model.batch import Int64s

HELP = """\
Throughput, round-trip delay and CPU while five nodes join one after the other and the rate rises
from 1.4 to 10 MB/s, beside Figures 15 to 17 and Table I of the MAPE-SDDL paper. Needs root, for CPU
quotas."""

NODES = 5
SLICES = 10
JOINS = (18.0, 25.0, 35.0, 45.0)
RISE, END = 59.0, 85.0
LOW, HIGH = 1.4e6, 10e6
"""Bytes a second, before and after the rise."""
NODE_SHARE = 0.03
"""Share of a core that a busy node needs besides its application."""
_NOTHING = np.empty(0, np.int64)
QUICK = 0.4
"""By how much the quick run is shorter."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happens when, in seconds since the client began."""

    joins: tuple[float, ...] = JOINS
    rise: float = RISE
    end: float = END

    def faster(self, factor: float) -> Schedule:
        """The same story in less time."""
        joins = tuple(join * factor for join in self.joins)
        return Schedule(joins, self.rise * factor, self.end * factor)


@experiment("throughput", HELP)
@click.option(
    "--share", metavar="S", type=float, default=0.0,
    help="share of a core for each node (as much as 48 images a second need)",
)  # fmt: skip
def throughput(given: Given, share: float) -> int:
    """Measure and report."""
    progress = Progress("throughput")
    schedule = Schedule().faster(QUICK) if given.quick else Schedule()
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {TOPIC: {"slices": SLICES}, REPLIES: {"slices": 1}},
            "publisher.linger_ms": 0,
            "publisher.retention_bytes": 1 << 30,
            "publisher.block_s": 120.0,
            "node.deliver_items": 1,
            "node.cache_bytes": 1 << 30,
            "balancer.step_deadline_s": 30.0,
            "balancer.algorithm": "count",  # the papers'
            # A node that waits for its quota is not dead.
            "domain.liveliness_s": 10.0,
            "domain.participant_lease_s": 20.0,
            "node.stall_s": 30.0,
        }
    )
    share = share or round(TABLE_START * image_s(), 3) + NODE_SHARE
    if not 0 < NODES * share <= 0.9 * (os.cpu_count() or 1):
        raise ExperimentError("throughput", f"{NODES} nodes of {share:g} cores do not fit here")
    progress(f"{NODES} nodes, each held to {100 * share:.1f} % of a core")
    with tempfile.TemporaryDirectory(prefix="evenflow-throughput-") as folder, ExitStack() as stack:
        measured = Stage(config, Path(folder), share, stack, progress).play(schedule)
    figures = summary(measured)
    show(figures)
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, measured)
    return 0 if not figures["lost"] and not figures["repeated"] else 1


@dataclass(slots=True)
class Worker:
    """A node's process."""

    name: str
    process: subprocess.Popen[str]
    share: CpuShare
    record: Path
    """Where it writes down what it has processed."""
    busy_s: float = 0.0
    """CPU seconds at the last look."""
    cpu: list[float] = field(default_factory=list)
    """Percent of its share, each second since it joined; nothing before."""

    def processed(self) -> Int64s:
        """End the process; the ids of what it has processed."""
        self.process.communicate(timeout=60)
        return np.fromfile(self.record, np.int64) if self.record.exists() else _NOTHING

    def look(self, elapsed_s: float, share: float) -> float:
        """CPU since the last look, in percent of the share."""
        busy_s = cpu_clock_s(self.process.pid)
        used, self.busy_s = busy_s - self.busy_s, busy_s
        return 100.0 * used / (elapsed_s * share)


class Stage:
    """The cluster, and the story that is played on it."""

    def __init__(
        self, config: Config, folder: Path, share: float, stack: ExitStack, progress: Progress
    ) -> None:
        self._config, self._share, self._progress = config, share, progress
        self._stack = stack
        cluster = stack.enter_context(LocalCluster(config, log_dir=folder))
        participant = stack.enter_context(Participant(config.domain))
        cluster.start_balancer()
        self._client = Client(config, participant)
        self._observer = Observer(participant)
        self._view = self._observer.view(TOPIC)
        file = folder / "throughput.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        self._folder = folder
        self._workers = [self._worker(f"node-{n}", file) for n in range(1, NODES + 1)]
        for worker in self._workers:
            assert worker.process.stdout is not None
            if worker.process.stdout.readline().strip() != "ready":
                raise ExperimentError("throughput", f"{worker.name} did not start")
            worker.share.add(worker.process.pid)
        self._joined: list[Worker] = []

    def _worker(self, name: str, file: Path) -> Worker:
        record = self._folder / f"{name}.ids"
        module = "evenflow_experiments.slices.throughput.worker"
        process = subprocess.Popen(
            [sys.executable, "-m", module, name, str(file), str(record)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        share = self._stack.enter_context(CpuShare(name, self._share))
        self._stack.callback(_end, process)
        return Worker(name, process, share, record)

    def _join(self) -> None:
        worker = self._workers[len(self._joined)]
        assert worker.process.stdin is not None
        worker.process.stdin.write("join\n")
        worker.process.stdin.flush()
        worker.look(1.0, self._share)
        self._joined.append(worker)

    def play(self, schedule: Schedule) -> Run:
        """Play the story; what was seen."""
        client, progress = self._client, self._progress
        self._join()
        if not wait_until(self._all_owned, 60):
            raise ExperimentError("throughput", "the first node did not get the slices")
        size = len(client.image)
        client.rate = LOW / size
        began, wall = time.monotonic(), time.time()
        joins, second, cpu = list(schedule.joins), 0, []
        last = began
        while (now := time.monotonic() - began) < schedule.end:
            if joins and now >= joins[0]:
                progress(f"node {len(self._joined) + 1} joins")
                self._join()
                joins.pop(0)
            if now >= schedule.rise and client.rate < HIGH / size:
                progress("the rate rises to 10 MB/s")
                client.rate = HIGH / size
            if now >= second + 1:
                elapsed, last = began + now - last, began + now
                cpu.append([round(w.look(elapsed, self._share), 1) for w in self._joined])
                second += 1
            self._observer.look(0.02)
        client.stop_sending()
        self._drain()
        processed = np.concatenate([worker.processed() for worker in self._workers])
        receipts = [r for r in self._view.receipts if r.giver and r.taker]
        return Run(
            schedule.joins, schedule.rise, schedule.end, self._share, size, wall,
            client.published, processed, client.replies(), cpu, receipts,
        )  # fmt: skip

    def _all_owned(self) -> bool:
        self._observer.look(0.05)
        return self._view.map is not None and all(self._view.map.owners)

    def _drain(self) -> None:
        left = self._client.published - self._client.answered
        self._progress(f"{left:,} images are left: without quotas now")
        for worker in self._workers:
            worker.share.lift()
        wait_until(lambda: self._client.committed >= self._client.published, 300)
        wait_until(lambda: self._client.answered >= self._client.published, 5)
        self._observer.look(0.5)
        self._client.close(60)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
