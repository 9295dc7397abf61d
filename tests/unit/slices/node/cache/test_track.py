"""A track against a naive model: sets of numbers."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.slices.node.alone import batch as batch_of
from tests.unit.slices.node.alone import sample_of

from evenflow.model.batch import Batch
from evenflow.slices.node.cache.kept_samples import KeptSamples, copy_out
from evenflow.slices.node.cache.track import Track


def batch(first: int, last: int) -> Batch:
    return batch_of(3, first, last - first + 1)


def new_track() -> Track:
    return Track(KeptSamples())


def known_track(done: int = 0) -> Track:
    track = new_track()
    track.start(done)
    return track


def kept(track: Track) -> tuple[int, int]:
    """Bytes and rows that a track keeps."""
    return track._kept.size, track._kept.rows


def taken(track: Track, limit: int = 1_000) -> list[int]:
    """Take everything there is; return the numbers."""
    numbers: list[int] = []
    while (part := track.take(limit)) is not None:
        numbers += part.ids.tolist()
    return numbers


def test_items_come_out_in_order() -> None:
    track = known_track()
    for first, last in ((1, 3), (4, 4), (5, 9)):
        assert track.offer(batch(first, last)) == 0
    assert taken(track) == list(range(1, 10))
    assert (kept(track), track.backlog, track.lacks) == ((0, 0), 0, False)


def test_what_came_too_early_waits_for_the_gap() -> None:
    track = known_track()
    track.offer(batch(4, 6))
    assert (track.lacks, track.missing, track.backlog) == (True, 3, 3)
    assert taken(track) == []
    track.offer(batch(1, 3))
    assert taken(track) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("again", [(1, 3), (4, 6)], ids=["in order", "too early"])
def test_a_batch_that_comes_again_is_dropped(again: tuple[int, int]) -> None:
    track = known_track()
    track.offer(batch(*again))
    before = kept(track)
    assert track.offer(batch(*again)) == 3
    assert kept(track) == before


def test_of_a_batch_that_overlaps_only_the_new_part_is_taken() -> None:
    track = known_track(done=2)
    assert track.offer(batch(1, 4)) == 2
    assert taken(track) == [3, 4]


def test_a_limit_cuts_batches() -> None:
    track = known_track()
    whole = batch(1, 5)
    track.offer(whole)
    parts = [track.take(2), track.take(2), track.take(2), track.take(2)]
    assert [part and part.ids.tolist() for part in parts] == [[1, 2], [3, 4], [5], None]
    assert kept(track) == (0, 0)


def test_nothing_is_delivered_before_the_position_is_known() -> None:
    track = new_track()
    track.offer(batch(1, 3))
    assert track.take(10) is None
    assert track.start(2) == 0
    assert taken(track) == [3]


def test_at_least_so_much_is_not_a_known_position() -> None:
    track = new_track()
    track.offer(batch(1, 3))
    track.start(1, known=False)
    assert track.take(10) is None
    assert track.done == 1
    track.start(0)
    assert taken(track) == [2, 3]


def test_start_drops_what_is_processed_and_joins_what_waited() -> None:
    track = new_track()
    track.offer(batch(1, 2))
    track.offer(batch(5, 6))
    assert track.start(4) == 2
    assert (track.done, track.lacks) == (4, False)
    assert taken(track) == [5, 6]
    assert kept(track) == (0, 0)


def test_start_never_goes_back() -> None:
    track = known_track(done=5)
    track.start(3)
    assert (track.done, track.next) == (5, 6)


def test_the_end_of_a_stream_drops_what_lies_beyond() -> None:
    track = known_track()
    track.offer(batch(1, 2))
    track.offer(batch(3, 4))
    track.offer(batch(7, 8))
    track.last = 9
    track.end_at(4)
    assert (track.next, track.last, track.lacks, track.backlog) == (5, 4, False, 4)
    assert taken(track) == [1, 2, 3, 4]


def test_an_end_before_what_is_here_leaves_only_what_counts() -> None:
    track = known_track(done=2)
    track.known = False
    track.offer(batch(3, 4))
    track.end_at(2)
    assert (track.next, track.known, track.backlog) == (3, True, 0)


def test_what_is_asked_for_ends_where_more_is_here_than_missing() -> None:
    track = known_track()
    track.offer(batch(3, 4))
    track.offer(batch(6, 9))
    assert track.gap_end == 5
    track.offer(batch(11, 12))
    assert track.gap_end == 5
    track.last = 14
    assert track.gap_end == 0


def test_batches_are_everything_not_handed_out() -> None:
    track = known_track()
    for first, last in ((5, 6), (1, 2), (8, 9)):
        track.offer(batch(first, last))
    assert [(b.first, b.last) for b in track.batches()] == [(1, 2), (5, 6), (8, 9)]


def test_a_cleared_track_keeps_nothing() -> None:
    track = known_track()
    for first, last in ((1, 2), (5, 6)):
        track.offer(batch(first, last))
    track.clear()
    assert (kept(track), track.batches()) == ((0, 0), [])


def test_what_is_copied_out_is_the_same() -> None:
    track = known_track()
    samples = [sample_of({2: (1, 9), 3: (first, 3), 8: (1, 9)}) for first in (1, 4, 9)]
    for sample in samples:
        track.offer(sample.batches()[1])
    assert track.take(2) is not None
    size, rows = kept(track)
    before = [list(b) for b in track.batches()]
    copy_out(track._kept, [track])
    assert [list(b) for b in track.batches()] == before
    assert not {b.sample for b in track.batches()} & set(samples)
    assert kept(track)[0] < size / 2
    assert kept(track)[1] == rows == 7
    track.offer(batch(7, 8))
    assert taken(track) == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert kept(track) == (0, 0)


class AgainstSets(RuleBasedStateMachine):
    """Batches of a publisher, cut anyhow but always alike, in any order and any number of times."""

    @initialize(counts=st.lists(st.integers(1, 4), min_size=1, max_size=8))
    def publish(self, counts: list[int]) -> None:
        self.batches: list[Batch] = []
        first = 1
        for count in counts:
            # Among other slices, so that they are copied out of their samples.
            sample = sample_of({1: (first, 5), 3: (first, count)}, serial=first)
            self.batches.append(sample.batches()[1])
            first += count
        self.newest = first - 1
        self.track = new_track()
        self.here: set[int] = set()
        self.announced = 0
        self.floor = 0
        self.known = False
        self.out: list[int] = []
        self.in_hand: list[Batch] = []

    @rule(which=st.integers(0, 7))
    def offer(self, which: int) -> None:
        one = self.batches[which % len(self.batches)]
        numbers = set(range(one.first, one.last + 1))
        old = {n for n in numbers if n in self.here or n <= self.floor}
        # A batch that lies partly beyond the first gap is held whole and counted when it is there.
        if one.first > self.track.next:
            old = numbers if one.first in self.track.out_of_order else set()
        assert self.track.offer(one) == len(old)
        self.here |= numbers
        self.announced = max(self.announced, one.last)

    @rule(last=st.integers(0, 40))
    def announce(self, last: int) -> None:
        self.announced = max(self.announced, min(last, self.newest))
        self.track.last = max(self.track.last, self.announced)

    @rule(floor=st.integers(0, 40), known=st.booleans())
    def start(self, floor: int, known: bool) -> None:
        floor = min(floor, self.newest)
        if self.out and floor > self.track.done:
            return  # nobody else processes what this node works on
        self.track.start(floor, known=known)
        self.floor = max(self.floor, floor)
        self.known = self.known or known
        self.announced = max(self.announced, self.floor)

    @rule(limit=st.integers(1, 5))
    def take(self, limit: int) -> None:
        part = self.track.take(limit)
        expected = (self.out[-1] if self.out else self.floor) + 1
        if part is None:
            assert not self.known or expected not in self.here
            return
        assert self.known
        assert part.count <= limit
        assert part.ids.tolist() == list(range(expected, expected + part.count))
        self.out += part.ids.tolist()
        self.in_hand.append(part)

    @rule()
    def copy(self) -> None:
        copy_out(self.track._kept, [self.track])

    @rule()
    def complete(self) -> None:
        if self.in_hand:
            part = self.in_hand.pop(0)
            self.track.complete(part)
            assert self.track.done >= part.last

    @invariant()
    def numbers_agree(self) -> None:
        if not hasattr(self, "track"):
            return
        position = self.out[-1] if self.out else self.floor
        gone = set(range(1, position + 1))
        waiting = {n for b in self.track.batches() for n in range(b.first, b.last + 1)}
        # What waits beyond the floor is exactly what is here and not handed out.
        assert {n for n in waiting if n > position} == {n for n in self.here if n not in gone}
        complete = position
        while complete + 1 in self.here:
            complete += 1
        assert self.track.next == complete + 1
        assert self.track.last == max(self.announced, self.floor)
        assert self.track.lacks == (complete < self.track.last)
        samples = {b.sample for b in self.track.batches()}
        rows = sum(b.count for b in self.track.batches())
        assert kept(self.track) == (sum(sample.size for sample in samples), rows)


TestAgainstSets = AgainstSets.TestCase
TestAgainstSets.settings = settings(max_examples=min(settings().max_examples, 300))
