"""The slice cache: its bound, its turns, and what becomes of what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.slices.node.alone import sample_of

from evenflow.model.batch import Batch
from evenflow.model.messages import SliceState
from evenflow.model.sample import Sample
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.cache.track import Track

AVAILABLE, GIVING, TAKING = SliceState.AVAILABLE, SliceState.GIVING, SliceState.TAKING
TERM = 1
ROOMY = 1 << 20


def sample(slice_id: int = 0, first: int = 1, count: int = 1, writer: int = 1) -> Sample:
    return sample_of({slice_id: (first, count)}, writer, serial=first)


SIZE = sample().size
"""Bytes of a sample of one item."""


def offer(cache: SliceCache, *args: int, **kwargs: int) -> Track:
    """Offer a sample of one slice that is held."""
    [(_, track, _, _)] = cache.offer(sample(*args, **kwargs))
    return track


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
    cache.offer(sample(first=1, count=3))
    assert (cache.backlog, cache.has_work) == (3, True)
    [out] = drained(cache)
    assert (out.first, out.last) == (1, 3)
    assert (cache.size, cache.backlog, cache.has_work) == (0, 0, False)


def test_items_of_a_slice_not_held_are_stray() -> None:
    cache = cache_of(0)
    assert cache.offer(sample(slice_id=5, count=3)) == []
    assert (cache.stray, cache.size) == (3, 0)


def test_what_comes_again_is_counted() -> None:
    cache = cache_of(0)
    cache.offer(sample(count=3))
    cache.offer(sample(count=3))
    assert (cache.repeated, cache.backlog) == (3, 3)


def test_items_in_a_session_are_only_kept() -> None:
    for state in (GIVING, TAKING):
        cache = cache_of(0, state=state)
        cache.offer(sample())
        assert cache.next(10) is None
        assert cache.backlog == 1


def test_a_slice_that_becomes_giving_delivers_nothing_of_what_was_queued() -> None:
    cache = cache_of(0)
    cache.offer(sample())
    cache.held[0].state = GIVING
    assert cache.next(10) is None
    cache.held[0].state = AVAILABLE
    cache.wake_all([0])
    assert len(drained(cache)) == 1


def test_a_position_that_becomes_known_wakes_the_track() -> None:
    cache = SliceCache(ROOMY)
    held = cache.hold(0, AVAILABLE, TERM)
    cache.offer(sample(first=1, count=4))
    assert cache.next(10) is None
    cache.start(held, 1, 2)
    [out] = drained(cache)
    assert (out.first, out.last) == (3, 4)


def test_a_dropped_slice_leaves_nothing_behind() -> None:
    cache = cache_of(0, 1)
    cache.offer(sample(slice_id=0))
    cache.offer(sample(slice_id=1))
    cache.drop([0, 7])
    assert [out.slice for out in drained(cache)] == [1]
    assert cache.size == 0


def test_a_slice_held_anew_starts_anew() -> None:
    cache = cache_of(0)
    cache.offer(sample())
    cache.drop([0])
    held = cache.hold(0, AVAILABLE, TERM + 1)
    assert drained(cache) == []
    cache.offer(sample())
    cache.start(held, 1, 0)
    assert len(drained(cache)) == 1


def test_tracks_take_turns() -> None:
    cache = cache_of(0, 1)
    for first in range(1, 7):
        cache.offer(sample(slice_id=0, first=first))
    for first in (1, 2):
        cache.offer(sample(slice_id=1, first=first))
    assert [out.slice for out in drained(cache)] == [0, 1, 0, 1, 0, 0, 0, 0]


# -- the bound -----------------------------------------------------------------------------------


def test_a_full_cache_refuses_and_knows_what_it_refused() -> None:
    cache = cache_of(0, 1, limit=SIZE)
    for first in (1, 2):
        cache.offer(sample(first=first))
    assert cache.satisfied
    track = offer(cache, slice_id=1, first=1, count=3)
    assert (cache.refused, track.lacks, track.missing) == (3, True, 3)
    assert cache.size == 2 * SIZE
    assert len(drained(cache)) == 2
    assert not cache.satisfied
    cache.offer(sample(slice_id=1, first=1, count=3))
    assert len(drained(cache)) == 1


def test_a_full_cache_that_cannot_go_on_takes_what_the_application_needs_next() -> None:
    cache = cache_of(0, limit=SIZE)
    for first in (2, 3, 4):
        cache.offer(sample(first=first))
    assert (cache.has_work, cache.satisfied) == (False, False)
    assert cache.refused == 1
    cache.offer(sample(first=1))
    assert [out.first for out in drained(cache)] == [1, 2, 3]


def test_a_full_cache_takes_nothing_else() -> None:
    """Neither behind another gap, nor in a session, nor at an unknown position."""
    cache = cache_of(0, 1, limit=SIZE)
    cache.held[1].state = TAKING
    for first in (2, 3):
        cache.offer(sample(first=first))
    size = cache.size
    cache.offer(sample(slice_id=0, first=5))
    cache.offer(sample(slice_id=1, first=1))
    cache.offer(sample(slice_id=0, first=1, writer=3))
    assert cache.size == size
    assert cache.refused == 3


RUNS = st.dictionaries(
    st.integers(0, 2), st.tuples(st.integers(1, 12), st.integers(1, 3)), min_size=1, max_size=3
)
OFFERS = st.lists(st.tuples(RUNS, st.integers(1, 2), st.booleans()), max_size=40)


@given(offers=OFFERS, limit=st.integers(0, 2_000))
def test_memory_is_bounded_and_nothing_is_lost_for_good(
    offers: list[tuple[dict[int, tuple[int, int]], int, bool]], limit: int
) -> None:
    """Whatever comes, in whatever order, and replay brings what was refused.

    Above the limit there is at most the sample that passed it, and one that ends a standstill.
    """
    cache = cache_of(0, 1, 2, limit=limit)
    largest = max((sample_of(runs).size for runs, _, _ in offers), default=0)
    wanted: set[tuple[int, int, int]] = set()
    out: list[Batch] = []
    for runs, writer, work in offers:
        cache.offer(sample_of(runs, writer))
        assert cache.size <= limit + 2 * largest
        for slice_id, (first, count) in runs.items():
            wanted |= {(slice_id, writer, n) for n in range(1, first + count)}
        if work and (one := cache.next(1)) is not None:
            out.append(one)
    bound, rounds = limit + 2 * max(largest, SIZE), 0
    while lacking := wanted - numbers_of(out).keys():
        rounds += 1
        assert rounds <= len(wanted) + 1, "replay does not bring what was refused"
        out += replay(cache, lacking, bound)
    out += replay(cache, wanted, bound)  # in vain: all of it is out
    assert numbers_of(out) == Counter(wanted)
    assert (cache.size, cache.backlog) == (0, 0)


def replay(cache: SliceCache, numbers: set[tuple[int, int, int]], bound: int) -> list[Batch]:
    """The application works, items are sent once more, and the application works again."""
    out = drained(cache)
    for slice_id, writer, number in sorted(numbers):
        cache.offer(sample(slice_id, number, writer=writer))
        assert cache.size <= bound
    return out + drained(cache)


def numbers_of(out: list[Batch]) -> Counter[tuple[int, int, int]]:
    return Counter((b.slice, b.writer, n) for b in out for n in range(b.first, b.last + 1))


def test_a_sample_counts_whole_as_long_as_one_of_its_rows_is_kept() -> None:
    cache = cache_of(*range(10))
    whole = sample_of({slice_id: (1 if slice_id else 2, 1) for slice_id in range(10)}, 1)
    cache.offer(whole)
    assert (cache.size, cache.backlog) == (whole.size, 10)
    assert len(drained(cache)) == 9
    assert (cache.size, cache.backlog) == (whole.size, 1)
    cache.offer(sample(first=1))
    assert [out.first for out in drained(cache)] == [1, 2]
    assert cache.size == 0


PAYLOAD = bytes(200)


def many(number: int, slices: int = 40) -> Sample:
    """The ``number``-th sample of a writer that has one item of every slice in each."""
    return sample_of(dict.fromkeys(range(slices), (number, 1)), 1, serial=number, payload=PAYLOAD)


def test_a_slice_that_waits_does_not_keep_whole_samples_of_all_others_in_memory() -> None:
    """Slice 0 lacks its first number; the others go on for ever, and nothing is refused."""
    size = many(1).size
    cache = cache_of(*range(40), limit=3 * size)
    cache.offer(sample_of(dict.fromkeys(range(1, 40), (1, 1)), 1))
    drained(cache)
    for number in range(2, 30):
        cache.offer(many(number))
        assert cache.size <= cache.limit + size
        assert len(drained(cache)) == 39
    assert (cache.refused, cache.backlog) == (0, 28)
    cache.offer(sample(0, 1))
    assert [out.first for out in drained(cache)] == list(range(1, 30))
    assert cache.size == 0


def test_a_slice_that_fills_the_cache_stops_no_other() -> None:
    """What waits for slice 0 alone is more than the cache has room for."""
    cache = cache_of(*range(40), limit=20 * SIZE)
    for number in range(2, 30):
        cache.offer(sample(0, number))
    full = cache.size
    assert full > cache.limit
    for number in range(1, 30):
        cache.offer(sample_of({0: (40 + number, 1)} | dict.fromkeys(range(1, 40), (number, 1)), 1))
        assert [out.slice for out in drained(cache)] == list(range(1, 40))
        assert cache.size == full


def test_what_ends_a_standstill_brings_only_what_the_application_can_have() -> None:
    """Else each would leave something in a cache that is full already."""
    cache = cache_of(*range(10), limit=SIZE)
    cache.held[8].state = TAKING
    for first in (3, 5):
        cache.offer(sample(9, first))
    runs = dict.fromkeys(range(9), (1, 1)) | {7: (2, 1)}
    cache.offer(sample_of(runs, 1))
    assert cache.refused == 2
    assert [out.slice for out in drained(cache)] == list(range(7))
    assert cache.size == 2 * SIZE


@given(backlogs=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_no_slice_waits_longer_than_one_turn_of_each_other(backlogs: list[int]) -> None:
    cache = cache_of(*range(len(backlogs)))
    for slice_id, count in enumerate(backlogs):
        for first in range(1, count + 1):
            cache.offer(sample(slice_id, first))
    order = [out.slice for out in drained(cache)]
    assert Counter(order) == Counter(dict(enumerate(backlogs)))
    for slice_id, count in enumerate(backlogs):
        turns = [at for at, each in enumerate(order) if each == slice_id]
        gaps = [later - earlier for earlier, later in pairwise(turns)]
        assert all(gap <= len(backlogs) for gap in gaps)
        assert len(turns) == count
