"""A publisher with an outbox that is killed again and again, and the books of what it published.

The publisher is a process that publishes numbered items at a rate and flushes ten times a second.
After each flush it notes in a file how many are safe. Each life has ids of its own. At any moment
it is killed (SIGKILL) and started anew on the same outbox. In the end a last publisher on it
waits until everything is committed; then of every life each item up to the noted number must have
been processed by some node, and none twice.
"""

from __future__ import annotations

import multiprocessing
import time
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import wait_until
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config
    from evenflow.processes import LocalCluster

NODES: Final = ("node-1", "node-2")
LIFE_BITS: Final = 32
"""The id of an item is its life, and its number in it."""
FLUSH_S: Final = 0.1
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
        finally:
            process.kill()
            process.join()

    def finish(self) -> dict[str, Any]:
        """Let the outbox become empty, and compare."""
        topic = self._config.topics[0].name
        with Publisher(topic, config=self._config, outbox=self._folder / "outbox") as last:
            recovered = last.stats.recovered
            last.close(END_S)
        arrived = Arrivals.read(self._folder).ids
        safe = [self._safe(life) for life in range(1, self.lives + 1)]
        lost = sum(lost_of(arrived, life, count) for life, count in enumerate(safe, 1))
        return {
            "kills": self.lives,
            "published": len(np.unique(arrived)),
            "safe": sum(safe),
            "recovered_last": recovered,
            "lost": lost,
            "repeated": len(arrived) - len(np.unique(arrived)),
        }

    def _safe(self, life: int) -> int:
        return int((self._folder / f"{life}.safe").read_text().split()[-1])


def lost_of(arrived: np.ndarray[Any, Any], life: int, safe: int) -> int:
    """How many of the first items of a life, which were safe, never arrived."""
    numbers = arrived[arrived >> LIFE_BITS == life] - (life << LIFE_BITS)
    return safe - len(np.unique(numbers[numbers <= safe]))


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
