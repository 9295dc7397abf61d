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

from evenflow.domain import channels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.cyclone import Participant, Writer


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


class SliceWriters:
    """The writers of all slices of one publisher.

    Args:
        participant: Where they are opened.
        topic: The evenflow topic.
        slice_count: How many slices there are.
    """

    def __init__(self, participant: Participant, topic: str, slice_count: int) -> None:
        data = channels.data(topic)
        self._writers = [
            SliceWriter(participant.writer(data, channels.slice_partition(slice_id)))
            for slice_id in range(slice_count)
        ]
        self.needs_recovery = False
        """Whether a slice was congested when it was last looked at."""

    def __getitem__(self, slice_id: int) -> SliceWriter:
        return self._writers[slice_id]

    def drain(self, slices: Iterable[int]) -> None:
        """Write what is queued for these slices."""
        for slice_id in slices:
            writer = self._writers[slice_id]
            writer.drain()
            if writer.congested:
                self.needs_recovery = True

    def recover(self) -> None:
        """Write again into the slices whose readers have caught up."""
        for writer in self._writers:
            writer.recover()
        self.needs_recovery = self.congested > 0

    def take_written(self) -> list[int]:
        """The slices that were written since this was last asked."""
        written = [s for s, writer in enumerate(self._writers) if writer.written]
        for slice_id in written:
            self._writers[slice_id].written = False
        return written

    def need_no_wait(self, slice_id: int) -> bool:
        """Whether a slice's readers have everything, or do not keep up and are not waited for."""
        writer = self._writers[slice_id]
        return writer.congested or writer.is_acknowledged()

    @property
    def unread(self) -> int:
        """How many slices have no reader."""
        return sum(writer.readers() == 0 for writer in self._writers)

    @property
    def congested(self) -> int:
        """How many slices are congested."""
        return sum(writer.congested for writer in self._writers)

    @property
    def skipped(self) -> int:
        """Batches that were not written, in all slices."""
        return sum(writer.skipped for writer in self._writers)

    def readers(self) -> int:
        """How many readers there are, over all slices."""
        return sum(writer.readers() for writer in self._writers)

    def close(self) -> None:
        """Close all writers."""
        for writer in self._writers:
            writer.close()
