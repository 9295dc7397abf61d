"""Publishers and subscribers of plain topics, each in a process of its own.

A publisher keeps to its schedule: a sample says when it was due, so a delay counts from there, also
when the publisher itself was held up.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain import enter
from evenflow.errors import WriterFull
from evenflow.processes import wait_until
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter
from evenflow_experiments.qos.position import Position
from evenflow_experiments.slices.helper import orders_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import DomainConfig

MATCH_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a publisher writes."""

    name: str
    per_s: float
    """Samples a second, of all its vehicles together."""
    vehicles: int = 1
    readers: int = 1
    """It begins when so many readers are there."""
    block_s: float = 0.05


class Source:
    """Writes on schedule in a thread, until it is ended."""

    def __init__(self, writer: PlainWriter, schedule: Schedule) -> None:
        self.writer = writer
        self.schedule = schedule
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """Write no more."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _write(self) -> None:
        schedule, number = self.schedule, 0
        start = time.time()
        while not self._end.is_set():
            due = start + number / schedule.per_s
            pause = due - time.time()
            if pause > 0:
                time.sleep(pause)
            vehicle = f"{schedule.name}-{number % schedule.vehicles}"
            number += 1
            try:
                self.writer.write(
                    Position(vehicle, number, int(due * 1e9), 21.42, 39.83, "on the way" * 4)
                )
            except WriterFull:
                continue


def publish(
    config: DomainConfig, plan: list[tuple[PlainTopic, Schedule]], pipe: Connection
) -> None:
    """Serve as a publisher: ``start``, ``use``, ``stats``, ``end``."""
    with enter(config) as domain:
        sources = [
            Source(PlainWriter(domain, topic, name=one.name, block_s=one.block_s), one)
            for topic, one in plan
        ]
        pipe.send("ready")
        for order in orders_of(pipe):
            if order == "start":
                wait_until(lambda: all(_is_read(source) for source in sources), MATCH_S)
                for source in sources:
                    source.start()
                pipe.send(time.time())
            elif order == "use":
                pipe.send([source.writer.standing() for source in sources])
            elif order == "stats":
                pipe.send([source.writer.stats for source in sources])
            elif order == "end":
                for source in sources:
                    source.end()
                pipe.send([source.writer.stats for source in sources])
        for source in sources:
            source.end()


def _is_read(source: Source) -> bool:
    return source.writer.matched() >= source.schedule.readers


class Sink:
    """Reads in a thread; each sample costs some time."""

    def __init__(self, reader: PlainReader, work_s: float) -> None:
        self.reader = reader
        self.numbers: list[tuple[str, int]] = []
        self.delays: list[tuple[float, float]] = []
        """Of each sample: when it was taken, and how long after it was due."""
        self._work_s = work_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._end.is_set():
            self.reader.wait(0.1)
            for sample in self.reader.take(16):
                if self._work_s:
                    time.sleep(self._work_s)
                now = time.time()
                self.numbers.append((sample.vehicle, sample.number))
                self.delays.append((now, now - sample.due / 1e9))

    def end(self) -> None:
        """Read no more."""
        self._end.set()
        self._thread.join()


def subscribe(config: DomainConfig, plan: list[tuple[PlainTopic, float]], pipe: Connection) -> None:
    """Serve as a subscriber to topics, each with the time that a sample costs.

    Orders: ``cpu`` (seconds used so far), a separation for all that may be thinned, ``counts``,
    ``end``.
    """
    with enter(config) as domain:
        sinks = [Sink(PlainReader(domain, topic), work_s) for topic, work_s in plan]
        pipe.send("ready")
        for order in orders_of(pipe):
            if order == "cpu":
                pipe.send((time.monotonic(), time.process_time()))
            elif order == "counts":
                pipe.send([(len(sink.numbers), sink.reader.filtered) for sink in sinks])
            elif order == "end":
                for sink in sinks:
                    sink.end()
                pipe.send([(sink.numbers, sink.delays) for sink in sinks])
            else:
                sinks[0].reader.set_separation(order)
                pipe.send(sinks[0].reader.separation_s)
        for sink in sinks:
            sink.end()


def all_answer(helpers: list[Any], order: Any) -> list[Any]:
    """Tell all, then wait for all."""
    for helper in helpers:
        helper.tell(order)
    return [helper.answer() for helper in helpers]
