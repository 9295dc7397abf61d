from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from evenflow.access import revocation
from evenflow.access.revocation import (
    FILE,
    KEPT_S,
    TELL,
    Revocations,
    add_revoked,
    read_revoked,
    write_revoked,
)
from evenflow.errors import StorageError
from evenflow.model.messages import Revocation

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


class Domain:
    """A domain in which others revoke, and that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[Revocation] = []
        self.told: list[Revocation] = []

    def reader(self, _: Any) -> Domain:
        return self

    def writer(self, _: Any) -> Domain:
        return self

    def take(self) -> list[Revocation]:
        said, self.said = self.said, []
        return said

    def write(self, message: Revocation) -> None:
        self.told.append(message)


def test_what_is_heard_counts_though_the_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are often mounted to be read only, and disks get full."""

    def full(path: Path, _: object) -> None:
        raise StorageError(str(path), "cannot be written: No space left on device")

    domain = Domain()
    door = Revocations(tmp_path, domain)  # type: ignore[arg-type]
    later = float(round(time.time()) + 100)
    domain.said = [Revocation(A, later)]
    with monkeypatch.context() as patch:
        patch.setattr(revocation, "write_revoked", full)
        assert door.refresh(now=1.0) == {A}
        door.pass_on()
    assert A in door
    assert domain.told == [Revocation(A, later)]
    assert "No space left" in str(door.problem)
    assert door.refresh(now=2.0) == frozenset()
    door.pass_on()
    assert door.problem is None
    assert read_revoked(tmp_path / FILE) == {A: later}, "it is tried again"


def test_a_file_that_cannot_be_read_is_read_later_and_the_domain_is_heard_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has no file to open left, say."""

    def none_left(path: Path) -> dict[str, float]:
        raise StorageError(str(path), "cannot be read: Too many open files")

    domain = Domain()
    door = Revocations(tmp_path, domain)  # type: ignore[arg-type]
    later = time.time() + 100
    write_revoked(tmp_path / FILE, {A: later})
    domain.said = [Revocation(B, later)]
    with monkeypatch.context() as patch:
        patch.setattr(revocation, "read_revoked", none_left)
        assert door.refresh(now=1.0) == {B}
        assert door.problem is not None
    assert door.refresh(now=2.0) == {A}
    door.pass_on()
    assert read_revoked(tmp_path / FILE).keys() == {A, B}


def test_a_new_one_is_told_before_the_many_that_are_known(tmp_path: Path) -> None:
    later = time.time() + 100
    domain = Domain()
    write_revoked(tmp_path / FILE, {f"{number:016x}": later for number in range(2 * TELL)})
    door = Revocations(tmp_path, domain)  # type: ignore[arg-type]
    door.pass_on()
    assert len(domain.told) == TELL, "some at a time: each may have to wait for a slow reader"
    domain.said = [Revocation(A, later)]
    assert door.refresh(now=1.0) == {A}
    door.pass_on()
    assert domain.told[TELL].token == A
    door.pass_on()
    assert len({one.token for one in domain.told}) == 2 * TELL + 1


def test_none_is_valid_again_because_many_are_revoked(tmp_path: Path) -> None:
    later = time.time() + 100
    ids = [f"{number:016x}" for number in range(100_001)]
    write_revoked(tmp_path / FILE, dict.fromkeys(ids, later))
    door = Revocations(tmp_path)
    assert all(id in door for id in ids)


def test_two_that_revoke_at_once_do_not_undo_one_another(tmp_path: Path) -> None:
    later = time.time() + 100
    numbers = range(40)
    threads = [
        threading.Thread(target=add_revoked, args=(tmp_path / FILE, {f"{one:016x}": later}))
        for one in numbers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_revoked(tmp_path / FILE).keys() == {f"{one:016x}" for one in numbers}
