"""A served domain on this machine, and a stream into it, for the experiment ``pipeline``."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenflow.closing import Closing
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ClosedError, DeliveryTimeout, ExperimentError
from evenflow.processes import LocalCluster
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.spark.exactly_once import TOPIC, await_owners, serve

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config

DELAY_RATE = 5_000
"""Items per second, where delay is measured."""
SENDERS = 1_000
CHUNK_OCTETS = 8 << 20
EVEN_WITHIN_S = 60.0
LOOK_S = 1.0
ROOM_WITHIN_S = 600.0
"""How long the stream waits for room."""


class ServedDomain(Closing):
    """A balancer, serving nodes and a publisher."""

    def __init__(self, config: Config, folder: Path, nodes: int) -> None:
        self._cluster = LocalCluster(config, log_dir=folder)
        self._participant = Participant(config.domain)
        self._file = folder / "evenflow.toml"
        self._file.write_text(config.as_toml(), encoding="utf-8")
        self._cluster.start_balancer()
        for number in range(nodes):
            serve(self._cluster, f"node-{number + 1}")
        self._nodes = nodes
        self._observer = Observer(self._participant)
        await_owners(self._observer, nodes)
        self.publisher = Publisher(TOPIC, config=config, participant=self._participant)

    def options(self) -> list[str]:
        """How a query reads this domain."""
        return ["--option", "topic", TOPIC, "--option", "config", str(self._file)]

    def await_even(self) -> tuple[int, ...]:
        """Wait until every node has equally many slices; the owner of each slice, by number."""
        deadline = time.monotonic() + EVEN_WITHIN_S
        while time.monotonic() < deadline:
            self._observer.look(LOOK_S)
            slice_map = self._observer.view(TOPIC).map
            assert slice_map is not None
            owned = Counter(slice_map.owner_index.tolist())
            if len(owned) == self._nodes and max(owned.values()) - min(owned.values()) <= 1:
                return tuple(slice_map.owner_index.tolist())
        raise ExperimentError("pipeline", f"slices were not even in {EVEN_WITHIN_S:g} s")

    def close(self) -> None:
        """End everything, whatever is uncommitted."""
        with contextlib.suppress(DeliveryTimeout):
            self.publisher.close(0.0)
        self._participant.close()
        self._cluster.close()


class Stream:
    """Publishes items from a thread, as fast as they are taken or at a rate."""

    def __init__(
        self,
        publisher: Publisher,
        octets: int,
        per_s: float = 0.0,
    ) -> None:
        self._publisher = publisher
        self._per_s = per_s
        if not per_s:  # that a flood has to wait for Spark is what is measured, and no news
            logging.getLogger("evenflow.slices.publisher.diagnosis").setLevel(logging.ERROR)
        self._stop = threading.Event()
        self._notes: list[tuple[float, int]] = []
        """Moments, and how many items were published by then."""
        rows = max(1, CHUNK_OCTETS // (octets + 40)) if not per_s else max(1, int(per_s / 200))
        self._payloads = np.zeros((rows, octets), np.uint8)
        names = pa.array([f"sender-{i:03}" for i in range(SENDERS)])
        numbers = pa.array(np.arange(rows, dtype=np.int32) % SENDERS)
        self._senders = pa.DictionaryArray.from_arrays(numbers, names)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        rows = len(self._payloads)
        while not self._stop.is_set():
            try:
                self._publisher.publish_columns(
                    self._payloads, senders=self._senders, timeout=ROOM_WITHIN_S
                )
            except ClosedError:
                return
            self._notes.append((time.time(), self._publisher.stats.published))
            if self._per_s:
                due += rows / self._per_s
                time.sleep(max(0.0, due - time.monotonic()))

    def published(self, start: float, end: float) -> float:
        """How many items were published between two moments."""
        moments, counts = zip(*self._notes, strict=True)
        first, last = np.interp((start, end), moments, counts)
        return float(last - first)

    def end(self) -> None:
        """Stop publishing."""
        self._stop.set()
        self._thread.join(1.0)
