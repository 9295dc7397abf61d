"""The journal: a disk that is full or read-only costs entries at most, never the balancer."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.knowledge import journal as journal_module
from evenflow.autonomic.knowledge.journal import GAP, Journal
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.autonomic.knowledge.journal import Row

MANY = "SELECT * FROM entries ORDER BY number"


def row(number: int, body: str = "") -> Row:
    return (float(number), "event", f"event-{number}", "", "raised", 0, "node", body)


def names(journal: Journal) -> list[str]:
    return [str(entry[3] or entry[2]) for entry in journal.read(MANY)]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "history.db", keep=100_000, keep_octets=1 << 30)
    yield made
    made.close()


def block(journal: Journal, trouble: str) -> None:
    """Let SQLite itself meet a full, or a read-only, disk."""
    pragma = "max_page_count = 1" if trouble == "full" else "query_only = ON"
    journal.read(f"PRAGMA {pragma}")


def free(journal: Journal) -> None:
    journal.read("PRAGMA max_page_count = 1000000")
    journal.read("PRAGMA query_only = OFF")


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_what_cannot_be_written_is_counted_kept_and_written_later(
    journal: Journal, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    journal.write(row(1))
    block(journal, trouble)
    for number in range(2, 102):
        journal.write(row(number, body="x" * 1000))
    assert journal.failures > 0
    assert journal.missing == 0
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "cannot be written" in errors[0].message
    free(journal)
    journal.write(row(102))
    assert names(journal) == [f"event-{number}" for number in range(1, 103)]
    assert caplog.text.count("is written again") == 1
    block(journal, trouble)
    for number in range(103, 203):
        journal.write(row(number, body="x" * 1000))
    assert caplog.text.count("cannot be written") == 2


def test_what_is_kept_meanwhile_is_bounded_and_the_gap_is_told(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_UNWRITTEN", 5)
    block(journal, "read-only")
    for number in range(20):
        journal.write(row(number))
    free(journal)
    journal.write(row(20))
    assert names(journal) == [GAP, *(f"event-{number}" for number in range(15, 21))]
    assert journal.read(MANY)[0][7] == "15 entries missing"
    assert journal.missing == 15


def test_a_disk_in_trouble_at_the_start_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> sqlite3.Connection:
        raise OSError(30, "Read-only file system", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "_writer", refuse)
        journal = Journal(tmp_path / "history.db", keep=1_000, keep_octets=1 << 20)
        journal.write(row(1))
        assert journal.read(MANY) == []
        assert journal.failures == 2
    journal.write(row(2))
    assert names(journal) == ["event-1", "event-2"]
    journal.close()


def test_a_path_that_can_never_work_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "file" / "history.db"):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"history\.path"):
            Journal(path, keep=1_000, keep_octets=1 << 20)


def test_to_read_it_must_be_there_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with pytest.raises(ConfigError, match=r"history\.path"):
        Journal(path, keep=1, keep_octets=1, read_only=True)
    assert not path.exists()
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE things (name)")
    with pytest.raises(ConfigError, match="no such table"):
        Journal(other, keep=1, keep_octets=1, read_only=True)
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("things",)]


def test_it_does_not_grow_beyond_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "PRUNE_EVERY", 20)
    path = tmp_path / "history.db"
    journal = Journal(path, keep=100_000, keep_octets=1 << 20)
    for number in range(1_000):
        journal.write(row(number, body="x" * 10_000))
    journal.close()
    assert path.stat().st_size < 2 << 20
    kept = Journal(path, keep=1, keep_octets=1, read_only=True)
    assert names(kept)[-1] == "event-999"
    assert len(names(kept)) > 20
    kept.close()
