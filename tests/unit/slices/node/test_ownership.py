"""Terms of slices at a node, and changes of owner until they have settled."""

from __future__ import annotations

import pytest

from evenflow.model.messages import EpochClose, ReplayAnswer, SliceState
from evenflow.slices.node.ownership import Ownership, Settled
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.writers import Writers

from .alone import WRITER, sample_of

SLICES = 4


@pytest.fixture
def writers() -> Writers:
    return Writers("items", "me~1", SLICES, NodeSettings())


@pytest.fixture
def ownership(writers: Writers) -> Ownership:
    return Ownership(writers)


def announce(writers: Writers, last: dict[int, int]) -> None:
    close = EpochClose(
        WRITER, "items", 1, SLICES, tuple(last), tuple(last.values()), closing=False, items=0
    )
    writers.on_epoch_closed(close, 0.0)


def answer(writers: Writers, floor: int, last: int) -> None:
    writers.on_replay_answer(
        ReplayAnswer("items", WRITER, "me~1", 1, (0,), (floor,), (last,), (), ()),
        0.0,
    )


def test_a_term_is_outdated_by_a_newer_one_of_the_same_slice(ownership: Ownership) -> None:
    ownership.meet(1, 5)
    ownership.meet(1, 3)
    assert ownership.is_outdated([0, 1], 4)
    assert not ownership.is_outdated([0, 1], 5)
    assert not ownership.is_outdated([0, 2], 1)


def test_a_term_is_outdated_by_what_is_held(ownership: Ownership, writers: Writers) -> None:
    writers.cache.hold(2, SliceState.AVAILABLE, 9)
    assert ownership.is_outdated([2], 8)
    assert not ownership.is_outdated([2], 9)


def test_the_newest_term_seen_anywhere_only_grows(ownership: Ownership) -> None:
    ownership.see(7)
    ownership.see(3)
    assert ownership.seen_term == 7


def test_what_is_dropped_is_neither_held_nor_asked_for(
    ownership: Ownership, writers: Writers
) -> None:
    announce(writers, {})
    writers.cache.hold(0, SliceState.AVAILABLE, 1)
    ownership.begin(frozenset({0}), 1, 0.0)
    ownership.changed = False
    ownership.drop(frozenset())
    assert not ownership.changed
    ownership.drop(frozenset({0}))
    assert (writers.cache.held, ownership.changed) == ({}, True)
    assert not writers.replay_requests.is_pending(frozenset({0}))


def test_a_change_of_owner_settles_when_nothing_is_missing(
    ownership: Ownership, writers: Writers
) -> None:
    announce(writers, {})
    writers.cache.hold(0, SliceState.AVAILABLE, 1)
    ownership.begin(frozenset({0}), 1, 0.0)
    assert ownership.take_settled() == []
    answer(writers, floor=1, last=3)
    assert ownership.take_settled() == []
    writers.receive(sample_of({0: (2, 2)}), 0.0, replayed=True)
    assert ownership.take_settled() == [Settled(1, replayed=2)]
    assert ownership.take_settled() == []
