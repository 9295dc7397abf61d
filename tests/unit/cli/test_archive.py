"""Archivers are stopped by a signal, though brokers do not answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.cli.archive import store_until
from evenflow.errors import ClosedError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable


class Stop:
    """A signal that was given, or is not for long."""

    def __init__(self, *, given: bool) -> None:
        self.given = given

    def wait(self, seconds: float) -> bool:
        return self.given


class Waiting:
    """An archiver that waits for brokers, until it is let go."""

    def __init__(self) -> None:
        self._let_go = threading.Event()

    def run(self, stop: Callable[[], bool]) -> None:
        assert self._let_go.wait(10.0)
        raise ClosedError("store client")

    def let_go(self) -> None:
        self._let_go.set()


class Failing(Waiting):
    def run(self, stop: Callable[[], bool]) -> None:
        raise StorageError("disk", "a test")


def test_brokers_that_do_not_answer_are_not_waited_for() -> None:
    given: Any = Stop(given=True)
    store_until(given, [Waiting(), Waiting()], 0.01)  # type: ignore[list-item]


def test_nodes_that_do_not_answer_are_not_waited_for() -> None:
    class Reading(Waiting):
        def let_go(self) -> None:
            """It reads from nodes: the brokers' client says nothing to it."""

    given: Any = Stop(given=True)
    begun = time.monotonic()
    store_until(given, [Reading(), Reading()], 0.01)  # type: ignore[list-item]
    assert time.monotonic() - begun < 9.0  # it would read for 10 s


def test_what_one_fails_by_ends_all_and_is_raised() -> None:
    given: Any = Stop(given=False)
    with pytest.raises(StorageError, match="a test"):
        store_until(given, [Waiting(), Failing()], 0.01)  # type: ignore[list-item]
