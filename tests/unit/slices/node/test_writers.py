"""What a node knows of its publishers' writers: what it asks them for and what it commits."""

from __future__ import annotations

import pytest

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.model.messages import Commit, EpochClose, ReplayAnswer, ReplayRequest, SliceState
from evenflow.slices.actions import Action, Send
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.writers import Writers

WRITER, SLICES, TERM = 7, 4, 5
GRACE = NodeSettings().ask_grace


@pytest.fixture
def writers() -> Writers:
    """A node that owns slices 0 and 1."""
    found = Writers("items", "me~1", SLICES, NodeSettings(writer_grace=10.0))
    for slice_id in (0, 1):
        found.cache.hold(slice_id, SliceState.AVAILABLE, TERM)
    return found


def batch(first: int, count: int = 1, slice_id: int = 0) -> Batch:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Batch(encode_items(WRITER, slice_id, 1, first, items))


def close(last: dict[int, int], slice_count: int = SLICES) -> EpochClose:
    numbers = tuple(last.values())
    return EpochClose(WRITER, "items", 1, slice_count, tuple(last), numbers, closing=False, items=0)


def floors(*floor: int) -> ReplayAnswer:
    """The writer says how far slices 0, 1 ... are committed, and that there is no more."""
    slices = tuple(range(len(floor)))
    return ReplayAnswer("items", WRITER, "me~1", 1, slices, floor, floor, (), ())


def asked(actions: list[Action]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    found = []
    for action in actions:
        assert isinstance(action, Send)
        assert isinstance(action.message, ReplayRequest)
        assert action.to == f"{WRITER:016x}"
        found.append((action.message.slices, action.message.have))
    return found


def committed(actions: list[Action]) -> list[tuple[tuple[int, ...], ...]]:
    messages = [action.message for action in actions if isinstance(action, Send)]
    return [(m.slices, m.terms, m.upto) for m in messages if isinstance(m, Commit)]


def work(writers: Writers, slice_id: int = 0) -> None:
    """The application processes all of a slice."""
    track = writers.cache.held[slice_id].track(WRITER)
    while (taken := track.take(100)) is not None:
        track.complete(taken)
    writers.dirty.add((slice_id, WRITER))


def test_a_writer_is_asked_at_first_sight_where_its_numbers_start(writers: Writers) -> None:
    writers.receive(batch(3), 0.0, replayed=False)
    assert asked(writers.ask(0.0)) == [((0, 1), (0, 0))]
    writers.on_replay_answer(floors(2, 0))
    assert asked(writers.ask(100.0)) == []


def test_a_gap_is_asked_for_after_the_grace_time(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0))
    writers.receive(batch(1), 0.0, replayed=False)
    writers.receive(batch(4), 0.0, replayed=False)
    assert asked(writers.ask(GRACE / 2)) == []
    assert asked(writers.ask(GRACE)) == [((0,), (1,))]
    writers.receive(batch(2, 2), 0.1, replayed=True)
    assert (asked(writers.ask(100.0)), writers.replayed) == ([], 2)


def test_a_writer_that_cuts_the_topic_otherwise_is_ignored(writers: Writers) -> None:
    writers.on_epoch_closed(close({0: 5}, SLICES + 1), 0.0)
    writers.receive(batch(1), 0.0, replayed=False)
    assert (writers.misfits, writers.gone_since) == ({WRITER: SLICES + 1}, {})


def test_commits_what_is_processed_once(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0))
    for slice_id in (0, 1):
        writers.receive(batch(1, 2, slice_id), 0.0, replayed=False)
        work(writers, slice_id)
    assert committed(writers.commit(frozenset({1}))) == [((1,), (TERM,), (2,))]
    assert committed(writers.commit()) == [((0,), (TERM,), (2,))]
    assert committed(writers.commit()) == []


def test_a_commit_that_was_lost_is_repeated(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0))
    writers.receive(batch(1, 2), 0.0, replayed=False)
    work(writers)
    writers.commit()
    writers.on_epoch_closed(close({0: 2}), 1.0)
    assert committed(writers.commit()) == [((0,), (TERM,), (2,))]


def test_nothing_is_committed_to_a_writer_that_is_gone(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0))
    writers.receive(batch(1), 0.0, replayed=False)
    work(writers)
    writers.on_writer_gone(WRITER, 1.0)
    assert (committed(writers.commit()), writers.live_writers) == ([], frozenset())


def test_gaps_of_a_writer_are_given_up_when_it_stays_gone(writers: Writers) -> None:
    writers.receive(batch(3), 0.0, replayed=False)
    writers.on_writer_gone(WRITER, 1.0)
    writers.forget_gone(10.9, None)
    assert (writers.lost, writers.cache.has_work) == (0, False)
    writers.forget_gone(11.0, None)
    assert (writers.lost, writers.cache.has_work) == (2, True)
    work(writers)
    writers.forget_gone(11.1, batch(3))
    assert WRITER in writers.gone_since
    writers.forget_gone(11.2, None)
    assert (writers.gone_since, writers.cache.held[0].tracks) == ({}, {})


def test_a_full_cache_asks_for_nothing_until_there_is_room() -> None:
    writers = Writers("items", "me~1", SLICES, NodeSettings(cache_bytes=1))
    writers.cache.hold(0, SliceState.AVAILABLE, TERM)
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0))
    writers.receive(batch(1), 0.0, replayed=False)
    writers.receive(batch(2), 0.0, replayed=False)
    assert (writers.cache.refused, asked(writers.ask(9.0))) == (1, [])
    work(writers)
    writers.cache.next(1)
    assert asked(writers.ask(9.0)) == [((0,), (1,))]
