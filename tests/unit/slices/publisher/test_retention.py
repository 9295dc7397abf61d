"""Retention against a plain list of all items ever kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.retention import Retained, Retention

SLICES = 3


def test_numbers_start_at_one_and_run_on() -> None:
    retention = Retention(SLICES)
    retention.keep(1, 2, 1, b"ab")
    retention.keep(1, 3, 2, b"cde")
    assert retention.after(1, 0) == [Retained(1, 2, 1, b"ab"), Retained(3, 5, 2, b"cde")]
    assert retention.newest_of_all() == [0, 5, 0]
    assert retention.dirty() == [1]


def test_commit_inside_a_batch_moves_the_floor_and_keeps_the_batch() -> None:
    retention = Retention(SLICES)
    retention.keep(0, 4, 1, b"abcd")
    assert retention.commit(0, 3) == 3
    assert (retention.floor(0), retention.items, retention.size) == (3, 1, 4)
    assert retention.after(0, 3) == [Retained(1, 4, 1, b"abcd")]
    assert retention.commit(0, 4) == 1
    assert (retention.floor(0), retention.items, retention.size) == (4, 0, 0)
    assert retention.dirty() == []


def test_commit_of_what_was_never_published_is_refused() -> None:
    retention = Retention(SLICES)
    retention.keep(0, 4, 1, b"abcd")
    with pytest.raises(ValueError, match="slice 0 has 4 items, not 5"):
        retention.commit(0, 5)


_slices = st.integers(0, SLICES - 1)
_keeps = st.tuples(st.just("keep"), _slices, st.integers(1, 5))
_commits = st.tuples(st.just("commit"), _slices, st.integers(0, 20))


@given(st.lists(_keeps | _commits, max_size=60), st.integers(0, 20))
def test_keeps_exactly_what_is_uncommitted(steps: list[tuple[str, int, int]], have: int) -> None:
    retention = Retention(SLICES)
    published: list[list[Retained]] = [[] for _ in range(SLICES)]
    floors = [0] * SLICES
    for epoch, (step, slice_id, number) in enumerate(steps):
        newest = published[slice_id][-1].last if published[slice_id] else 0
        if step == "keep":
            encoded = bytes(number)
            published[slice_id].append(Retained(newest + 1, newest + number, epoch, encoded))
            retention.keep(slice_id, number, epoch, encoded)
        else:
            upto = min(number, newest)
            fresh = retention.commit(slice_id, upto)
            assert fresh == max(0, upto - floors[slice_id])
            floors[slice_id] = max(floors[slice_id], upto)
    kept = [[batch for batch in published[s] if batch.last > floors[s]] for s in range(SLICES)]
    newest_of_all = [batches[-1].last if batches else 0 for batches in published]
    assert retention.newest_of_all() == newest_of_all
    assert retention.dirty() == [s for s in range(SLICES) if kept[s]]
    assert retention.size == sum(len(batch.encoded) for batches in kept for batch in batches)
    assert retention.items == sum(newest_of_all) - sum(floors)
    for s in range(SLICES):
        assert retention.floor(s) == floors[s]
        assert retention.after(s, have) == [batch for batch in kept[s] if batch.last > have]
