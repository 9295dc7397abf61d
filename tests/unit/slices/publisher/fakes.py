"""A domain in a test's hands: endpoints that write nowhere and hear what they are told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from evenflow.errors import ClosedError
from evenflow.slices.publisher.publisher import Publisher

LIMIT_S = 20.0
"""Longer than anything here takes."""


def until(holds: Callable[[], object]) -> None:
    """Wait for the publisher's own threads."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.001)


def leave_at_once(publisher: Publisher) -> None:
    """Close a publisher without waiting for commits that nobody sends."""
    if publisher._begin_to_leave():
        publisher._leave()


class FakeWriter:
    """Records what is written, while somebody reads and there is room."""

    def __init__(self, readers: int) -> None:
        self.readers = readers
        self.full = False
        self.caught_up = True
        self.closed = False
        self.written: list[Any] = []
        self.tried = threading.Event()
        self.changed = threading.Condition()

    def write(self, message: Any) -> bool:
        with self.changed:
            self.written.append(message)
            self.changed.notify_all()
        return True

    def write_encoded(self, encoded: bytes) -> bool:
        self._check()
        self.tried.set()
        return not self.full and self.write(encoded)

    def matched(self) -> int:
        self._check()
        self.tried.set()
        return self.readers

    def wait_acked(self, _timeout_s: float) -> bool:
        self._check()
        return self.caught_up or not self.readers

    def is_acked(self, _timeout_s: float) -> bool:
        return self.closed or self.caught_up or not self.readers

    def wait_for(self, count: int) -> list[Any]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.written) >= count, LIMIT_S)
            return list(self.written)

    def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.closed:
            raise ClosedError("writer")


class FakeReader:
    """Hears what a test says."""

    damaged = 0

    def __init__(self) -> None:
        self.said: list[Any] = []

    def take(self, _limit: int = 0) -> list[Any]:
        said, self.said = self.said, []
        return said

    def close(self) -> None:
        pass


class FakeWaiter:
    """Waits to be woken."""

    def __init__(self) -> None:
        self.woken = threading.Event()

    def attach(self, _reader: FakeReader) -> None:
        pass

    def wait(self, timeout_s: float) -> None:
        self.woken.wait(timeout_s)
        self.woken.clear()

    def wake(self) -> None:
        self.woken.set()

    def close(self) -> None:
        pass


class FakeParticipant:
    """Opens endpoints that a test can reach, by the names of channel and partition.

    Args:
        readers: How many readers a new writer has.
    """

    def __init__(self, readers: int = 0) -> None:
        self.readers = readers
        self._writers: dict[tuple[str, str], FakeWriter] = {}
        self._readers: dict[str, FakeReader] = {}
        self._waiter = FakeWaiter()
        self._lock = threading.Lock()

    def writer(self, channel: Any, partition: str = "") -> FakeWriter:
        with self._lock:
            writer = self._writers.get((channel.name, partition))
            if writer is None or writer.closed:
                writer = FakeWriter(self.readers)
                self._writers[channel.name, partition] = writer
            return writer

    def reader(self, channel: Any, _partitions: Iterable[str] = ()) -> FakeReader:
        return self._readers.setdefault(channel.name, FakeReader())

    def waiter(self) -> FakeWaiter:
        return self._waiter

    def host(self, guest: Any) -> None:
        pass

    def dismiss(self, guest: Any) -> None:
        pass

    def of(self, channel: Any, partition: str = "") -> FakeWriter:
        """The writer that was opened last, or will be opened."""
        return self._writers.get((channel.name, partition)) or self.writer(channel, partition)

    def say(self, channel: Any, message: Any) -> None:
        """Let the readers of a channel hear a message."""
        self._readers[channel.name].said.append(message)
        self._waiter.wake()
