from __future__ import annotations

import time
from pathlib import Path

import pytest

from evenflow.access.revocation import FILE, KEPT_S, Revocations, read_revoked, write_revoked
from evenflow.errors import StorageError

A, B, C = "a" * 16, "b" * 16, "c" * 16


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    later = time.time() + 100
    revoked = Revocations(tmp_path)
    assert A not in revoked
    write_revoked(tmp_path / FILE, {A: later})
    assert revoked.refresh(now=1.0) == {A}
    assert A in revoked
    assert revoked.refresh(now=2.0) == frozenset()
    write_revoked(tmp_path / FILE, {A: later, B: later})
    assert revoked.refresh(now=2.1) == frozenset(), "it does not look all the time"
    assert revoked.refresh(now=3.0) == {B}


def test_what_was_revoked_stays_revoked_though_the_file_is_gone(tmp_path: Path) -> None:
    write_revoked(tmp_path / FILE, {A: time.time() + 100})
    revoked = Revocations(tmp_path)
    (tmp_path / FILE).unlink()
    revoked.refresh(now=1.0)
    assert A in revoked


def test_what_has_expired_long_ago_is_forgotten(tmp_path: Path) -> None:
    now = time.time()
    write_revoked(tmp_path / FILE, {A: now - KEPT_S - 10, B: now - KEPT_S + 100})
    revoked = Revocations(tmp_path)
    assert A not in revoked
    assert B in revoked


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("what is this\n")
    with pytest.raises(StorageError, match="mend or restore"):
        read_revoked(tmp_path / FILE)


def test_the_file_is_written_whole(tmp_path: Path) -> None:
    write_revoked(tmp_path / FILE, {A: 5.0, C: 7.0})
    assert read_revoked(tmp_path / FILE) == {A: 5.0, C: 7.0}
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
