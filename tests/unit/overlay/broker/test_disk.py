"""SQLite does what the store in memory does, survives a crash, and refuses what is damaged."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import StorageError
from evenflow.overlay.broker.disk import SqliteStore
from evenflow.overlay.protocol.messages import Label, Message, PublisherState, ShelfId, TermStart
from evenflow.overlay.replica.record import Record
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList
from evenflow.testing.overlay.store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

SHELVES = [ShelfId(topic, Coordinate(0.5, 0.25)) for topic in ("meters", "phasors")]


def record(shelf: ShelfId, term: int = 1) -> Record:
    label = Label(0, 2, 0, DelegateList.at_home(shelf.coordinate))
    return Record(shelf, 0, term, 0, (TermStart(term, 5),), label)


TIMES = st.integers(1, 12)
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "remove", "drop", "save", "publishers"]),
        st.sampled_from(SHELVES),
        TIMES,
        TIMES,
        st.integers(0, 20),
    ),
    max_size=25,
)


@given(ACTS)
def test_sqlite_does_what_memory_does(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, ShelfId, int, int, int]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "b1.sqlite"
    real, twin = SqliteStore(path), MemoryStore()
    both = (real, twin)
    for act, shelf, first, second, size in acts:
        for store in both:
            if shelf not in twin.records or act == "save":
                real.save(record(shelf, first))
                twin.save(record(shelf, first))
            if act == "append":
                messages = [Message(t, 1, t, bytes(size)) for t in range(first, second + 1)]
                store.append(shelf, messages, second)
            elif act == "remove":
                store.remove(shelf, first, None if size % 2 else second)
            elif act == "publishers":
                store.put_publishers(
                    shelf, [PublisherState(first, second, size)], replace=bool(size % 2)
                )
        if act == "drop":
            real.drop(shelf)
            twin.drop(shelf)
    real.commit()
    real.close()
    real = SqliteStore(path)
    assert sorted(real.load(), key=str) == sorted(twin.load(), key=str)
    for shelf in twin.records:
        everything = (shelf, 0, 100, 100)
        assert real.read(*everything) == twin.read(*everything)
        assert real.read(*everything, 25) == twin.read(*everything, 25)
        assert real.last(shelf) == twin.last(shelf)
        assert real.size(shelf) == twin.size(shelf)
        assert real.cut(shelf, 30) == twin.cut(shelf, 30)
        assert real.publishers(shelf) == twin.publishers(shelf)
    real.close()


def test_what_was_not_committed_is_gone_after_a_crash(tmp_path: Path) -> None:
    path, shelf = tmp_path / "b1.sqlite", SHELVES[0]
    store = SqliteStore(path)
    store.save(record(shelf))
    store.append(shelf, [Message(1, 1, 1, b"kept")], 1)
    store.commit()
    assert not store.dirty
    store.append(shelf, [Message(2, 1, 2, b"lost")], 2)
    assert store.dirty
    store._db.close()  # as a killed process leaves it
    again = SqliteStore(path)
    assert again.load() == [(record(shelf), 1)]
    assert [message.payload for message in again.read(shelf, 0, 10, 10)] == [b"kept"]
    again.close()


def test_the_newest_octets_are_kept(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "b1.sqlite")
    store.save(record(SHELVES[0]))
    store.append(SHELVES[0], [Message(time, 1, time, bytes(10)) for time in range(1, 11)], 10)
    assert store.size(SHELVES[0]) == 100
    assert store.cut(SHELVES[0], 35) == 8
    store.remove(SHELVES[0], 0, 8)
    assert store.size(SHELVES[0]) == 30
    assert store.cut(SHELVES[0], 100) == 0
    assert store.cut(SHELVES[0], 5) == 11
    store.close()


def test_a_file_in_use_or_damaged_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "b1.sqlite"
    store = SqliteStore(path)
    store.save(record(SHELVES[0]))
    store.commit()
    with pytest.raises(StorageError, match=r"b1\.sqlite.*another broker"):
        SqliteStore(path)
    store.close()
    other = sqlite3.connect(path)
    other.execute("UPDATE shelves SET record = x'00ff'")
    other.commit()
    other.close()
    damaged = SqliteStore(path)
    with pytest.raises(StorageError, match="cannot be read"):
        damaged.load()
    damaged.close()
    path.write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(StorageError, match="not a database"):
        SqliteStore(path)


def test_a_full_disk_is_said_and_nothing_half_is_committed(tmp_path: Path) -> None:
    path, shelf = tmp_path / "b1.sqlite", SHELVES[0]
    store = SqliteStore(path)
    store.save(record(shelf))
    store.append(shelf, [Message(1, 1, 1, b"kept")], 1)
    store.commit()
    store.limit(0)
    store.save(record(SHELVES[1]))
    store.remove(shelf, 0, None)  # what is to be replaced; the rest of the same event fails
    with pytest.raises(StorageError) as full:
        store.append(shelf, [Message(2, 1, 2, bytes(1 << 20))], 2)
    for word in (
        "b1.sqlite",
        "disk is full",
        f"folder {tmp_path} on the disk mounted at /",
        "free",
    ):
        assert word in str(full.value)
    for later in (store.commit, lambda: store.save(record(shelf, 7))):
        with pytest.raises(StorageError, match="disk is full"):
            later()
    store.close()
    again = SqliteStore(path)
    assert again.load() == [(record(shelf), 1)]
    assert [message.payload for message in again.read(shelf, 0, 10, 10)] == [b"kept"]
    again.close()


def test_closing_waits_for_a_commit_in_another_thread(tmp_path: Path) -> None:
    path = tmp_path / "b1.sqlite"
    store = SqliteStore(path)
    store.save(record(SHELVES[0]))
    with store._committing:  # as a commit does that waits for the disk
        closing = threading.Thread(target=store.close)
        closing.start()
        store._run("COMMIT")
        store._writing = False
    closing.join()
    again = SqliteStore(path)
    assert again.load() == [(record(SHELVES[0]), 0)]
    again.close()


def test_a_disk_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as disk:
        disk.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match=r"layout 99.*run the version that wrote it.*--data"):
        SqliteStore(path)
