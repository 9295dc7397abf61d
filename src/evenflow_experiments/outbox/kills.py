"""A publisher with an outbox that is killed again and again, and the books of what it published.

The publisher is a process that publishes numbered items at a rate and flushes ten times a second.
After each flush it notes in a file how many are safe. Each life has ids of its own. At any moment
it is killed (SIGKILL) and started anew on the same outbox. Every second time the nodes are stopped
(SIGSTOP) a moment before, so that what it published last is nowhere but on its disk.

After each kill the outbox is read. What is owed is what was safe, and all that is on disk. In the
end a last publisher on the outbox waits until everything is committed; then everything owed must
have been processed by some node, and nothing twice.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import wait_until
from evenflow.slices.outbox.files import OutboxFolder
from evenflow.slices.outbox.recovery import SegmentData, recover
from evenflow.slices.outbox.state import Identity
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config
    from evenflow.model.batch import Int64s
    from evenflow.processes import LocalCluster

SETTINGS: Final = {"domain.liveliness_s": 5.0, "node.stall_s": 5.0}
"""Nodes that are stopped for a moment must not look dead: it is the publisher that dies here."""
NODES: Final = ("node-1", "node-2")
LIFE_BITS: Final = 32
"""The id of an item is its life, and its number in it."""
FLUSH_S: Final = 0.1
DEAF_S: Final = 0.2
"""How long nodes stand still before a kill; publishing goes on until the next flush."""
START_S: Final = 60.0
END_S: Final = 60.0
_SPAWN: Final = multiprocessing.get_context("spawn")


class Kills:
    """A publisher that dies often.

    Args:
        experiment: Whose it is, for errors.
        config: The configuration.
        cluster: Where the nodes run.
        folder: For the outbox and the notes.
        items_per_s: How fast it publishes.
        seed: When it dies.
    """

    def __init__(
        self,
        experiment: str,
        config: Config,
        cluster: LocalCluster,
        folder: Path,
        *,
        items_per_s: float,
        seed: int,
    ) -> None:
        self._experiment = experiment
        self._config, self._cluster, self._folder = config, cluster, folder
        self._rate = items_per_s
        self._random = Random(seed)
        self._on_disk: list[Int64s] = []
        """Ids that the outbox had after each kill."""
        self.lives = 0

    def set_up(self) -> None:
        """Start a balancer and the nodes; return when they own everything."""
        self._cluster.start_balancer()
        for name in NODES:
            file = self._folder / f"{name}.arrivals"
            self._cluster.start_node(name, APP, env={FILE_VARIABLE: str(file)})
        with Participant(self._config.domain) as participant:
            slices = self._config.topics[0].slices
            await_owners(Observer(participant), self._experiment, slices, len(NODES), START_S)

    def strike(self) -> None:
        """Let a publisher live for a moment, and kill it."""
        self.lives += 1
        notes = self._folder / f"{self.lives}.safe"
        arguments = (self._config, str(self._folder / "outbox"), self.lives, self._rate, notes)
        process = _SPAWN.Process(target=publish, args=arguments, daemon=True)
        process.start()
        try:
            if not wait_until(lambda: notes.exists() and notes.stat().st_size, START_S):
                reason = f"life {self.lives} published nothing within {START_S:g} s"
                raise ExperimentError(self._experiment, reason)
            time.sleep(self._random.uniform(0.1, 1.0))
            if self.lives % 2 == 0:
                self._signal_nodes(signal.SIGSTOP)
                time.sleep(DEAF_S)
        finally:
            process.kill()
            process.join()
            self._signal_nodes(signal.SIGCONT)
        self._on_disk.append(ids_on_disk(self._folder / "outbox", self._config))

    def _signal_nodes(self, number: signal.Signals) -> None:
        for name in NODES:
            self._cluster.signal(name, number)

    def finish(self) -> dict[str, Any]:
        """Let the outbox become empty, and compare."""
        topic = self._config.topics[0].name
        with Publisher(topic, config=self._config, outbox=self._folder / "outbox") as last:
            recovered = last.stats.recovered
            last.close(END_S)
        arrived = Arrivals.read(self._folder).ids
        safe = np.concatenate([safe_ids(n, self._safe(n)) for n in range(1, self.lives + 1)])
        owed = np.union1d(safe, np.concatenate(self._on_disk))
        return {
            "kills": self.lives,
            "published": len(np.unique(arrived)),
            "safe": len(safe),
            "on_disk_alone": len(owed) - len(safe),
            "recovered_last": recovered,
            "lost": len(np.setdiff1d(owed, arrived)),
            "repeated": len(arrived) - len(np.unique(arrived)),
        }

    def _safe(self, life: int) -> int:
        return int((self._folder / f"{life}.safe").read_text().split()[-1])


def safe_ids(life: int, count: int) -> Int64s:
    """The ids of the first items of a life."""
    return (life << LIFE_BITS) + np.arange(1, count + 1, dtype=np.int64)


def ids_on_disk(outbox: Path, config: Config) -> Int64s:
    """The ids of all items that an outbox keeps, whose process is dead."""
    topic = config.topics[0]
    files = OutboxFolder(outbox)
    try:
        segments = [SegmentData(*one) for one in files.segments()]
        found = recover(str(outbox), segments, Identity(topic.name, topic.slices, config.domain.id))
        samples = [] if found is None else found.samples
        return np.concatenate([np.empty(0, np.int64), *(one.rows.ids for one in samples)])
    finally:
        files.close()


def publish(config: Config, outbox: str, life: int, items_per_s: float, notes: Path) -> None:
    """Publish until killed."""
    publisher = Publisher(config.topics[0].name, config=config, outbox=outbox)
    started = flushed = time.monotonic()
    published = 0
    with notes.open("w", buffering=1) as file:
        while True:
            time.sleep(0.001)
            due = int((time.monotonic() - started) * items_per_s)
            for number in range(published + 1, due + 1):
                publisher.publish(bytes(100), id=(life << LIFE_BITS) + number)
            published = max(published, due)
            if time.monotonic() > flushed + FLUSH_S:
                publisher.flush()
                file.write(f"{published}\n")
                flushed = time.monotonic()
