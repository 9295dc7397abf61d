"""What a node knows of its publishers' writers: what it asks them for and what it commits."""

from __future__ import annotations

import pytest

from evenflow.model.messages import Commit, EpochClose, ReplayAnswer, ReplayRequest, SliceState
from evenflow.model.sample import Sample
from evenflow.slices.actions import Send
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.writers import Writers

from .alone import WRITER, sample_of

SLICES, TERM = 4, 5
GRACE = NodeSettings().ask_grace


@pytest.fixture
def writers() -> Writers:
    """A node that owns slices 0 and 1."""
    found = Writers("items", "me~1", SLICES, NodeSettings())
    for slice_id in (0, 1):
        found.cache.hold(slice_id, SliceState.AVAILABLE, TERM)
    return found


def sample(first: int, count: int = 1, slice_id: int = 0) -> Sample:
    return sample_of({slice_id: (first, count)}, serial=first)


def close(last: dict[int, int], slice_count: int = SLICES) -> EpochClose:
    numbers = tuple(last.values())
    return EpochClose(WRITER, "items", 1, slice_count, tuple(last), numbers, closing=False, items=0)


def floors(*floor: int) -> ReplayAnswer:
    """The writer says how far slices 0, 1 ... are committed, and that there is no more."""
    slices = tuple(range(len(floor)))
    return ReplayAnswer("items", WRITER, "me~1", 1, slices, floor, floor, (), ())


def asked(actions: list[Send]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    found = []
    for action in actions:
        assert isinstance(action, Send)
        assert isinstance(action.message, ReplayRequest)
        assert action.to == f"{WRITER:016x}"
        found.append((action.message.slices, action.message.have))
    return found


def committed(actions: list[Send]) -> list[tuple[tuple[int, ...], ...]]:
    messages = [action.message for action in actions if isinstance(action, Send)]
    return [(m.slices, m.terms, m.upto) for m in messages if isinstance(m, Commit)]


def work(writers: Writers, slice_id: int = 0) -> None:
    """The application processes all of a slice."""
    track = writers.cache.held[slice_id].track(WRITER)
    while (taken := track.take(100)) is not None:
        track.complete(taken)
    writers.commits.dirty.add((slice_id, WRITER))


def test_a_writer_is_asked_at_first_sight_where_its_numbers_start(writers: Writers) -> None:
    writers.receive(sample(3), 0.0, replayed=False)
    assert asked(writers.ask(0.0)) == [((0, 1), (0, 0))]
    writers.on_replay_answer(floors(2, 0), 0.0)
    assert asked(writers.ask(100.0)) == []


def test_a_gap_is_asked_for_after_the_grace_time(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    writers.receive(sample(1), 0.0, replayed=False)
    writers.receive(sample(4), 0.0, replayed=False)
    assert asked(writers.ask(GRACE / 2)) == []
    assert asked(writers.ask(GRACE)) == [((0,), (1,))]
    writers.receive(sample(2, 2), 0.1, replayed=True)
    assert (asked(writers.ask(100.0)), writers.replayed) == ([], 2)


def test_a_writer_that_cuts_the_topic_otherwise_is_ignored(writers: Writers) -> None:
    writers.on_epoch_closed(close({0: 5}, SLICES + 1), 0.0)
    writers.receive(sample(1), 0.0, replayed=False)
    assert (writers.misfits, writers.gone_since) == ({WRITER: SLICES + 1}, {})


def test_commits_what_is_processed_once(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    for slice_id in (0, 1):
        writers.receive(sample(1, 2, slice_id), 0.0, replayed=False)
        work(writers, slice_id)
    assert committed(writers.commit(frozenset({1}))) == [((1,), (TERM,), (2,))]
    assert committed(writers.commit()) == [((0,), (TERM,), (2,))]
    assert committed(writers.commit()) == []


def test_a_commit_that_was_lost_is_repeated(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    writers.receive(sample(1, 2), 0.0, replayed=False)
    work(writers)
    writers.commit()
    writers.on_epoch_closed(close({0: 2}), 1.0)
    assert committed(writers.commit()) == [((0,), (TERM,), (2,))]


def test_nothing_is_committed_to_a_writer_that_is_gone(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    writers.receive(sample(1), 0.0, replayed=False)
    work(writers)
    writers.on_writer_gone(WRITER, 1.0)
    assert (committed(writers.commit()), writers.live_writers) == ([], frozenset())


def test_a_full_cache_asks_for_nothing_until_there_is_room() -> None:
    writers = Writers("items", "me~1", SLICES, NodeSettings(cache_bytes=1))
    writers.cache.hold(0, SliceState.AVAILABLE, TERM)
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0), 0.0)
    writers.receive(sample(1), 0.0, replayed=False)
    writers.receive(sample(2), 0.0, replayed=False)
    assert (writers.cache.refused, asked(writers.ask(9.0))) == (1, [])
    work(writers)
    writers.cache.next(1)
    assert asked(writers.ask(9.0)) == [((0,), (1,))]


# -- what arrives --------------------------------------------------------------------------------


def met(cache_bytes: int = 1 << 20) -> Writers:
    """A node that owns slices 0 and 1 and knows that nothing of them is committed."""
    writers = Writers("items", "me~1", SLICES, NodeSettings(cache_bytes=cache_bytes))
    for slice_id in (0, 1):
        writers.cache.hold(slice_id, SliceState.AVAILABLE, TERM)
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    return writers


def arrived(writers: Writers) -> list[int]:
    return [held.arrived for held in writers.cache.held.values()]


def test_what_a_node_has_no_room_for_has_arrived_too() -> None:
    writers = met(cache_bytes=1)
    for first in (1, 4, 7):
        writers.receive(sample_of({0: (first, 3), 1: (first, 3)}), 0.0, replayed=False)
    assert (writers.cache.refused, arrived(writers)) == (12, [9, 9])


def test_what_an_epoch_announces_has_arrived_once() -> None:
    writers = met()
    writers.on_epoch_closed(close({0: 5}), 0.0)
    assert arrived(writers) == [5, 0]
    writers.receive(sample(1, 5), 0.0, replayed=True)
    writers.receive(sample(1, 5), 0.0, replayed=True)
    writers.on_epoch_closed(close({0: 5}), 0.0)
    assert arrived(writers) == [5, 0]


def test_what_was_there_when_a_writer_was_met_has_not_arrived() -> None:
    writers = Writers("items", "me~1", SLICES, NodeSettings())
    writers.cache.hold(0, SliceState.AVAILABLE, TERM)
    writers.on_epoch_closed(close({0: 900}), 0.0)
    answer = ReplayAnswer("items", WRITER, "me~1", 1, (0,), (100,), (950,), (), ())
    writers.on_replay_answer(answer, 0.0)
    assert arrived(writers) == [0]
    writers.on_epoch_closed(close({0: 960}), 1.0)
    assert arrived(writers) == [10]


def test_a_sample_of_many_slices_is_taken_in_run_by_run(writers: Writers) -> None:
    writers.on_epoch_closed(close({}), 0.0)
    writers.on_replay_answer(floors(0, 0), 0.0)
    writers.receive(sample_of({0: (1, 2), 1: (3, 2), 2: (1, 5)}), 0.0, replayed=False)
    cache = writers.cache
    assert (cache.stray, cache.backlog, arrived(writers)) == (5, 4, [2, 4])
    assert asked(writers.ask(GRACE)) == [((1,), (0,))]
