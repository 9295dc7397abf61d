"""The client of the overhead experiment, and the stage it plays on.

Both workers stand ready on the same core, the client and the balancer on the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow.model.batch import Item
from evenflow.model.encoding import encode_item
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.report import own_domain
from evenflow_experiments.slices.arrivals import ROUNDS_VARIABLE
from evenflow_experiments.slices.image_replies import REPLIES, costs_us
from evenflow_experiments.slices.images import colour_jpeg
from evenflow_experiments.slices.overhead.worker import BALANCED, CORE, PLAIN
from evenflow_experiments.slices.watch import cpu_clock_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.config import Config
    from evenflow_experiments.options import Given

SLICES = 10
KINDS = (PLAIN, BALANCED)


@dataclass(frozen=True, slots=True)
class Burst:
    """What the client saw of one burst."""

    throughput: float
    """Items a second, from the first item sent to the last reply."""
    delay_s: float
    """Mean round-trip delay."""
    cpu_ms: float
    """CPU time an item has cost the worker's process, with all its threads."""
    image_ms: float
    """CPU time of it that went into converting the image."""

    @property
    def beside_ms(self) -> float:
        """CPU time an item has cost beside its image: receiving, delivering, replying."""
        return self.cpu_ms - self.image_ms


class Client:
    """Sends bursts, counts replies, and reads the CPU clock of who makes them.

    Args:
        config: Of the domain.
        participant: Its place there.
        pids: The worker's process of each kind.
    """

    def __init__(self, config: Config, participant: Participant, pids: dict[str, int]) -> None:
        self._image = colour_jpeg()
        self._pids = pids
        self._replies = participant.reader(data(REPLIES), [REPLIES])
        self._waiter = participant.waiter()
        self._waiter.attach(self._replies)
        self._publisher = Publisher(
            BALANCED, config=config, assignment="modulo:id", participant=participant
        )
        self._writer = participant.writer(data(PLAIN), PLAIN)
        self._id = 0

    def _send_plain(self, item: Item) -> None:
        encoded = encode_item(1, item.id, 1, item.id % SLICES, item.id, item)
        while not self._writer.write_encoded(encoded):
            time.sleep(0.0005)

    def _send_balanced(self, item: Item) -> None:
        self._publisher.publish(item.payload, sender=item.sender, id=item.id, time=item.time)

    def burst(self, kind: str, items: int, rate: float, patience_s: float = 120.0) -> Burst:
        """Send items at a rate and wait for all the replies.

        The delay of an item counts from when it was due: what a client that is held up sends late
        waits as well.
        """
        send: Callable[[Item], None]
        send = self._send_plain if kind == PLAIN else self._send_balanced
        delays: list[float] = []
        images_us = sent = 0
        cpu_s = cpu_clock_s(self._pids[kind])
        started, began_us = time.monotonic(), time.time_ns() // 1000
        while len(delays) < items:
            while sent < items and sent <= (time.monotonic() - started) * rate:
                self._id += 1
                send(Item("client", self._id, began_us + int(sent * 1e6 / rate), self._image))
                sent += 1
            self._waiter.wait(0.0005 if sent < items else 0.05)
            now = time.time_ns() // 1000
            for sample in self._replies.take(256):
                delays += [(now - published) / 1e6 for published in sample.rows.times.tolist()]
                images_us += int(costs_us(sample.rows).sum())
            if time.monotonic() - started > patience_s:
                raise ExperimentError(
                    "overhead", f"{items - len(delays)} replies of {kind} did not come"
                )
        lasted_s = time.monotonic() - started
        cpu_s = cpu_clock_s(self._pids[kind]) - cpu_s
        return Burst(items / lasted_s, mean(delays), 1e3 * cpu_s / items, images_us / 1e3 / items)

    def ready(self) -> bool:
        """Whether the plain reader is found; for the node, replay makes up for being early."""
        return bool(self._writer.matched()) and self._replies.matched() == len(KINDS)

    def close(self) -> None:
        """Wait for the last commits and leave."""
        self._publisher.close(30)


@contextmanager
def stage(given: Given, rounds: int = 1) -> Iterator[Client]:
    """Both workers, a balancer and the client; everything ends with the block.

    Args:
        given: What the command was given.
        rounds: How often the application converts an image.
    """
    others = set(range(os.cpu_count() or 1)) - {CORE}
    if not others:
        raise ExperimentError("overhead", "it needs two cores, this machine has one")
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {name: {"slices": SLICES} for name in (*KINDS, REPLIES)},
            "publisher.linger_ms": 0,
            "publisher.retention_bytes": 256 << 20,  # of a long burst all is under way at once
        }
    )
    os.sched_setaffinity(0, others)
    with tempfile.TemporaryDirectory(prefix="evenflow-overhead-") as folder:
        file = Path(folder) / "evenflow.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        workers = {kind: _start(kind, file, rounds) for kind in KINDS}
        try:
            with (
                LocalCluster(config, log_dir=Path(folder)) as cluster,
                Participant(config.domain) as participant,
            ):
                cluster.start_balancer()
                client = Client(config, participant, {k: w.pid for k, w in workers.items()})
                if not wait_until(client.ready, 30):
                    raise ExperimentError("overhead", "the worker with the plain reader is missing")
                yield client
                client.close()
        finally:
            os.sched_setaffinity(0, others | {CORE})
            for worker in workers.values():
                worker.kill()
                worker.wait()


def _start(kind: str, file: Path, rounds: int) -> subprocess.Popen[bytes]:
    module = "evenflow_experiments.slices.overhead.worker"
    return subprocess.Popen(
        [sys.executable, "-m", module, kind, str(file)],
        env={**os.environ, ROUNDS_VARIABLE: str(rounds)},
    )
