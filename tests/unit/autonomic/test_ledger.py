"""The ledger: a disk that is full or read-only costs entries at most, never the balancer."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic import ledger as ledger_module
from evenflow.autonomic.ledger import GAP, Ledger
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.autonomic.ledger import Row

MANY = "SELECT * FROM entries ORDER BY number"


def row(number: int, body: str = "") -> Row:
    return (float(number), "event", f"event-{number}", "", "raised", 0, "node", body)


def names(ledger: Ledger) -> list[str]:
    return [str(entry[3] or entry[2]) for entry in ledger.read(MANY)]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "history.db", keep=100_000, keep_octets=1 << 30)
    yield made
    made.close()


def block(ledger: Ledger, trouble: str) -> None:
    """Let SQLite itself meet a full, or a read-only, disk."""
    pragma = "max_page_count = 1" if trouble == "full" else "query_only = ON"
    ledger.read(f"PRAGMA {pragma}")


def free(ledger: Ledger) -> None:
    ledger.read("PRAGMA max_page_count = 1000000")
    ledger.read("PRAGMA query_only = OFF")


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_what_cannot_be_written_is_counted_kept_and_written_later(
    ledger: Ledger, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.write(row(1))
    block(ledger, trouble)
    for number in range(2, 102):
        ledger.write(row(number, body="x" * 1000))
    assert ledger.failures > 0
    assert ledger.missing == 0
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "cannot be written" in errors[0].message
    free(ledger)
    ledger.write(row(102))
    assert names(ledger) == [f"event-{number}" for number in range(1, 103)]
    assert caplog.text.count("is written again") == 1
    block(ledger, trouble)
    for number in range(103, 203):
        ledger.write(row(number, body="x" * 1000))
    assert caplog.text.count("cannot be written") == 2


def test_what_is_kept_meanwhile_is_bounded_and_the_gap_is_told(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "MOST_UNWRITTEN", 5)
    block(ledger, "read-only")
    for number in range(20):
        ledger.write(row(number))
    free(ledger)
    ledger.write(row(20))
    assert names(ledger) == [GAP, *(f"event-{number}" for number in range(15, 21))]
    assert ledger.read(MANY)[0][7] == "15 entries missing"
    assert ledger.missing == 15


def test_a_disk_in_trouble_at_the_start_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> sqlite3.Connection:
        raise OSError(30, "Read-only file system", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "_writer", refuse)
        ledger = Ledger(tmp_path / "history.db", keep=1_000, keep_octets=1 << 20)
        ledger.write(row(1))
        assert ledger.read(MANY) == []
        assert ledger.failures == 2
    ledger.write(row(2))
    assert names(ledger) == ["event-1", "event-2"]
    ledger.close()


def test_a_path_that_can_never_work_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "file" / "history.db"):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"history\.path"):
            Ledger(path, keep=1_000, keep_octets=1 << 20)


def test_to_read_it_must_be_there_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with pytest.raises(ConfigError, match=r"history\.path"):
        Ledger(path, keep=1, keep_octets=1, read_only=True)
    assert not path.exists()
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE things (name)")
    with pytest.raises(ConfigError, match="no such table"):
        Ledger(other, keep=1, keep_octets=1, read_only=True)
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("things",)]


def test_it_does_not_grow_beyond_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "PRUNE_EVERY", 20)
    path = tmp_path / "history.db"
    ledger = Ledger(path, keep=100_000, keep_octets=1 << 20)
    for number in range(1_000):
        ledger.write(row(number, body="x" * 10_000))
    ledger.close()
    assert path.stat().st_size < 2 << 20
    kept = Ledger(path, keep=1, keep_octets=1, read_only=True)
    assert names(kept)[-1] == "event-999"
    assert len(names(kept)) > 20
    kept.close()
