"""Two balancers and one folder: who claimed it last writes, and has read what the other wrote."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenflow.errors import StorageError
from evenflow.model.bounds import TERM_AHEAD_S, newest_term
from evenflow.model.messages import CutStage
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.ending.bookkeeping import WRITERS, Bookkeeping, Books
from evenflow.slices.ending.disk import StateFolder
from evenflow.slices.ending.fence import CLAIM_AGAIN_S, Fence
from evenflow.slices.ending.records import Ended, encode_ended
from evenflow.slices.ending.saving import DISK_S, Saving
from evenflow.slices.terms import balancer_of

TOPIC = "items"
WALL = 1_800_000_000.0


def leader(identity: int, wall: float = WALL) -> Leadership:
    return Leadership(0.0, wall, identity=identity, alone=True)


def ends(*writers: int) -> dict[str, bytes]:
    ended = [Ended(writer, 1, CutStage.CLEARED) for writer in writers]
    return {WRITERS: encode_ended(TOPIC, ended)}


def writers_in(folder: StateFolder) -> list[int]:
    return [one.writer for one in folder.load(TOPIC).ended]


def test_who_has_not_claimed_a_folder_does_not_write_it(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    with pytest.raises(StorageError, match="another balancer has claimed it"):
        folder.save(TOPIC, ends(1))
    assert writers_in(folder) == []


def test_the_newest_claim_writes_and_the_former_does_not(tmp_path: Path) -> None:
    first, second = StateFolder(tmp_path), StateFolder(tmp_path)
    first.claim(TOPIC, leader(1))
    first.save(TOPIC, ends(1))
    second.claim(TOPIC, leader(2))
    assert writers_in(second) == [1]
    with pytest.raises(StorageError, match="another balancer has claimed it"):
        first.save(TOPIC, ends(1, 3))
    assert (first.holds(TOPIC), second.holds(TOPIC)) == (False, True)
    second.save(TOPIC, ends(1, 2))
    assert writers_in(first) == [1, 2]


def test_topics_are_claimed_one_by_one(tmp_path: Path) -> None:
    first, second = StateFolder(tmp_path), StateFolder(tmp_path)
    first.claim(TOPIC, leader(1))
    second.claim("others", leader(2))
    first.save(TOPIC, ends(1))
    assert writers_in(first) == [1]


def test_who_claims_is_newer_than_who_had_the_disk_whatever_its_clock_says(tmp_path: Path) -> None:
    ahead, behind = leader(1, WALL + 3_600.0), leader(2)
    StateFolder(tmp_path).claim(TOPIC, ahead)
    StateFolder(tmp_path).claim(TOPIC, behind)
    assert balancer_of(behind.terms.newest) > balancer_of(ahead.terms.newest)


def test_a_claim_by_a_clock_that_nobody_believes_makes_nobody_unbelievable(tmp_path: Path) -> None:
    """Nodes would obey nobody any more: neither who has that clock nor who claims after it."""
    now = time.time()
    wrong, right = leader(1, now + 2 * TERM_AHEAD_S), leader(2, now)
    StateFolder(tmp_path).claim(TOPIC, wrong)
    folder = StateFolder(tmp_path)
    folder.claim(TOPIC, right)
    assert right.terms.newest < newest_term(now)
    folder.save(TOPIC, ends(1))
    assert writers_in(folder) == [1]


def test_a_damaged_claim_is_nobodys_and_is_replaced(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.claim(TOPIC, leader(1))
    (tmp_path / f"{TOPIC}.claim.json").write_bytes(b"{")
    with pytest.raises(StorageError, match="another balancer has claimed it"):
        folder.save(TOPIC, ends(1))
    folder.claim(TOPIC, leader(1))
    folder.save(TOPIC, ends(1))
    assert writers_in(folder) == [1]


def test_who_stands_still_with_the_lock_holds_nobody_up(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.claim(TOPIC, leader(1))
    with (tmp_path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for write in (lambda: folder.save(TOPIC, ends(1)), lambda: folder.claim(TOPIC, leader(1))):
            with pytest.raises(StorageError, match="another process is writing there"):
                write()
        assert not folder.is_writable()
    assert folder.is_writable()
    folder.save(TOPIC, ends(1))
    assert writers_in(folder) == [1]


def test_the_disk_is_claimed_back_after_a_while_and_no_sooner() -> None:
    fence = Fence()
    assert not fence.look(0.0, held=True)
    assert not fence.look(1.0, held=False)
    assert fence.lost
    assert not fence.look(0.9 + CLAIM_AGAIN_S, held=False)
    assert fence.look(1.0 + CLAIM_AGAIN_S, held=False)
    assert not fence.look(2.0 + CLAIM_AGAIN_S, held=False)
    assert not fence.look(3.0 + CLAIM_AGAIN_S, held=True)
    assert not fence.lost


class Process:
    """The part of a balancer that has to do with its disk."""

    def __init__(self, path: Path, identity: int) -> None:
        self.leadership = leader(identity)
        self.saving = Saving(path, self.leadership)
        self.begin()

    def begin(self) -> None:
        self.turn = self.leadership.turn
        state = self.saving.load(TOPIC)
        self.books = Bookkeeping(TOPIC, self.leadership.terms, Books(state))

    def end(self, writer: int) -> None:
        self.books.cutting._end(Ended(writer, 1, CutStage.CLEARED))

    def poll(self, now: float) -> None:
        if self.turn != self.leadership.turn:
            self.begin()
        self.saving.poll({TOPIC: self.books}, now)


def test_who_has_lost_the_disk_waits_and_then_reads_what_the_other_saved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Process(tmp_path, 1), Process(tmp_path, 2)
    second.end(20)
    second.poll(0.0)
    assert not second.books.cutting.unsaved
    first.end(10)
    with caplog.at_level(logging.ERROR):
        for tick in range(40):
            first.poll(tick / 10)
    assert first.books.cutting.unsaved
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith("new consumers and the ends of writers wait: another balancer has")
    for tick in range(40, 80):
        first.poll(tick / 10)
    assert set(first.books.cutting.ended) == {20}
    first.end(10)
    first.poll(9.0)
    assert writers_in(StateFolder(tmp_path)) == [20, 10]
    second.end(21)
    second.poll(9.1)
    assert second.books.cutting.unsaved
    assert first.leadership.terms.newest > second.leadership.terms.newest


def test_a_claim_that_cannot_be_written_is_made_when_it_can(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir()
    with (path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = Process(path, 1)
        process.end(10)
        process.poll(0.0)
        process.poll(CLAIM_AGAIN_S)
        assert process.turn == process.leadership.turn
    for tick in range(20):
        process.poll(CLAIM_AGAIN_S + tick)
    process.end(10)
    process.poll(2 * CLAIM_AGAIN_S + 20)
    assert writers_in(StateFolder(path)) == [10]


def test_a_lock_is_waited_for_once_however_many_topics_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that waited for each would lead late, take itself for stopped, and begin again."""
    pauses: list[float] = []
    # However slow this disk is, and whoever else sleeps in this process: the lock alone takes time.
    clock = SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses), time=time.time)
    monkeypatch.setattr("evenflow.slices.ending.disk.time", clock)
    monkeypatch.setattr("evenflow.slices.ending.saving.time", clock)
    leadership = leader(1)
    saving = Saving(tmp_path, leadership)
    with (tmp_path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in range(40):
            saving.load(f"topic-{number}")
    assert 0 < sum(pauses) < BalancerSettings().stall
    leadership.claim_anew("it may have the disk now", 1.0)
    for number in range(40):
        saving.load(f"topic-{number}")
        assert saving._folder.holds(f"topic-{number}")


def test_a_standby_says_at_once_that_its_disk_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    taken = tmp_path / "a file"
    taken.write_text("no folder")
    Saving(taken, Leadership(0.0, WALL, identity=1))
    assert "see balancer.state_dir" in caplog.text


def test_a_disk_that_its_leader_is_writing_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (tmp_path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Saving(tmp_path, Leadership(0.0, WALL, identity=1))
    assert not caplog.text


def slow_down(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the disk so slow that a turn has time for two topics; return what is synced."""
    synced: list[int] = []
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)

    def sync(file: int) -> None:
        synced.append(file)
        clock.now += DISK_S / 4

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr("evenflow.slices.ending.saving.time", clock)
    return synced


def test_a_slow_disk_is_claimed_in_several_turns_and_holds_up_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = slow_down(monkeypatch)
    leadership, topics = leader(1), [f"topic-{number}" for number in range(12)]
    saving = Saving(tmp_path, leadership)
    for turn in range(len(topics) // 2):
        synced.clear()
        for topic in topics:
            saving.load(topic)
        assert len(synced) == 4
        leadership.claim_anew("not all of it is claimed", float(turn))
    assert all(saving._folder.holds(topic) for topic in topics)


def test_a_slow_disk_is_written_in_several_turns_who_waits_longest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leadership, books = leader(1), {}
    saving = Saving(tmp_path, leadership)
    for topic in [f"topic-{number}" for number in range(12)]:
        books[topic] = Bookkeeping(topic, leadership.terms, Books(saving.load(topic)))
    synced = slow_down(monkeypatch)
    for turn in range(1, len(books) // 2 + 1):
        for kept in books.values():
            kept.cutting._end(Ended(turn, 1, CutStage.CLEARED))
        synced.clear()
        saving.poll(books, float(turn))
        assert len(synced) == 4
    assert all((tmp_path / f"{topic}.{WRITERS}.json").exists() for topic in books)
