"""Where the stream of a writer of a served topic ends, from what nodes and consumers say."""

from __future__ import annotations

from evenflow.model.messages import CutAnswer, WriterCut
from evenflow.slices.ending.preparation import Blocked, Preparation


def prepared(*, lose: bool, epoch: int = 0, close: tuple[int, ...] = ()) -> Preparation:
    """One node has two items of each of two slices; some of them lie in an epoch not closed yet."""
    slices = tuple(range(len(close)))
    found = Preparation(5, 1, 10.0, lose)
    rows = ((0, 1), (1, 1), (2, 2), (2, 3))
    found.on_answer(CutAnswer("items", 5, 1, "node-1", False, "", *rows, 0, epoch, slices, close))
    return found


def test_a_cut_before_what_a_consumer_has_planned_is_none() -> None:
    assert isinstance(prepared(lose=False).served_cut("items", {"query": 3}), Blocked)


def test_who_gives_up_what_is_missing_waits_for_no_number_beyond_the_last_epoch() -> None:
    """What nodes have may lie behind the epoch of the cut, and is dropped by it."""
    cut = prepared(lose=True).served_cut("items", {"query": 3})
    assert isinstance(cut, WriterCut)
    assert (cut.epoch, cut.slices, cut.upto, cut.beyond) == (3, (), (), 1)


def test_who_gives_up_what_is_missing_keeps_what_is_whole() -> None:
    cut = prepared(lose=True, epoch=2, close=(1, 1)).served_cut("items", {"query": 3})
    assert isinstance(cut, WriterCut)
    assert (cut.epoch, cut.slices, cut.upto) == (3, (0, 1), (1, 1))
