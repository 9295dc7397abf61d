"""The outbox of a publisher on real files, in a domain in the test's hands."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from tests.unit.slices.outbox.domain import Domain, die, until

from evenflow.domain import channels
from evenflow.errors import (
    DeliveryTimeout,
    DomainError,
    OutboxRefused,
    PublishTimeout,
    StorageError,
    UsageError,
)
from evenflow.model.messages import Commit, EpochClose, ReplayRequest
from evenflow.slices.outbox import files
from evenflow.slices.publisher import publisher as publisher_module
from evenflow.slices.publisher.publisher import Publisher

MIB = 1 << 20


@pytest.fixture
def domain() -> Domain:
    return Domain()


def fill(publisher: Publisher) -> list[int]:
    """Publish large items until there is no room; return the ids of those that were accepted."""
    accepted = []
    try:
        for number in range(10_000):
            publisher.publish(bytes(50_000), id=number, timeout=0.3)
            accepted.append(number)
    except PublishTimeout:
        pass
    return accepted


def test_a_sample_is_on_disk_before_it_is_sent(domain: Domain, tmp_path: Path) -> None:
    publisher = domain.open(tmp_path)
    publisher.publish(b"x" * 50, id=1)
    publisher.flush()
    assert b"x" * 50 in b"".join(path.read_bytes() for path in tmp_path.glob("*.segment"))
    domain.commit(publisher)
    publisher.close()


def test_the_next_publisher_goes_on_as_the_same_writer(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path)
    for number in range(8):
        first.publish(b"x", id=number)
    first.flush()
    die(first)
    again = Domain()
    second = again.open(tmp_path)
    assert second.writer == first.writer
    assert (second.stats.recovered, second.stats.uncommitted) == (8, 8)
    hello = again.of(channels.EPOCHS).written[0]
    assert isinstance(hello, EpochClose)
    assert (hello.epoch > 0, hello.slices, hello.last) == (True, (0, 1, 2, 3), (2, 2, 2, 2))
    second.publish(b"y", id=100)
    second.flush()
    sent = again.numbers()
    assert sent[0, 3] == [100]
    assert {ids[0] for ids in sent.values()} == {*range(8), 100}
    again.commit(second)
    second.close()
    assert again.of(channels.EPOCHS).written[-1].closing


def test_a_writer_that_has_everything_committed_ends(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path)
    first.publish(b"x" * 50, id=1)
    first.flush()
    domain.commit(first)
    first.close()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.segment")) < 1_000
    second = Domain().open(tmp_path)
    assert second.writer != first.writer
    assert second.stats.recovered == 0
    second.close()


def test_who_closes_with_items_left_says_that_they_are_kept(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path)
    first.publish(b"x", id=1)
    with pytest.raises(DeliveryTimeout, match=r"they are kept in .* open it again"):
        first.close(0.05)
    assert not any(one.closing for one in domain.of(channels.EPOCHS).written)
    second = Domain().open(tmp_path)
    assert (second.writer, second.stats.recovered) == (first.writer, 1)
    die(second)


def test_what_was_not_flushed_is_kept_when_the_with_block_fails(
    domain: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(publisher_module, "AFTER_ERROR_S", 0.1)
    first = domain.open(tmp_path, linger_ms=1_000)
    first.publish(b"x", id=1)
    with caplog.at_level("WARNING"):
        first.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert "ZeroDivisionError ended the block of a publisher" in caplog.text
    assert "they are kept in" in caplog.text
    second = Domain().open(tmp_path)
    assert second.stats.recovered == 1
    die(second)


def test_terms_are_remembered(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path)
    first.publish(b"x", id=0)
    first.flush()
    request = ReplayRequest("items", first.writer, "b", 1, (0,), (9,), (0,))
    domain.say(channels.REQUESTS, request)
    domain.of(channels.ANSWERS, "b").wait_for(1)
    die(first)
    again = Domain()
    second = again.open(tmp_path)
    commit = Commit("items", second.writer, "a", "", (0,), (8,), (1,))
    again.say(channels.COMMITS, commit)
    until(lambda: second.stats.stale_commits == 1)
    assert second.stats.uncommitted == 1
    die(second)


def test_a_second_publisher_is_refused(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path)
    with pytest.raises(OutboxRefused, match=f"process {os.getpid()} .* uses it"):
        Domain().open(tmp_path)
    first.close()
    Domain().open(tmp_path).close()


def test_the_holders_name_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with (
        closing(files.OutboxFolder(tmp_path)),
        pytest.raises(OutboxRefused, match="a process uses it"),
    ):
        files.OutboxFolder(tmp_path)


@pytest.mark.parametrize(
    ("function", "said"),
    [("flock", "cannot be locked: No locks"), ("posix_fallocate", "cannot be opened: No locks")],
)
def test_a_folder_that_cannot_be_used_is_told_in_words_and_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, said: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    opened = Path("/proc/self/fd")
    before = len([*opened.iterdir()])
    with monkeypatch.context() as patched:
        patched.setattr(files.fcntl if function == "flock" else files.os, function, fail)
        with pytest.raises(StorageError, match=said):
            Domain().open(tmp_path)
    assert len([*opened.iterdir()]) <= before
    Domain().open(tmp_path).close()


def test_another_topic_is_refused(domain: Domain, tmp_path: Path) -> None:
    domain.open(tmp_path).close()
    with pytest.raises(OutboxRefused, match="of topic 'items', 4 slices, domain 0, and not of"):
        Domain().open(tmp_path, "others")
    Domain().open(tmp_path).close()


def test_a_first_life_of_several_segments_is_found_whole(domain: Domain, tmp_path: Path) -> None:
    first = domain.open(tmp_path, outbox_bytes=4 * MIB, retention_bytes=MIB)
    accepted = fill(first)
    until(lambda: len(domain.numbers()) == first._core.retention.items)
    die(first)
    assert len(list(tmp_path.glob("*.segment"))) > 2
    again = Domain()
    second = again.open(tmp_path, outbox_bytes=4 * MIB, retention_bytes=MIB)
    assert second.writer == first.writer
    assert second.stats.recovered == len(accepted)
    again.commit(second)
    second.close()


def test_an_outbox_on_a_full_disk_is_opened_and_becomes_empty(
    domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = domain.open(tmp_path, outbox_bytes=4 * MIB, retention_bytes=MIB)
    accepted = fill(first)
    die(first)
    real = os.posix_fallocate

    def nearly_full(file: int, start: int, size: int) -> None:
        if size > 200_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, start, size)

    monkeypatch.setattr(files.os, "posix_fallocate", nearly_full)
    again = Domain()
    second = again.open(tmp_path, outbox_bytes=4 * MIB, retention_bytes=MIB)
    assert second.stats.recovered == len(accepted)
    again.commit(second)
    second.close()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.segment")) < MIB


def test_a_full_outbox_blocks_until_something_is_committed(domain: Domain, tmp_path: Path) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=4 * MIB, retention_bytes=MIB)
    assert 40 < len(fill(publisher)) < 90
    used = sum(path.stat().st_size for path in tmp_path.glob("*.segment"))
    assert used <= 4 * MIB + 2 * 68_000
    until(lambda: len(domain.numbers()) == publisher._core.retention.items)
    domain.commit(publisher)
    publisher.publish(b"x", id=1)
    publisher.flush()
    domain.commit(publisher)
    publisher.close()


def test_what_is_committed_makes_room_however_large_it_was(domain: Domain, tmp_path: Path) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=4 * MIB, linger_ms=1_000)
    for number in range(4):
        publisher.publish(bytes(200_000), id=number, timeout=2.0)
        publisher.publish(bytes(1_950_000), id=number, timeout=2.0)
        publisher.flush()
        domain.commit(publisher)
    publisher.close()


def test_large_items_wait_for_a_disk_that_was_full(
    domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=4 * MIB)
    publisher.publish(bytes(2_000_000), id=1)
    publisher.flush()
    real = os.posix_fallocate

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "posix_fallocate", full)
    domain.commit(publisher)
    with pytest.raises(PublishTimeout, match=r"of 4194304 bytes.* raise publisher\.outbox_bytes"):
        publisher.publish(bytes(2_000_000), id=2, timeout=0.2)
    monkeypatch.setattr(files.os, "posix_fallocate", real)
    publisher.publish(bytes(2_000_000), id=2, timeout=5.0)
    publisher.flush()
    domain.commit(publisher)
    publisher.close()


def test_many_items_go_through_a_small_outbox_in_parts(domain: Domain, tmp_path: Path) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=4 * MIB)
    done = Thread(target=publisher.publish_columns, args=(np.zeros((8_000, 1_000), np.uint8),))
    done.start()
    until(lambda: domain.commit_newest(publisher) or publisher.committed == 8_000)
    done.join()
    publisher.close()


def test_an_item_that_no_outbox_of_this_size_takes_is_refused(
    domain: Domain, tmp_path: Path
) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=4 * MIB)
    with pytest.raises(UsageError, match=r"does not fit the outbox.* publisher\.outbox_bytes"):
        publisher.publish(bytes(3_000_000))
    with pytest.raises(UsageError, match="does not fit the outbox"):
        publisher.publish_many([b"x", bytes(3_000_000)])
    publisher.close()


def test_a_full_disk_blocks_and_loses_nothing(
    domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = domain.open(tmp_path, outbox_bytes=64 * MIB, retention_bytes=2 * MIB)
    real = os.posix_fallocate

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "posix_fallocate", full)
    accepted = fill(publisher)
    with pytest.raises(PublishTimeout, match="is full, or its disk"):
        publisher.publish(bytes(50_000), timeout=0.1)
    monkeypatch.setattr(files.os, "posix_fallocate", real)
    publisher.flush()
    assert sorted(ids[0] for ids in domain.numbers().values()) == accepted
    domain.commit(publisher)
    publisher.close()


def test_a_disk_that_fails_ends_the_publisher(
    domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = domain.open(tmp_path)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files.os, "fdatasync", fail)
    publisher.publish(b"x", id=1)
    with pytest.raises(StorageError, match="mend the disk"):
        publisher.flush()
    assert domain.numbers() == {}
    with pytest.raises(StorageError):
        publisher.publish(b"x", id=2)
    with pytest.raises(StorageError, match="1 item accepted, not written, and gone"):
        publisher._shell.close()


class TestUnits:
    def test_one_that_the_outbox_has_is_not_published_again(
        self, domain: Domain, tmp_path: Path
    ) -> None:
        first = domain.open(tmp_path)
        assert first.publish_unit(3, [b"a", b"b"], ids=[1, 2])
        assert not first.publish_unit(3, [b"a", b"b"], ids=[1, 2])
        assert first.publish_unit(4, [])
        first.flush()
        die(first)
        second = Domain().open(tmp_path)
        assert (second.newest_unit, second.stats.recovered) == (4, 2)
        assert not second.publish_unit(4, [b"c"])
        die(second)

    def test_survives_the_end_of_the_writer(self, domain: Domain, tmp_path: Path) -> None:
        first = domain.open(tmp_path)
        first.publish_unit(3, [b"a", b"b"], ids=[1, 2])
        first.flush()
        domain.commit(first)
        first.close()
        second = Domain().open(tmp_path)
        assert second.newest_unit == 3
        assert second.writer != first.writer
        second.close()

    def test_needs_an_outbox_and_must_fit(self, domain: Domain, tmp_path: Path) -> None:
        publisher = domain.open(tmp_path, retention_bytes=MIB)
        with pytest.raises(UsageError, match="larger than"):
            publisher.publish_unit(1, [bytes(2 * MIB)])
        publisher.close()


def test_a_publisher_that_does_not_start_leaves_its_outbox_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DomainError("writer of epochs", "refused")

    domain = Domain()
    with monkeypatch.context() as patched:
        patched.setattr(publisher_module, "shell_for", refuse)
        with pytest.raises(DomainError):
            domain.open(tmp_path)
    domain.open(tmp_path).close()
