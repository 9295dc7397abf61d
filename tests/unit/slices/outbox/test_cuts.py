"""A publisher with an outbox whose stream was cut: what lies beyond goes on, on disk first."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.unit.slices.outbox.domain import Domain, die, until
from tests.unit.slices.outbox.paper import uncommitted
from tests.unit.slices.publisher.items import SLICES

from evenflow.domain import channels
from evenflow.errors import StorageError, WriterEnded
from evenflow.model.messages import Commit, CutStage, EpochClose, Ledger, WriterCut
from evenflow.slices.outbox import files
from evenflow.slices.publisher.publisher import Publisher

CUT = (1, 0, 3, 2)
"""Where the streams of the slices end."""
BEYOND = {(0, 1): 4, (0, 2): 8, (1, 1): 1, (1, 2): 5, (1, 3): 9, (3, 1): 11}
"""The ids beyond, and what their numbers become."""


def published(domain: Domain, folder: Path) -> Publisher:
    """A publisher with three items in each slice."""
    publisher = domain.open(folder)
    for number in range(12):
        publisher.publish(b"x", id=number, sender=f"s{number}")
        publisher.flush()
    return publisher


def tell(domain: Domain, publisher: Publisher, stage: CutStage, writer: int = 0) -> None:
    """The balancer says that the writer has ended."""
    writer = writer or publisher.writer
    slices = tuple(range(SLICES))
    cut = WriterCut("items", writer, 5, 0, slices, CUT, (1,) * SLICES, 7)
    domain.say(channels.CUTS, cut)
    version = publisher._core.ledger.version + 1
    domain.say(channels.LEDGERS, Ledger("items", version, (writer,), (5,), (stage,), (), ()))
    until(lambda: publisher._core.ledger.version == version)


def commit_cut(domain: Domain, publisher: Publisher) -> None:
    """The node has processed everything up to the cut."""
    slices, terms = tuple(range(SLICES)), (1,) * SLICES
    domain.say(channels.COMMITS, Commit("items", publisher.writer, "a", "", slices, terms, CUT))


def kept(folder: Path) -> tuple[int, dict[tuple[int, int], int]]:
    """The writer that an outbox goes on as, and the ids that it keeps under which numbers."""
    publisher = Domain().open(folder)
    found = publisher.writer, uncommitted(publisher._core)
    die(publisher)
    return found


def closes_of(domain: Domain, writer: int) -> list[EpochClose]:
    return [one for one in domain.of(channels.EPOCHS).written if one.writer == writer]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_lies_beyond_goes_on_under_a_new_writer(tmp_path: Path, *, restarted: bool) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    if restarted:
        die(publisher)
        domain = Domain()
        publisher = domain.open(tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.COMPLETE)
    said = len(closes_of(domain, before))
    publisher.publish(b"y", id=100)
    until(lambda: publisher._outbox is not None and publisher._outbox.is_written(13))
    # Of an outbox the writer stays until the last of it that counts is committed.
    assert publisher.writer == before
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before)
    until(lambda: any(one.slices for one in closes_of(domain, publisher.writer)))
    close = next(one for one in closes_of(domain, publisher.writer) if one.slices)
    assert dict(zip(close.slices, close.last, strict=True)) == {0: 3, 1: 3, 3: 1}
    until(lambda: any(one.closing for one in closes_of(domain, before)))
    for one in closes_of(domain, before)[said + 1 :]:
        assert all(last <= CUT[s] for s, last in zip(one.slices, one.last, strict=True))
    assert publisher.stats.uncommitted == 7
    die(publisher)
    assert kept(tmp_path) == (publisher.writer, {**BEYOND, (0, 3): 100})


def test_what_is_published_afterwards_follows(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.COMPLETE)
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before)
    publisher.publish(b"y", id=100)
    publisher.flush()
    die(publisher)
    assert kept(tmp_path) == (publisher.writer, {**BEYOND, (0, 3): 100})


def test_an_epoch_is_not_used_again(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.COMPLETE)
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before and closes_of(domain, publisher.writer))
    newest = max(one.epoch for one in closes_of(domain, publisher.writer))
    die(publisher)
    second = Domain().open(tmp_path)
    assert second._core.epoch > newest
    die(second)


def test_everything_up_to_the_cut_counts_as_committed_when_it_is_cleared(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.CLEARED)
    until(lambda: publisher.writer != before)
    die(publisher)
    assert kept(tmp_path) == (publisher.writer, BEYOND)


def test_both_writers_on_disk_are_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    monkeypatch.setattr(files.OutboxFolder, "delete", lambda *_: None)
    tell(domain, publisher, CutStage.COMPLETE)
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before)
    die(publisher)
    monkeypatch.undo()
    assert kept(tmp_path) == (publisher.writer, BEYOND)


def test_without_room_it_stops_and_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "posix_fallocate", full)
    tell(domain, publisher, CutStage.COMPLETE)
    commit_cut(domain, publisher)
    until(lambda: publisher._shell._failure)
    with pytest.raises(StorageError, match="cannot go on as another writer"):
        publisher.publish(b"y", id=100)
    die(publisher)
    monkeypatch.undo()
    again = Domain()
    second = again.open(tmp_path)
    assert (second.writer, second.stats.recovered) == (before, 6)
    tell(again, second, CutStage.COMPLETE)
    until(lambda: second.writer != before)
    die(second)
    assert kept(tmp_path) == (second.writer, BEYOND)


def test_one_whose_end_is_forgotten_refuses_and_keeps_everything(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    tell(domain, publisher, CutStage.FORGOTTEN)
    until(lambda: publisher._shell._failure)
    with pytest.raises(WriterEnded, match="The outbox keeps them"):
        publisher.publish(b"y", id=100)
    die(publisher)
    second = Domain().open(tmp_path)
    assert (second.writer, second.stats.recovered) == (publisher.writer, 12)
    die(second)


def test_a_unit_that_still_waits_for_the_disk_is_not_published_again(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.COMPLETE)
    assert publisher.publish_unit(4, [b"u"], ids=[100])
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before)
    die(publisher)
    second = Domain().open(tmp_path)
    assert (second.newest_unit, second.stats.recovered) == (4, 7)
    die(second)


def test_who_has_everything_committed_says_goodbye_under_both_names(tmp_path: Path) -> None:
    domain = Domain()
    publisher = published(domain, tmp_path)
    before = publisher.writer
    tell(domain, publisher, CutStage.COMPLETE)
    commit_cut(domain, publisher)
    until(lambda: publisher.writer != before)
    assert not any(one.closing for one in closes_of(domain, publisher.writer))
    domain.commit(publisher)
    publisher.close()
    assert closes_of(domain, before)[-1].closing
    assert closes_of(domain, publisher.writer)[-1].closing
    second = Domain().open(tmp_path)
    assert second.writer not in {before, publisher.writer}
    assert second.stats.recovered == 0
    die(second)
