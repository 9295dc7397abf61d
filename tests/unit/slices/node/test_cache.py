"""The slice cache: its bound, its turns, and what becomes of what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.model.messages import SliceState
from evenflow.slices.node.cache import SliceCache

AVAILABLE, GIVING, TAKING = SliceState.AVAILABLE, SliceState.GIVING, SliceState.TAKING
TERM = 1
ROOMY = 1 << 20
SIZE = len(encode_items(1, 0, 1, 1, [Item("s", 1, 0, b"x")]))
"""Bytes of a batch of one item."""


def batch(slice_id: int = 0, first: int = 1, count: int = 1, writer: int = 1) -> Batch:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Batch(encode_items(writer, slice_id, 1, first, items))


def cache_of(*slices: int, limit: int = ROOMY, state: SliceState = AVAILABLE) -> SliceCache:
    """A cache that holds slices whose positions are known for the writers 1 and 2."""
    cache = SliceCache(limit)
    for slice_id in slices:
        held = cache.hold(slice_id, state, TERM)
        for writer in (1, 2):
            cache.start(held, writer, 0)
    return cache


def drained(cache: SliceCache, limit: int = 100) -> list[Batch]:
    batches = []
    while (one := cache.next(limit)) is not None:
        batches.append(one)
    return batches


def test_what_is_offered_comes_out() -> None:
    cache = cache_of(0)
    cache.offer(batch(first=1, count=3))
    assert (cache.backlog, cache.has_work) == (3, True)
    [out] = drained(cache)
    assert (out.first, out.last) == (1, 3)
    assert (cache.size, cache.backlog, cache.has_work) == (0, 0, False)


def test_items_of_a_slice_not_held_are_stray() -> None:
    cache = cache_of(0)
    assert cache.offer(batch(slice_id=5, count=3)) is None
    assert (cache.stray, cache.size) == (3, 0)


def test_what_comes_again_is_counted() -> None:
    cache = cache_of(0)
    cache.offer(batch(count=3))
    cache.offer(batch(count=3))
    assert (cache.repeated, cache.backlog) == (3, 3)


def test_items_in_a_session_are_only_kept() -> None:
    for state in (GIVING, TAKING):
        cache = cache_of(0, state=state)
        cache.offer(batch())
        assert cache.next(10) is None
        assert cache.backlog == 1


def test_a_slice_that_becomes_giving_delivers_nothing_of_what_was_queued() -> None:
    cache = cache_of(0)
    cache.offer(batch())
    cache.held[0].state = GIVING
    assert cache.next(10) is None
    cache.held[0].state = AVAILABLE
    cache.wake_all([0])
    assert len(drained(cache)) == 1


def test_a_position_that_becomes_known_wakes_the_track() -> None:
    cache = SliceCache(ROOMY)
    held = cache.hold(0, AVAILABLE, TERM)
    cache.offer(batch(first=1, count=4))
    assert cache.next(10) is None
    cache.start(held, 1, 2)
    [out] = drained(cache)
    assert (out.first, out.last) == (3, 4)


def test_a_dropped_slice_leaves_nothing_behind() -> None:
    cache = cache_of(0, 1)
    cache.offer(batch(slice_id=0))
    cache.offer(batch(slice_id=1))
    cache.drop([0, 7])
    assert [out.slice for out in drained(cache)] == [1]
    assert cache.size == 0


def test_a_slice_held_anew_starts_anew() -> None:
    cache = cache_of(0)
    cache.offer(batch())
    cache.drop([0])
    held = cache.hold(0, AVAILABLE, TERM + 1)
    assert drained(cache) == []
    cache.offer(batch())
    cache.start(held, 1, 0)
    assert len(drained(cache)) == 1


def test_tracks_take_turns() -> None:
    cache = cache_of(0, 1)
    for first in range(1, 7):
        cache.offer(batch(slice_id=0, first=first))
    for first in (1, 2):
        cache.offer(batch(slice_id=1, first=first))
    assert [out.slice for out in drained(cache)] == [0, 1, 0, 1, 0, 0, 0, 0]


# -- the bound -----------------------------------------------------------------------------------


def test_a_full_cache_refuses_and_knows_what_it_refused() -> None:
    cache = cache_of(0, 1, limit=SIZE)
    for first in (1, 2):
        cache.offer(batch(first=first))
    assert cache.satisfied
    track = cache.offer(batch(slice_id=1, first=1, count=3))
    assert track is not None
    assert (cache.refused, track.lacks, track.missing) == (3, True, 3)
    assert cache.size == 2 * SIZE
    assert len(drained(cache)) == 2
    assert not cache.satisfied
    cache.offer(batch(slice_id=1, first=1, count=3))
    assert len(drained(cache)) == 1


def test_a_full_cache_that_cannot_go_on_takes_what_the_application_needs_next() -> None:
    cache = cache_of(0, limit=SIZE)
    for first in (2, 3, 4):
        cache.offer(batch(first=first))
    assert (cache.has_work, cache.satisfied) == (False, False)
    assert cache.refused == 1
    cache.offer(batch(first=1))
    assert [out.first for out in drained(cache)] == [1, 2, 3]


def test_a_full_cache_takes_nothing_else() -> None:
    """Neither behind another gap, nor in a session, nor at an unknown position."""
    cache = cache_of(0, 1, limit=SIZE)
    cache.held[1].state = TAKING
    for first in (2, 3):
        cache.offer(batch(first=first))
    size = cache.size
    cache.offer(batch(slice_id=0, first=5))
    cache.offer(batch(slice_id=1, first=1))
    cache.offer(batch(slice_id=0, first=1, writer=3))
    assert cache.size == size
    assert cache.refused == 3


OFFERS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(1, 12), st.booleans()), max_size=60
)


@given(offers=OFFERS, limit=st.integers(0, 8))
def test_memory_is_bounded_and_nothing_is_lost_for_good(
    offers: list[tuple[int, int, int, bool]], limit: int
) -> None:
    """Whatever comes, in whatever order, and replay brings what was refused.

    Above the limit there is at most the batch that passed it, and one that ends a standstill.
    """
    cache = cache_of(0, 1, 2, limit=limit * SIZE)
    wanted: set[tuple[int, int, int]] = set()
    out: list[Batch] = []
    for slice_id, writer, first, work in offers:
        cache.offer(batch(slice_id, first, writer=writer))
        assert cache.size <= (limit + 2) * SIZE
        wanted |= {(slice_id, writer, n) for n in range(1, first + 1)}
        if work and (one := cache.next(1)) is not None:
            out.append(one)
    for _ in range(len(wanted) + 1):
        out += drained(cache)
        for slice_id, writer, number in sorted(wanted):
            cache.offer(batch(slice_id, number, writer=writer))
            assert cache.size <= (limit + 2) * SIZE
    out += drained(cache)
    assert Counter((one.slice, one.writer, one.first) for one in out) == Counter(wanted)
    assert cache.size == 0


@given(backlogs=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_no_slice_waits_longer_than_one_turn_of_each_other(backlogs: list[int]) -> None:
    cache = cache_of(*range(len(backlogs)))
    for slice_id, count in enumerate(backlogs):
        for first in range(1, count + 1):
            cache.offer(batch(slice_id, first))
    order = [out.slice for out in drained(cache)]
    assert Counter(order) == Counter(dict(enumerate(backlogs)))
    for slice_id, count in enumerate(backlogs):
        turns = [at for at, each in enumerate(order) if each == slice_id]
        gaps = [later - earlier for earlier, later in pairwise(turns)]
        assert all(gap <= len(backlogs) for gap in gaps)
        assert len(turns) == count
