"""Giver and taker: every legal step, every other refused; chunks and how they come together."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.messages import SliceState, Step
from evenflow.model.sample import Sample
from evenflow.slices.node import giver_taker
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.slices.node.giver_taker import GIVER, TAKER, Giver, SessionState, Taker, samples_in

from .alone import sample_of

TERM, SLICES = 77, frozenset({1, 4})


def giver_in(state: SessionState) -> Giver:
    giver = Giver(TERM, SLICES, "taker~2")
    giver.state = state
    return giver


def taker_in(state: SessionState) -> Taker:
    taker = Taker(TERM, SLICES, "giver~1")
    taker.state = state
    return taker


@pytest.mark.parametrize("state", list(SessionState), ids=lambda state: state.name)
@pytest.mark.parametrize("step", list(Step), ids=lambda step: step.name)
@pytest.mark.parametrize(("side", "table"), [(giver_in, GIVER), (taker_in, TAKER)])
def test_a_step_is_done_when_the_table_has_it_and_refused_when_not(
    side: type[Giver | Taker],
    table: dict[tuple[SessionState, Step], SessionState],
    state: SessionState,
    step: Step,
) -> None:
    machine = side(state)
    legal = (state, step) in table
    assert machine.step(step) is legal
    assert machine.state is (table[state, step] if legal else state)


@pytest.mark.parametrize("table", [GIVER, TAKER], ids=["giver", "taker"])
def test_a_step_done_again_changes_nothing(
    table: dict[tuple[SessionState, Step], SessionState],
) -> None:
    """An order that comes again, because its acknowledgement was lost, is answered again."""
    for (_, step), after in table.items():
        assert table.get((after, step), after) is after


def test_merging_is_the_point_of_no_return() -> None:
    assert {after for (state, _), after in TAKER.items() if state is SessionState.MERGED} == {
        SessionState.MERGED
    }
    assert SessionState.MERGED not in {
        after for (state, _), after in TAKER.items() if state is not SessionState.MERGED
    }


def test_what_was_cancelled_stays_cancelled() -> None:
    assert {after for (state, _), after in TAKER.items() if state is SessionState.CANCELLED} == {
        SessionState.CANCELLED
    }
    assert not [state for state, _ in GIVER if state is SessionState.CANCELLED]


# -- chunks --------------------------------------------------------------------------------------


def samples(number: int, size: int = 10) -> list[Sample]:
    """The samples of writers 1 and 2: two items of each slice in every one."""
    return [
        sample_of(
            {slice_id: (2 * slice_id + 1 + 2 * index, 2) for slice_id in SLICES},
            writer,
            serial=index + 1,
            payload=bytes(size),
        )
        for index in range(number)
        for writer in (1, 2)
    ]


def holding(number: int = 3, size: int = 10) -> list[HeldSlice]:
    """Two slices of two writers, each with the same samples, one position of them uncertain."""
    held = {slice_id: HeldSlice(slice_id, SliceState.GIVING, 1) for slice_id in sorted(SLICES)}
    for slice_id, one in held.items():
        for writer in (1, 2):
            one.track(writer).start(2 * slice_id, known=(slice_id, writer) != (4, 2))
    for sample in samples(number, size):
        for batch in sample.batches():
            held[batch.slice].track(batch.writer).offer(batch)
    return list(held.values())


Run = tuple[int, int, int, int]


def runs_in(chunk: giver_taker.CacheChunk) -> list[Run]:
    return [(b.slice, b.writer, b.first, b.last) for s in samples_in(chunk) for b in s.batches()]


def kept_by(held: list[HeldSlice]) -> set[Run]:
    tracks = [(one.slice, *row) for one in held for row in one.tracks.items()]
    return {(s, w, b.first, b.last) for s, w, track in tracks for b in track.batches()}


def merged(taker: Taker) -> list[Run]:
    return [run for chunk in taker.complete() for run in runs_in(chunk)]


def test_positions_of_every_track_are_in_the_first_chunk_certain_or_not() -> None:
    first, *_ = giver_in(SessionState.REMOVED).chunks("items", "giver~1", holding(), ())
    rows = list(zip(first.slices, first.writers, first.done, first.known, strict=True))
    assert rows == [(1, 1, 2, 1), (1, 2, 2, 1), (4, 1, 8, 1), (4, 2, 8, 0)]


def test_an_empty_cache_is_one_chunk() -> None:
    chunks = giver_in(SessionState.REMOVED).chunks("items", "giver~1", holding(0), ())
    assert [(chunk.index, chunk.total, chunk.lengths) for chunk in chunks] == [(0, 1, ())]


def test_chunks_are_bounded_and_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giver_taker, "CHUNK_BYTES", 500)
    held = holding(5, size=40)
    chunks = giver_in(SessionState.REMOVED).chunks("items", "giver~1", held, ())
    assert len(chunks) > 3
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.total for chunk in chunks} == {len(chunks)}
    assert all(len(chunk.batches) <= 500 for chunk in chunks)
    assert all(not chunk.slices for chunk in chunks[1:])
    sent = [run for chunk in chunks for run in runs_in(chunk)]
    assert len(sent) == len(set(sent))
    assert set(sent) == kept_by(held)


def test_each_slice_is_sent_in_the_order_of_its_numbers() -> None:
    held = holding(5)
    late = sample_of({1: (15, 2)}, 1, serial=7)
    early = sample_of({1: (13, 2), 4: (19, 2)}, 1, serial=6)
    for sample in (late, early):
        held[0].track(1).offer(sample.batches()[0])
    held[1].track(1).offer(early.batches()[1])
    chunks = giver_in(SessionState.REMOVED).chunks("items", "giver~1", held, ())
    sent = [run for chunk in chunks for run in runs_in(chunk)]
    for key in {run[:2] for run in sent}:
        numbers = [run[2] for run in sent if run[:2] == key]
        assert numbers == sorted(numbers)
    assert set(sent) == kept_by(held)


def test_samples_are_cut_to_the_slices_of_the_session() -> None:
    """And each comes once, however many slices refer to it; mostly wanted ones come whole."""
    held = [HeldSlice(slice_id, SliceState.GIVING, 1) for slice_id in sorted(SLICES)]
    mixed = sample_of(dict.fromkeys(range(20), (1, 2)), 1, serial=1)
    mostly = sample_of({0: (3, 1), 1: (3, 5), 4: (3, 5)}, 1, serial=2)
    for sample in (mixed, mostly):
        for batch in sample.batches():
            for one in held:
                if one.slice == batch.slice:
                    one.track(1).offer(batch)
    [chunk] = giver_in(SessionState.REMOVED).chunks("items", "giver~1", held, ())
    cut, whole = samples_in(chunk)
    assert [(b.slice, b.first, b.last) for b in cut.batches()] == [(1, 1, 2), (4, 1, 2)]
    assert whole.encoded == mostly.encoded


def test_of_what_is_processed_nothing_is_sent() -> None:
    held = holding(4)
    for one in held:
        for writer in (1, 2):
            one.track(writer).start(2 * one.slice + 4)
    chunks = giver_in(SessionState.REMOVED).chunks("items", "giver~1", held, ())
    assert {run[2] for chunk in chunks for run in runs_in(chunk)} == {7, 9, 13, 15}


def test_a_sample_larger_than_a_chunk_travels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giver_taker, "CHUNK_BYTES", 50)
    chunks = giver_in(SessionState.REMOVED).chunks("items", "giver~1", holding(2), ())
    assert [len(chunk.lengths) for chunk in chunks] == [1] * 4


def test_beyond_the_bound_only_what_nobody_could_replay_is_handed_over() -> None:
    held = holding(5, size=40)
    size = samples(1, 40)[0].size
    chunks = giver_taker.chunk_cache(
        "items", giver_in(SessionState.REMOVED), "giver~1", held, {2}, 7 * size
    )
    sent = [run for chunk in chunks for run in runs_in(chunk)]
    everything = {run for run in kept_by(held) if run[1] == 1}
    assert {run for run in sent if run[1] == 1} == everything
    assert {run[2] for run in sent if run[1] == 2} == {3, 5, 9, 11}
    assert chunks[0].writers == (1, 2, 1, 2)


def test_a_cancelled_session_keeps_nothing() -> None:
    giver = giver_in(SessionState.SENT)
    assert giver.chunks("items", "giver~1", holding(), ())[0].lengths
    giver.cancel()
    assert giver.state is SessionState.CANCELLED
    assert giver.chunks("items", "giver~1", [], ())[0].lengths == ()


def test_the_same_chunks_however_often_they_are_asked_for() -> None:
    giver = giver_in(SessionState.REMOVED)
    held = holding()
    first = giver.chunks("items", "giver~1", held, ())
    held[0].track(1).offer(sample_of({1: (9, 1)}, 1).batches()[0])
    assert giver.chunks("items", "giver~1", held, ()) == first
    giver.repeated = 2
    assert {chunk.repeated for chunk in giver.chunks("items", "giver~1", held, ())} == {2}


@given(order=st.randoms(use_true_random=False), repeats=st.integers(0, 3))
def test_chunks_come_together_in_any_order_and_number(order: random.Random, repeats: int) -> None:
    chunks = list(_small_chunks())
    expected = [run for chunk in chunks for run in runs_in(chunk)]
    coming = chunks + [order.choice(chunks) for _ in range(repeats)]
    order.shuffle(coming)
    taker = taker_in(SessionState.ACTIVE)
    seen = set()
    for chunk in coming:
        assert merged(taker) == []
        taker.receive(chunk)
        seen.add(chunk.index)
        if len(seen) == len(chunks):
            break
    assert merged(taker) == expected


def _small_chunks() -> tuple[giver_taker.CacheChunk, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(giver_taker, "CHUNK_BYTES", 300)
        return giver_in(SessionState.REMOVED).chunks("items", "giver~1", holding(), ())


@pytest.mark.parametrize("state", [p for p in SessionState if p is not SessionState.ACTIVE])
def test_nothing_is_merged_but_by_an_active_taker(state: SessionState) -> None:
    taker = taker_in(state)
    for chunk in _small_chunks():
        taker.receive(chunk)
    assert merged(taker) == []


def test_chunks_that_come_before_the_order_wait_for_it() -> None:
    taker = taker_in(SessionState.ADDED)
    for chunk in _small_chunks():
        taker.receive(chunk)
    taker.state = SessionState.ACTIVE
    assert merged(taker)


def test_a_damaged_chunk_is_found() -> None:
    [chunk] = giver_in(SessionState.REMOVED).chunks("items", "giver~1", holding(1), ())
    damaged = replace(chunk, batches=b"\xff" * len(chunk.batches))
    with pytest.raises(DecodeError):
        samples_in(damaged)
