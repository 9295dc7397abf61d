"""Streams that end, break off, fall silent, or are left."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from pyarrow import flight

from evenflow.slices.consumer.idle_limit import streamed


class Stream:
    """A stream of numbers; what ``after`` does happens behind the last one."""

    def __init__(self, numbers: range, after: threading.Event | None = None) -> None:
        self._numbers = numbers
        self._after = after
        self.cancelled = threading.Event()

    def __iter__(self) -> Iterator[int]:
        yield from self._numbers
        if self._after is not None:
            self._after.wait(10.0)

    def cancel(self) -> None:
        self.cancelled.set()


def test_gives_every_chunk_in_order() -> None:
    assert list(streamed(lambda: Stream(range(100)), 5.0)) == list(range(100))


def test_a_fault_is_raised_where_it_is_read() -> None:
    def start() -> Stream:
        raise flight.FlightUnavailableError("gone")

    with pytest.raises(flight.FlightUnavailableError, match="gone"):
        list(streamed(start, 5.0))


def test_who_waits_for_a_silent_stream_is_told() -> None:
    speak = threading.Event()
    found = []
    with pytest.raises(flight.FlightTimedOutError, match=r"nothing came for 0\.05 s"):
        found.extend(streamed(lambda: Stream(range(0), speak), 0.05))
    assert found == []
    speak.set()


def test_a_stream_that_is_left_is_cancelled() -> None:
    stream = Stream(range(1_000_000))
    chunks = streamed(lambda: stream, 5.0)
    assert next(chunks) == 0
    chunks.close()  # type: ignore[attr-defined]
    assert stream.cancelled.wait(5.0)
