"""How many items are committed, from what publishers say of their epochs."""

from __future__ import annotations

from evenflow.fleet.commits import WriterCommits
from evenflow.model.messages import EpochClose


def close(epoch: int, items: int, committed: int = 0, *, open_slices: int = 1) -> EpochClose:
    slices = tuple(range(open_slices))
    return EpochClose(1, "items", epoch, 4, slices, (9,) * open_slices, False, committed, items)


def test_items_are_committed_up_to_the_end_of_the_committed_epoch():
    writer = WriterCommits()
    for epoch in range(1, 6):
        writer.hear(close(epoch, 10 * epoch))
    assert writer.committed == 0
    writer.hear(close(6, 60, committed=3))
    assert writer.committed == 30
    writer.hear(close(7, 70, committed=6))
    assert writer.committed == 60


def test_when_no_slice_has_uncommitted_items_everything_is():
    writer = WriterCommits()
    writer.hear(close(1, 10))
    writer.hear(close(2, 15, open_slices=0))
    assert writer.committed == 15


def test_an_older_word_changes_nothing():
    writer = WriterCommits()
    writer.hear(close(5, 50, committed=4))
    writer.hear(close(3, 30, open_slices=0))
    assert writer.committed == 0


def test_who_listens_late_knows_what_is_committed_from_then_on():
    writer = WriterCommits()
    writer.hear(close(100, 1_000, committed=98))
    assert writer.committed == 0
    writer.hear(close(101, 1_010, committed=100))
    assert writer.committed == 1_000
