"""What a reception gives to the program, and how it ends."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from evenflow.errors import ClosedError, UsageError
from evenflow.slices.subscriber.reception import Reception


class Place:
    """A participant and its waiter; each turn of the thread is let through by hand."""

    def __init__(self) -> None:
        self.turns = threading.Semaphore(0)
        self.closed: list[str] = []

    def waiter(self) -> Any:
        return Waiter(self)

    def close(self) -> None:
        self.closed.append("participant")


class Waiter:
    def __init__(self, place: Place) -> None:
        self._place = place

    def wait(self, _timeout_s: float) -> None:
        assert self._place.turns.acquire(timeout=10.0)

    def wake(self) -> None:
        self._place.turns.release()

    def close(self) -> None:
        self._place.closed.append("waiter")


class Numbers(Reception[int]):
    """Receives what it is given; an error is raised in the thread."""

    def __init__(self, place: Place, *incoming: int | Exception) -> None:
        super().__init__("numbers", place, own=True)  # type: ignore[arg-type]
        self._incoming = list(incoming)
        self._waiting: list[int] = []
        self._start()
        for _ in incoming:
            place.turns.release()

    def _take_in(self) -> bool:
        if not self._incoming:
            return False
        came = self._incoming.pop(0)
        if isinstance(came, Exception):
            raise came
        self._waiting.append(came)
        return True

    def _fetch(self) -> int | None:
        return self._waiting.pop(0) if self._waiting else None


def test_a_failure_is_raised_after_what_came_before_it() -> None:
    place = Place()
    numbers = Numbers(place, 1, 2, ValueError("no more"))
    assert [next(numbers), next(numbers)] == [1, 2]
    for _ in range(20):
        with pytest.raises(ValueError, match="no more") as raised:
            next(numbers)
    assert len(raised.traceback) < 10, "it keeps nothing of those who were told before"
    numbers.close()
    assert place.closed == ["waiter", "participant"]
    with pytest.raises(ClosedError):
        numbers.receive(0.0)


def test_one_may_wait_without_end_and_not_for_something_that_is_no_time() -> None:
    place = Place()
    with Numbers(place) as numbers:
        with pytest.raises(UsageError, match="give seconds"):
            numbers.receive(timeout="1")  # type: ignore[arg-type]
        numbers._incoming.append(7)
        later = threading.Timer(0.05, place.turns.release)
        later.start()
        assert numbers.receive(timeout=float("inf")) == 7


def test_a_loop_ends_when_its_participant_is_closed() -> None:
    place = Place()
    with Numbers(place, 1, ClosedError("participant")) as numbers:
        assert list(numbers) == [1]
    assert place.closed == ["waiter", "participant"]


def test_a_loop_ends_when_it_is_closed() -> None:
    place = Place()
    numbers = Numbers(place)
    numbers.close()
    numbers.close()
    assert list(numbers) == []
    assert place.closed == ["waiter", "participant"]
