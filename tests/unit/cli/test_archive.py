"""Each topic is archived by itself; a signal ends all, though brokers do not answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.cli import archive
from evenflow.cli.archive import Work, exit_code, store_until
from evenflow.errors import ClosedError, DomainError, NameTaken, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable


class Stop:
    """A signal that is given when all of this has happened."""

    def __init__(self, *after: threading.Event) -> None:
        self._after = after

    def wait(self, seconds: float) -> bool:
        return all(one.wait(min(seconds, 0.01)) for one in self._after)

    @property
    def given(self) -> bool:
        return all(one.is_set() for one in self._after)


class Waiting:
    """An archiver that waits for brokers, until it is let go."""

    items = 3

    def __init__(self) -> None:
        self.running = threading.Event()
        self.closed = False
        self._let_go = threading.Event()

    def run(self, stop: Callable[[], bool]) -> None:
        self.running.set()
        assert self._let_go.wait(10.0)
        raise ClosedError("store client")

    def let_go(self) -> None:
        self._let_go.set()

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reading(Waiting):
    """It reads from nodes: the brokers' client says nothing to it."""

    def let_go(self) -> None: ...


class Storing(Waiting):
    """It stores until it is told to stop."""

    def run(self, stop: Callable[[], bool]) -> None:
        self.running.set()
        deadline = time.monotonic() + 10.0
        while not stop():
            assert time.monotonic() < deadline
            self._let_go.wait(0.001)


class Failing(Waiting):
    def run(self, stop: Callable[[], bool]) -> None:
        raise StorageError("disk", "a test")


def work(topic: str, begin: Callable[[], Any]) -> Work:
    return Work(topic, begin)


def store(stop: Any, *works: Work) -> None:
    store_until(stop, works, 0.01)


def test_brokers_that_do_not_answer_are_not_waited_for() -> None:
    one, other = Waiting(), Waiting()
    works = work("a", lambda: one), work("b", lambda: other)
    store(Stop(one.running, other.running), *works)
    assert exit_code(works) == 0


def test_nodes_that_do_not_answer_are_not_waited_for() -> None:
    one, other = Reading(), Reading()
    works = work("a", lambda: one), work("b", lambda: other)
    begun = time.monotonic()
    store(Stop(one.running, other.running), *works)
    assert time.monotonic() - begun < 9.0  # it would read for 10 s
    assert one.closed
    assert other.closed
    assert exit_code(works) == 0


def test_a_topic_that_cannot_begin_stops_no_other_and_a_signal_ends_both(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked, one = threading.Event(), Storing()

    def nobody() -> Any:
        asked.set()
        raise DomainError("topic 'idle'", "no node serves it")

    works = work("idle", nobody), work("busy", lambda: one)
    store(Stop(asked, one.running), *works)
    assert one.closed
    assert [each.items for each in works] == [0, 3]
    assert exit_code(works) == 0
    said = capsys.readouterr().err
    assert "waiting: topic 'idle': no node serves it" in said
    assert "archiving busy" in said


def test_one_that_waits_in_its_beginning_does_not_hold_up_the_end() -> None:
    asked, over, one = threading.Event(), threading.Event(), Storing()

    def slow() -> Any:
        asked.set()
        over.wait(10.0)
        raise DomainError("topic 'idle'", "no node serves it")

    begun = time.monotonic()
    store(Stop(asked, one.running), work("idle", slow), work("busy", lambda: one))
    over.set()
    assert time.monotonic() - begun < 9.0
    assert one.closed


def test_what_one_fails_by_ends_no_other_and_is_told_at_once_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, broken, one = threading.Event(), Failing(), Storing()
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        told.set()

    monkeypatch.setattr(archive, "fail", tell)
    works = work("broken", lambda: broken), work("busy", lambda: one)
    store(Stop(told, one.running), *works)
    assert lines == ["topic 'broken' is not archived any more: storage disk: a test"]
    assert broken.closed, "another process may take its place"
    assert one.closed
    assert exit_code(works) == 1
    assert lines == 2 * lines[:1]


def test_when_all_have_failed_it_ends_by_itself_and_cannot_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def taken() -> Any:
        raise NameTaken("consumer 'archive'", "another runs")

    works = work("a", Failing), work("b", taken)
    store(Stop(threading.Event()), *works)
    capsys.readouterr()
    with pytest.raises(NameTaken, match="topic 'b': another process archives it already"):
        exit_code(works)
    [told] = capsys.readouterr().err.splitlines()
    assert "topic 'a' is not archived any more" in told


def test_what_nobody_thought_of_is_told_with_where_it_happened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def bug() -> Any:
        raise ZeroDivisionError

    works = (work("a", bug),)
    store(Stop(threading.Event()), *works)
    assert exit_code(works) == 1
    assert "test_archive.py" in caplog.text
