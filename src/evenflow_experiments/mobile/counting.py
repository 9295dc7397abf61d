"""What comes out of the topic that mobile nodes report to: counted, each report by its number.

A processing node in a process of its own. A report begins with its vehicle's count (``{"n":17,``),
so what is missing or came twice is known whatever happened on the way.
"""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.slices.node.node import Node
from evenflow_experiments.slices.helper import orders_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import Config
    from evenflow.model.batch import Batch


@dataclass(slots=True)
class Arrivals:
    """Reports that arrived."""

    reports: int = 0
    distinct: int = 0
    disordered: int = 0
    """Reports that came after a later one of the same vehicle."""
    delays_ms: array[float] = field(default_factory=lambda: array("f"))
    """From publishing at the vehicle to the processing node, since the last answer."""


class _Counter:
    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self._seen: dict[str, set[int]] = {}
        self._newest: dict[str, int] = {}

    def take(self, batch: Batch) -> None:
        now = time.time_ns() // 1_000
        found = self.arrivals
        for item in batch:
            payload, sender = item.payload, item.sender
            number = int(payload[5 : payload.index(b",")])
            seen = self._seen.setdefault(sender, set())
            found.reports += 1
            found.distinct += number not in seen
            found.disordered += number < self._newest.get(sender, 0)
            seen.add(number)
            self._newest[sender] = number
            found.delays_ms.append((now - item.time) / 1_000)

    def answer(self) -> Arrivals:
        told, fresh = self.arrivals, Arrivals()
        fresh.reports, fresh.distinct = told.reports, told.distinct
        fresh.disordered = told.disordered
        self.arrivals = fresh
        return told


def serve_counts(config: Config, pipe: Connection) -> None:
    """Process the first topic; answer each order with what has arrived."""
    counter = _Counter()
    with Node(config.topics[0].name, counter.take, name="counter", config=config):
        pipe.send("ready")
        for _ in orders_of(pipe):
            pipe.send(counter.answer())
