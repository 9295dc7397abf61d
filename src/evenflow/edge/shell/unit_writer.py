"""The way of a unit to the disk: its marks, then the unit itself, then it is safe.

One thread for each topic. A publisher whose outbox is full, because nobody commits, is tried again
until there is room: nothing of the unit is on disk meanwhile, and its clients are not read.
Columns are made here, in a thread of the topic: chunk by chunk, without touching single items.
"""

from __future__ import annotations

import logging
import queue
import threading
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from evenflow.closing import Closing
from evenflow.errors import EvenflowError, PublishTimeout
from evenflow.model.headers import joined_headers, view_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.clock import Clock
    from evenflow.edge.actions import Accept, Chunk
    from evenflow.edge.shell.marks import Marks
    from evenflow.model.headers import Headers
    from evenflow.slices.publisher.publisher import Publisher

LOOK_S: Final = 1.0
"""How often a unit that waits looks whether the door ends."""
_log = logging.getLogger(__name__)


def columns_of(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """The items of a unit as :meth:`Publisher.publish_unit` wants them; ids are their numbers."""
    counts = np.fromiter((len(one.payloads) for one in chunks), np.int64, len(chunks))
    names = dict.fromkeys(one.sender for one in chunks)
    places = {name: place for place, name in enumerate(names)}
    indices = np.fromiter((places[one.sender] for one in chunks), np.int32, len(chunks))
    firsts = np.fromiter((one.first for one in chunks), np.int64, len(chunks))
    begins = np.cumsum(counts) - counts
    total = int(counts.sum())
    return {
        "payloads": pa.array(
            list(chain.from_iterable(one.payloads for one in chunks)), pa.large_binary()
        ),
        "senders": pa.DictionaryArray.from_arrays(
            pa.array(np.repeat(indices, counts)), pa.array(list(names), pa.string())
        ),
        "ids": np.arange(total) + np.repeat(firsts - begins, counts),
        "times": np.fromiter(chain.from_iterable(one.times for one in chunks), np.int64, total),
        "headers": _headers_of(chunks),
    }


def _headers_of(chunks: Sequence[Chunk]) -> Headers | None:
    if not any(one.headers for one in chunks):
        return None
    blocks = chain.from_iterable(one.headers or (b"",) * len(one.payloads) for one in chunks)
    return joined_headers((view_headers(block) if block else None, 1) for block in blocks)


class UnitWriter(Closing):
    """Writes the units of one topic.

    Args:
        publisher: With an outbox; it is not closed with this.
        marks: Where marks are kept.
        clock: The time of day.
        on_synced: Told the topic and number of each unit that is safe; in this thread.
        on_failed: Told what ended it: after a failed disk nobody knows what is on it.
    """

    def __init__(
        self,
        publisher: Publisher,
        marks: Marks,
        clock: Clock,
        on_synced: Callable[[str, int], object],
        on_failed: Callable[[BaseException], object],
    ) -> None:
        self._publisher = publisher
        self._marks = marks
        self._clock = clock
        self._on_synced, self._on_failed = on_synced, on_failed
        self._queue: queue.SimpleQueue[Accept | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self.is_blocked = False
        """Whether the unit on its way finds no room."""
        name = f"evenflow-units-{publisher.topic}"
        columns_of(())  # Arrow loads pandas, where there is one, with the first: not in a unit
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def write(self, unit: Accept) -> None:
        """Write a unit; there is one at a time."""
        self._queue.put(unit)

    def _run(self) -> None:
        try:
            while (unit := self._queue.get()) is not None:
                if self._write(unit):
                    self._on_synced(unit.topic, unit.unit)
        except EvenflowError as failure:  # who is told says why
            self._on_failed(failure)
        except BaseException as failure:  # noqa: BLE001 - a door without it accepts nothing
            _log.exception("units of topic %r cannot be written", self._publisher.topic)
            self._on_failed(failure)

    def _write(self, unit: Accept) -> bool:
        """Write marks and unit; False when the door ends before it is safe."""
        self._marks.write(unit.topic, unit.unit, unit.marks, self._clock.wall())
        columns = columns_of(unit.chunks)
        while not self._published(unit.unit, columns):
            if self._stopping.is_set():
                return False
        while not self._publisher.wait_for_unit(unit.unit, LOOK_S):
            if self._stopping.is_set():
                return False
        return True

    def _published(self, unit: int, columns: dict[str, Any]) -> bool:
        try:
            self._publisher.publish_unit(unit, timeout=LOOK_S, **columns)
        except PublishTimeout as full:
            if not self.is_blocked:
                _log.warning("clients must wait: %s", full)
            self.is_blocked = True
            return False
        self.is_blocked = False
        return True

    def close(self) -> None:
        """End; a unit that is not safe yet is not safe after it either, or the outbox has it."""
        self._stopping.set()
        self._queue.put(None)
        self._thread.join()
