"""The way of one slice's batches into the domain, in the order of their numbers.

Batches are queued under the publisher's lock, in the order they are numbered, and written
outside of it by whoever holds the slice writer's own lock, so a slow write delays nobody but its
own slice.

When a reader does not keep up, the DDS writer of its slice fills and refuses a batch. The slice
is then *congested*: its batches are retained and not written, so that a stopped node costs the
other slices nothing, until the readers have acknowledged everything that is on its way (or are
gone). What was not written is a hole that the node finds by the numbers and has replayed.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer


class SliceWriter:
    """Writes the batches of one slice."""

    __slots__ = ("_lock", "_queue", "_writer", "congested", "hole", "skipped", "written")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = Lock()
        self._queue: deque[tuple[int, bytes]] = deque()
        self.congested = False
        self.hole = 0
        """Newest number that was not written."""
        self.skipped = 0
        """Batches that were not written."""
        self.written = False
        """Whether anything was written since this was last reset."""

    def put(self, last: int, encoded: bytes) -> None:
        """Queue a batch, whose last number is ``last``; call :meth:`drain` afterwards."""
        self._queue.append((last, encoded))

    def drain(self) -> None:
        """Write what is queued."""
        with self._lock:
            while self._queue:
                last, encoded = self._queue.popleft()
                if not self.congested and self._writer.write_encoded(encoded):
                    self.written = True
                else:
                    self.congested = True
                    self.hole = last
                    self.skipped += 1

    def is_acknowledged(self, timeout_s: float = 0.0) -> bool:
        """Whether the readers have everything that was written, waiting for it if told so."""
        return self._writer.wait_acked(timeout_s)

    def recover(self) -> None:
        """Write again if the readers have caught up."""
        if self.congested and self.is_acknowledged():
            self.congested = False

    def readers(self) -> int:
        """How many readers there are."""
        return self._writer.matched()

    def close(self) -> None:
        """Close the writer."""
        self._writer.close()
