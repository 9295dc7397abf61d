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
from evenflow.testing.samples import headers_of_item

CUT = (1, 0, 3, 2)
"""Where the streams of the slices end."""
BEYOND = {(0, 1): 4, (0, 2): 8, (1, 1): 1, (1, 2): 5, (1, 3): 9, (3, 1): 11}
"""The ids beyond, and what their numbers become."""


class Cut:
    """A publisher with an outbox and three items in each slice, whose stream is cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.domain = Domain()
        self.publisher = self.domain.open(folder)
        for number in range(12):
            self.publisher.publish(
                b"x", id=number, sender=f"s{number}", headers=headers_of_item(number)
            )
            self.publisher.flush()
        self.before = self.publisher.writer
        """Who it was when it was cut."""

    def restart(self) -> None:
        """The process is killed; the next one opens the folder."""
        die(self.publisher)
        self.domain = Domain()
        self.publisher = self.domain.open(self.folder)

    def tell(self, stage: CutStage) -> None:
        """The balancer says that the writer has ended."""
        slices = tuple(range(SLICES))
        cut = WriterCut("items", self.before, 5, 0, slices, CUT, (1,) * SLICES, 7)
        self.domain.say(channels.CUTS, cut)
        version = self.publisher._core.ledger.version + 1
        ledger = Ledger("items", version, (self.before,), (5,), (stage,), (), ())
        self.domain.say(channels.LEDGERS, ledger)
        until(lambda: self.publisher._core.ledger.version == version)

    def commit(self) -> None:
        """The node has processed everything up to the cut."""
        slices, terms, writer = tuple(range(SLICES)), (1,) * SLICES, self.publisher.writer
        self.domain.say(channels.COMMITS, Commit("items", writer, "a", "", slices, terms, CUT))

    def goes_on(self) -> None:
        """The cut is complete and committed: the publisher becomes another writer."""
        self.tell(CutStage.COMPLETE)
        self.commit()
        self.is_another()

    def is_another(self) -> None:
        """Wait until the publisher is another writer."""
        until(lambda: self.publisher.writer != self.before)

    def closes(self, writer: int = 0) -> list[EpochClose]:
        """What a writer has announced; without one, whom the publisher is now."""
        writer = writer or self.publisher.writer
        return [one for one in self.domain.of(channels.EPOCHS).written if one.writer == writer]


@pytest.fixture
def cut(tmp_path: Path) -> Cut:
    return Cut(tmp_path)


def kept(folder: Path) -> tuple[int, dict[tuple[int, int], int]]:
    """The writer that an outbox goes on as, and the ids that it keeps under which numbers."""
    publisher = Domain().open(folder)
    found = publisher.writer, uncommitted(publisher._core)
    die(publisher)
    return found


@pytest.mark.parametrize("restarted", [False, True])
def test_what_lies_beyond_goes_on_under_a_new_writer(cut: Cut, *, restarted: bool) -> None:
    if restarted:
        cut.restart()
    cut.tell(CutStage.COMPLETE)
    publisher, said = cut.publisher, len(cut.closes(cut.before))
    publisher.publish(b"y", id=100, headers=headers_of_item(100))
    until(lambda: publisher._outbox is not None and publisher._outbox.is_written(13))
    # Of an outbox the writer stays until the last of it that counts is committed.
    assert publisher.writer == cut.before
    cut.commit()
    cut.is_another()
    until(lambda: any(one.slices for one in cut.closes()))
    close = next(one for one in cut.closes() if one.slices)
    assert dict(zip(close.slices, close.last, strict=True)) == {0: 3, 1: 3, 3: 1}
    until(lambda: any(one.closing for one in cut.closes(cut.before)))
    for one in cut.closes(cut.before)[said + 1 :]:
        assert all(last <= CUT[s] for s, last in zip(one.slices, one.last, strict=True))
    assert publisher.stats.uncommitted == 7
    die(publisher)
    assert kept(cut.folder) == (publisher.writer, {**BEYOND, (0, 3): 100})


def test_what_is_published_afterwards_follows(cut: Cut) -> None:
    cut.goes_on()
    cut.publisher.publish(b"y", id=100, headers=headers_of_item(100))
    cut.publisher.flush()
    die(cut.publisher)
    assert kept(cut.folder) == (cut.publisher.writer, {**BEYOND, (0, 3): 100})


def test_an_epoch_is_not_used_again(cut: Cut) -> None:
    cut.goes_on()
    until(cut.closes)
    newest = max(one.epoch for one in cut.closes())
    die(cut.publisher)
    second = Domain().open(cut.folder)
    assert second._core.epoch > newest
    die(second)


def test_no_epoch_without_items_is_announced_by_who_opens_the_outbox_next(cut: Cut) -> None:
    """Who has read up to the last items keeps that position, and it must not become too old."""
    cut.goes_on()
    until(cut.closes)
    newest = max(one.epoch for one in cut.closes())
    assert newest == max(sample.epoch for sample in cut.publisher._core.retention.samples())
    cut.restart()
    until(cut.closes)
    assert {one.epoch for one in cut.closes()} == {newest}
    die(cut.publisher)


def test_everything_up_to_the_cut_counts_as_committed_when_it_is_cleared(cut: Cut) -> None:
    cut.tell(CutStage.CLEARED)
    cut.is_another()
    die(cut.publisher)
    assert kept(cut.folder) == (cut.publisher.writer, BEYOND)


def test_both_writers_on_disk_are_the_new_one(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.OutboxFolder, "delete", lambda *_: None)
    cut.goes_on()
    die(cut.publisher)
    monkeypatch.undo()
    assert kept(cut.folder) == (cut.publisher.writer, BEYOND)


def test_without_room_it_stops_and_keeps_everything(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "posix_fallocate", full)
    cut.tell(CutStage.COMPLETE)
    cut.commit()
    until(lambda: cut.publisher._shell._failure)
    with pytest.raises(StorageError, match="cannot go on as another writer"):
        cut.publisher.publish(b"y", id=100, headers=headers_of_item(100))
    monkeypatch.undo()
    cut.restart()
    assert (cut.publisher.writer, cut.publisher.stats.recovered) == (cut.before, 6)
    cut.tell(CutStage.COMPLETE)
    cut.is_another()
    die(cut.publisher)
    assert kept(cut.folder) == (cut.publisher.writer, BEYOND)


def test_one_whose_end_is_forgotten_refuses_and_keeps_everything(cut: Cut) -> None:
    cut.tell(CutStage.FORGOTTEN)
    until(lambda: cut.publisher._shell._failure)
    with pytest.raises(WriterEnded, match="The outbox keeps them"):
        cut.publisher.publish(b"y", id=100, headers=headers_of_item(100))
    cut.restart()
    assert (cut.publisher.writer, cut.publisher.stats.recovered) == (cut.before, 12)
    die(cut.publisher)


def test_a_unit_that_still_waits_for_the_disk_is_not_published_again(cut: Cut) -> None:
    cut.tell(CutStage.COMPLETE)
    assert cut.publisher.publish_unit(4, [b"u"], ids=[100])
    cut.commit()
    cut.is_another()
    cut.restart()
    assert (cut.publisher.newest_unit, cut.publisher.stats.recovered) == (4, 7)
    die(cut.publisher)


def test_who_has_everything_committed_says_goodbye_under_both_names(cut: Cut) -> None:
    cut.goes_on()
    assert not any(one.closing for one in cut.closes())
    cut.domain.commit(cut.publisher)
    cut.publisher.close()
    assert cut.closes(cut.before)[-1].closing
    assert cut.closes()[-1].closing
    second = Domain().open(cut.folder)
    assert second.writer not in {cut.before, cut.publisher.writer}
    assert second.stats.recovered == 0
    die(second)
