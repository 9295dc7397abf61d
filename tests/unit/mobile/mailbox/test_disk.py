"""The mailbox's disk: what is promised is there, a full disk refuses and goes on."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import StorageError
from evenflow.mobile.mailbox.actions import Keep
from evenflow.mobile.mailbox.delivery import Post
from evenflow.mobile.mailbox.disk import MailDisk
from evenflow.mobile.mailbox.records import KeptLetter, KnownNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = (1 << 64) - 7


def letter(number: int, payload: bytes = b"hello", nodes: tuple[str, ...] = ("a", "b")) -> Keep:
    return Keep(number, SOURCE, number, "dispatch", "", 1_000, 2_000, nodes, payload)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[MailDisk]:
    with MailDisk(tmp_path / "m1", "m1") as opened:
        yield opened


def test_what_is_kept_is_there_after_a_kill(tmp_path: Path) -> None:
    """Another process finds it, while this one has neither flushed nor closed anything."""
    disk = MailDisk(tmp_path, "m1")
    disk.keep([letter(1), letter(2, b"second", ("c",))])
    disk.forget([1])
    os.close(disk._lock)
    with MailDisk(tmp_path, "m1") as again:
        memory = again.load()
        assert memory.newest == 2
        assert memory.letters == [
            KeptLetter(1, 1_000, 2_000, 5, ("a", "b")),
            KeptLetter(2, 1_000, 2_000, 6, ("c",)),
        ]
        assert memory.requests == [(SOURCE, 1, 2), (SOURCE, 2, 1)]
        mail = again.mail("m1", Post("gw", 2, ("c",), (0,)))
        assert mail is not None
        assert (mail.sender, mail.numbers, mail.payload) == ("dispatch", (2,), b"second")
    disk._base.close()


def test_a_disk_without_any_room_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def opened(_: Path) -> sqlite3.Connection:
        base = sqlite3.connect(":memory:")
        base.execute("PRAGMA max_page_count = 1")
        with closing(base):
            base.execute("CREATE TABLE two_pages (x)")
        raise AssertionError

    monkeypatch.setattr(os, "pwrite", full)
    with MailDisk(tmp_path / "m1", "m1"):
        pass
    monkeypatch.setattr("evenflow.mobile.mailbox.disk._opened", opened)
    with pytest.raises(StorageError, match=r"disk is full: make room$"):
        MailDisk(tmp_path / "m2", "m2")


def test_a_folder_that_cannot_be_synced_is_told_and_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("evenflow.mobile.mailbox.disk.sync_folder", failing)
        with pytest.raises(StorageError, match="cannot be synced: Input/output error"):
            MailDisk(tmp_path, "m1")
    with MailDisk(tmp_path, "m1"):
        pass


def test_notes_are_written_when_it_is_closed(tmp_path: Path) -> None:
    with MailDisk(tmp_path, "m1") as disk:
        name = disk.id
        disk.keep([letter(1), letter(2)])
        disk.forget([1])
        disk.note_node(KnownNode("a", 0, 12.5, '{"x": 1}', (1.0, 2.0)))
        disk.note_had("a", 2)
        disk.note_had("b", 1)
        assert disk.mail("m1", Post("gw", 1, ("a",), (0,))) is None
    with MailDisk(tmp_path, "other") as disk:
        assert disk.id == name
        memory = disk.load()
        assert [one.number for one in memory.letters] == [2]
        assert memory.nodes == [KnownNode("a", 2, 12.5, '{"x": 1}', (1.0, 2.0)), KnownNode("b", 1)]
        disk.forget_nodes(["a"])
        disk.forget([2])
    with MailDisk(tmp_path, "m1") as disk:
        memory = disk.load()
        assert [one.name for one in memory.nodes] == ["b"]
        assert memory.newest == 2, "numbers never come back"


def test_a_new_folder_has_a_new_id(tmp_path: Path) -> None:
    with MailDisk(tmp_path / "1", "m1") as one, MailDisk(tmp_path / "2", "m1") as other:
        assert one.id != other.id
        assert one.id.startswith("m1~")


def test_one_process_at_a_time(disk: MailDisk) -> None:
    with pytest.raises(StorageError, match=r"process \d+ on .* uses it"):
        MailDisk(disk.path, "m1")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mail.db").write_bytes(b"nonsense" * 1_000)
    with pytest.raises(StorageError, match="repair or remove it"):
        MailDisk(tmp_path, "m1")
    base = sqlite3.connect(tmp_path / "next.db")
    base.execute("PRAGMA user_version = 99")
    base.close()
    (tmp_path / "next.db").rename(tmp_path / "mail.db")
    with pytest.raises(StorageError, match="format 99"):
        MailDisk(tmp_path, "m1")


def test_a_full_disk_refuses_and_goes_on(disk: MailDisk) -> None:
    disk.keep([letter(1, b"x" * 50_000)])
    pages = disk._base.execute("PRAGMA page_count").fetchone()[0]
    disk._base.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="full"):
        disk.keep([letter(2, b"y" * 50_000), letter(3)])
    assert [one.number for one in disk.load().letters] == [1], "all or nothing"
    disk.forget([1])
    assert disk.flush()
    disk.keep([letter(4, b"y" * 40_000)])
    assert [one.number for one in disk.load().letters] == [4]


def test_notes_that_find_no_room_are_tried_again(disk: MailDisk) -> None:
    pages = disk._base.execute("PRAGMA page_count").fetchone()[0]
    disk._base.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(2_000):
        disk.note_had(f"car-{number}", number)
    assert not disk.flush()
    assert disk.failures == 1
    disk._base.execute("PRAGMA max_page_count = 100000")
    assert disk.flush()
    assert len(disk.load().nodes) == 2_000


def test_only_the_newest_requests_are_remembered(disk: MailDisk) -> None:
    disk.keep([letter(number) for number in range(1, 201)])
    remembered = [number for _, number, _ in disk.load().requests]
    assert remembered == list(range(137, 201))
