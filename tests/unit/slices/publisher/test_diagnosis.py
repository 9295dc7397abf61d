"""Why a publisher is blocked, and what it counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.clock import SystemClock
from evenflow.model.messages import Commit, ConsumerCommit
from evenflow.slices.publisher import diagnosis
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.diagnosis import Blockage, publisher_stats, why_blocked
from evenflow.slices.publisher.sending.owner_writer import OwnerWriters

from .fakes import FakeParticipant
from .items import AT_ONCE, LINGER, WRITER, add, core_with, item

COMMIT = Commit("items", WRITER, "a", "", (1,), (7,), (1,))
OWNERS = ("a", "a", "b", "b")
READERS = frozenset("ab")


def core_with_item(*, served: bool = False) -> PublisherCore:
    core = core_with(AT_ONCE, OWNERS, served=served)
    add(core, 1, item())
    return core


def register(core: PublisherCore, name: str, epoch: int = 0) -> None:
    writers, epochs = ((WRITER,), (epoch,)) if epoch else ((), ())
    core.handle_consumer(ConsumerCommit("items", name, 1, writers, epochs, ended=False), 1.0)


@pytest.mark.parametrize(
    ("readers", "cause"),
    [
        ("", "no node reads this topic"),
        ("c", "no node reads this topic"),
        ("bc", "2 of 4 slices have no node"),
        ("ab", "nodes read this topic, but none has committed anything"),
    ],
)
def test_nodes_are_missing_or_do_not_commit(readers: str, cause: str) -> None:
    assert cause in why_blocked(core_with_item(), readers, 5.0)


def test_slices_that_nobody_owns_have_no_node() -> None:
    core = core_with(AT_ONCE, ("a", "", "a", "a"))
    assert why_blocked(core, READERS, 5.0) == "1 of 4 slices has no node"
    assert "no node reads this topic" in why_blocked(core_with(), READERS, 5.0)


def test_says_how_old_the_last_commit_is() -> None:
    core = core_with_item()
    core.handle(COMMIT, 1.0)
    assert why_blocked(core, READERS, 5.5) == "the last commit came 4.5 s ago"


def test_a_served_topic_needs_a_consumer() -> None:
    core = core_with_item(served=True)
    assert "no consumer is registered: start a Spark query" in why_blocked(core, READERS, 5.0)
    assert "no node reads this topic" in why_blocked(core, "", 5.0)


def test_names_the_consumers_that_are_behind() -> None:
    core = core_with_item(served=True)
    core.end_epoch(0.1)
    register(core, "alerts")
    register(core, "audit", epoch=1)
    cause = why_blocked(core, READERS, 5.0)
    assert "consumer alerts has not committed" in cause
    assert "the newest commit: never" in cause
    assert "'evenflow consumers forget alerts'" in cause


def test_an_archive_that_is_behind_is_to_be_started_and_cannot_be_forgotten() -> None:
    core = core_with_item(served=True)
    core.end_epoch(0.1)
    register(core, "archive")
    cause = why_blocked(core, READERS, 5.0)
    assert "consumer archive has not committed" in cause
    assert "'evenflow archive'" in cause
    assert "forget" not in cause


def test_counts_come_from_all_parts() -> None:
    core = core_with(LINGER, OWNERS)
    writers = OwnerWriters(FakeParticipant(1), "items", core.retention.has)  # type: ignore[arg-type]
    for slice_id in (1, 1, 2):
        add(core, slice_id, item())
    writers.drain(writers.put(core.seal(0.0), 0.0), 0.0)
    add(core, 1, item())
    core.handle(COMMIT, 1.0)
    core.handle(replace(COMMIT, terms=(6,)), 1.0)
    core.handle(replace(COMMIT, topic="other"), 1.0)
    core.handle(replace(COMMIT, slices=(9,)), 1.0)
    stats = publisher_stats(core, refused=2, replayed=3, writers=writers)
    assert (stats.published, stats.committed, stats.uncommitted) == (4, 1, 3)
    assert (stats.refused, stats.replayed, stats.samples) == (2, 3, 2)
    assert (stats.skipped, stats.congested) == (0, 0)
    assert (stats.stale_commits, stats.stale_requests, stats.ignored) == (1, 0, 2)
    assert stats.retained_bytes == core.kept > core.retention.size


class StandIn:
    """A condition and a clock whose time passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready_at = float("inf")

    def monotonic(self) -> float:
        return self.now

    def wait_for(self, ready: Callable[[], object], timeout: float) -> bool:
        self.now = min(self.now + timeout, max(self.now, self.ready_at))
        return bool(ready())

    def ready(self) -> bool:
        return self.now >= self.ready_at


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> tuple[StandIn, Blockage]:
    monkeypatch.setattr(diagnosis, "why_blocked", lambda *_: "no node reads this topic")
    one: Any = StandIn()
    core: Any = SimpleNamespace(topic="items")
    return one, Blockage(core, one, SimpleNamespace(readers=()), one)  # type: ignore[arg-type]


def test_a_publisher_that_is_blocked_says_why_and_when_it_goes_on(
    stand_in: tuple[StandIn, Blockage], caplog: pytest.LogCaptureFixture
) -> None:
    time, blockage = stand_in
    time.ready_at = 12.5
    blockage.wait(time.ready, 60.0)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("WARNING", "publishing to topic items is blocked: no node reads this topic"),
        ("WARNING", "publishing to topic items goes on after 12.5 s"),
    ]


def test_a_short_wait_is_nothing_to_tell(
    stand_in: tuple[StandIn, Blockage], caplog: pytest.LogCaptureFixture
) -> None:
    time, blockage = stand_in
    time.ready_at = 0.9
    blockage.wait(time.ready, 60.0)
    assert time.now == 0.9
    assert caplog.records == []


def test_callers_who_try_again_and_again_are_one_blockage(
    stand_in: tuple[StandIn, Blockage], caplog: pytest.LogCaptureFixture
) -> None:
    time, blockage = stand_in
    for _ in range(50):
        blockage.wait(time.ready, 0.2)
    assert time.now == pytest.approx(10.0)
    assert len(caplog.records) == 1
    time.now = 100.0  # nobody came for long: the next one is another
    for _ in range(50):
        blockage.wait(time.ready, 0.2)
    assert len(caplog.records) == 2


def test_no_wait_is_longer_than_it_was_asked_for(stand_in: tuple[StandIn, Blockage]) -> None:
    time, blockage = stand_in
    blockage.wait(time.ready, 3.0)
    assert time.now == pytest.approx(3.0)


class TwoCallers:
    """Two threads that wait by a blockage, let in one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(diagnosis, "why_blocked", lambda *_: "no node reads this topic")
        self.changed = threading.Condition()
        core: Any = SimpleNamespace(topic="items")
        writers: Any = SimpleNamespace(readers=())
        self.blockage = Blockage(core, self.changed, writers, SystemClock())
        self.room = {"a": False, "b": False}
        self.failures: list[BaseException] = []
        self._waits = {name: threading.Event() for name in self.room}
        self.threads = {
            name: threading.Thread(target=self._wait, args=(name,)) for name in self.room
        }

    def _wait(self, name: str) -> None:
        try:
            with self.changed:
                self.blockage.wait(lambda: self._looks(name), 60.0)
        except AssertionError as error:
            self.failures.append(error)

    def _looks(self, name: str) -> bool:
        self._waits[name].set()
        return self.room[name]

    def start(self) -> None:
        for name, thread in self.threads.items():
            thread.start()
            assert self._waits[name].wait(10.0)

    def make_room(self, name: str) -> None:
        with self.changed:  # who waits has let go of it
            self.room[name] = True
            self.changed.notify_all()
        self.threads[name].join(10.0)
        assert not self.threads[name].is_alive()


def test_two_threads_may_wait_for_room_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    callers = TwoCallers(monkeypatch)
    callers.start()
    callers.make_room("a")
    callers.make_room("b")
    assert callers.failures == []


def test_a_blockage_that_was_told_is_over_when_the_last_caller_has_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(diagnosis, "TELL_S", 0.0)
    callers = TwoCallers(monkeypatch)
    callers.start()
    callers.make_room("a")
    with callers.changed:
        assert [one.event for one in caplog.records] == ["publisher-blocked"]  # type: ignore[attr-defined]
    callers.make_room("b")
    told = [one.event for one in caplog.records]  # type: ignore[attr-defined]
    assert told == ["publisher-blocked", "publisher-goes-on"]
    assert callers.failures == []
