"""The two processes of the codec experiment: one writes items, the other reads and checks them.

Each end serves orders that come through a pipe. The first eight bytes of every payload are the
item's id; the reader compares them with the id itself and with the number that is due, so what is
counted was looked at, and nothing lost or repeated goes unnoticed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.domain import channels
from evenflow.domain.cyclone import Participant, Waiter
from evenflow.errors import ExperimentError
from evenflow.model.batch import Item, offsets_of
from evenflow.model.encoding import encode_item, encode_sample
from evenflow.model.sample import Sample
from evenflow_experiments.slices.helper import orders_of
from evenflow_experiments.slices.stock import StockReader, StockWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.connection import Connection

    from evenflow.config import DomainConfig

OURS, STOCK, PLAIN = "ours", "stock", "stock-plain"
DEADLINE_S: Final = 60.0
_SENDER: Final = "vehicle-17"
_MARK: Final = 8
"""Bytes of the id at the beginning of a payload."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to send items."""

    codec: str
    """``OURS``, ``STOCK`` or ``PLAIN``; or a way of :mod:`.codec_publish`."""
    octets: int
    """Size of a payload."""
    batch: int
    """Items of one sample, or of one call."""


@dataclass(frozen=True, slots=True)
class Run:
    """An order: send, or receive, so many items of a row, numbered from ``first``."""

    row: Row
    first: int
    count: int


def serve_writer(config: DomainConfig, pipe: Connection) -> None:
    """Write what is ordered; answer with the time of the first write."""
    with Participant(config) as participant:
        writers: dict[str, Any] = {
            OURS: participant.writer(channels.replay("codec")),
            STOCK: StockWriter(participant, "codec/stock", plain=False),
            PLAIN: StockWriter(participant, "codec/plain", plain=True),
        }
        _await(lambda: all(writer.matched() for writer in writers.values()), "a reader")
        pipe.send("ready")
        for run in orders_of(pipe):
            start = time.monotonic()
            send = _send_batches if run.row.batch > 1 else _send_items
            send(run, writers[run.row.codec])
            pipe.send(start)


def _send_items(run: Run, writer: Any) -> None:
    rest = bytes(run.row.octets - _MARK)
    now = time.time_ns() // 1_000
    for number in range(run.first, run.first + run.count):
        payload = number.to_bytes(_MARK, "little") + rest
        if run.row.codec == OURS:
            item = Item(_SENDER, number, now, payload)
            _write(writer, encode_item(1, number, 0, 0, number, item))
        else:
            writer.write(number, _SENDER, now, payload)


def _send_batches(run: Run, writer: Any) -> None:
    count, octets = run.row.batch, run.row.octets
    times = np.full(count, time.time_ns() // 1_000)
    names = offsets_of([len(_SENDER)] * count), (_SENDER * count).encode()
    rows = np.zeros(count * octets, np.uint8)
    marks = np.ndarray(count, np.int64, rows.data, strides=(octets,))
    offsets = offsets_of([octets] * count)
    for first in range(run.first, run.first + run.count, count):
        ids = np.arange(first, first + count)
        marks[:] = ids
        head = (1, first, 0, [0], [count], [first])
        _write(writer, encode_sample(*head, ids, times, *names, offsets, rows.data))


def _write(writer: Any, encoded: bytes) -> None:
    if not writer.write_encoded(encoded):
        _await(lambda: writer.write_encoded(encoded), "room")


def serve_reader(config: DomainConfig, pipe: Connection) -> None:
    """Read what is ordered; answer with the time of the last item, and the lost and repeated."""
    with Participant(config) as participant:
        readers: dict[str, Any] = {
            OURS: participant.reader(channels.replay("codec")),
            STOCK: StockReader(participant, "codec/stock", plain=False),
            PLAIN: StockReader(participant, "codec/plain", plain=True),
        }
        waiter = participant.waiter()
        for reader in readers.values():
            waiter.attach(reader)
        pipe.send("ready")
        for run in orders_of(pipe):
            pipe.send("ready")
            pipe.send(_receive(run, readers[run.row.codec], waiter))


def _receive(run: Run, reader: Any, waiter: Waiter) -> tuple[float, int, int]:
    tally = Tally(run.first)
    look: Callable[[Any], None] = tally.see_items
    if run.row.codec == OURS:
        look = tally.see_batches if run.row.batch > 1 else tally.see_single_batches
    end = run.first + run.count
    while tally.due < end:
        if not waiter.wait(DEADLINE_S):
            raise ExperimentError("codec", f"{run.row} stopped at {tally.due} of {end}")
        look(reader.take())
    return time.monotonic(), tally.lost, tally.repeated


class Tally:
    """Which number is due, and what was lost or repeated so far."""

    def __init__(self, first: int) -> None:
        self.due = first
        self.lost = 0
        self.repeated = 0

    def see_items(self, samples: Iterable[tuple[int, list[int]]]) -> None:
        """Look at items that the stock codec gave."""
        for item_id, payload in samples:
            self._see(item_id, int.from_bytes(payload[:_MARK], "little"))

    def see_single_batches(self, samples: Iterable[Sample]) -> None:
        """Look at batches of one item."""
        for batch in (sample.rows for sample in samples):
            self._see(int(batch.ids[0]), int.from_bytes(batch.payload_buffer[:_MARK], "little"))

    def see_batches(self, samples: Iterable[Sample]) -> None:
        """Look at batches of items whose payloads are all of one size."""
        for batch in (sample.rows for sample in samples):
            ids = batch.ids
            octets = int(batch.payload_offsets[1])
            marks = np.ndarray(batch.count, np.int64, batch.payload_buffer.data, strides=(octets,))
            due = np.arange(self.due, self.due + batch.count)
            if np.array_equal(ids, due) and np.array_equal(marks, due):
                self.due += batch.count
            else:
                for item_id, mark in zip(ids.tolist(), marks.tolist(), strict=True):
                    self._see(item_id, mark)

    def _see(self, item_id: int, mark: int) -> None:
        if item_id != mark:
            raise ExperimentError("codec", f"item {item_id} came with the payload of {mark}")
        if item_id < self.due:
            self.repeated += 1
        else:
            self.lost += item_id - self.due
            self.due = item_id + 1


def _await(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise ExperimentError("codec", f"no {what} within {DEADLINE_S:g} s")
        time.sleep(0.001)
