"""What a node gives to readers: everything once, each slice in order, samples as they are."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item
from evenflow.model.ids import Position
from evenflow.model.messages import EpochClose, SliceState
from evenflow.model.sample import Sample
from evenflow.slices.consumer.counts import limited
from evenflow.slices.consumer.splits import BEGIN, Point, range_between
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.serving.rules import ServingRules
from evenflow.testing.samples import encode_items

WRITERS = (7, 8)
SLICES = range(8)
Number = tuple[int, int, int]
"""Slice, writer and number of an item."""


class Domain:
    """Publishers of random samples, and a node that has all of them."""

    def __init__(self, seed: int, epochs: int = 5) -> None:
        self.random = random.Random(seed)
        self.cache = SliceCache(1 << 30, serving=True)
        for slice_id in SLICES:
            self.cache.hold(slice_id, SliceState.AVAILABLE, 1)
        self.rules = ServingRules("items", "node-1", self.cache)
        self.epoch_of: dict[Number, int] = {}
        self.newest: dict[tuple[int, int], int] = {}
        for writer in WRITERS:
            serial = 0
            for epoch in range(1, epochs + 1):
                for _ in range(self.random.randint(0, 4)):
                    serial += self.random.randint(1, 3)
                    self.publish(writer, serial, epoch)
                last = {s: n for (s, w), n in self.newest.items() if w == writer}
                self.rules.on_epoch_closed(
                    EpochClose(writer, "items", epoch, 8, tuple(last), tuple(last.values()), False)
                )

    def publish(self, writer: int, serial: int, epoch: int) -> None:
        runs = {}
        for slice_id in self.random.sample(SLICES, self.random.randint(1, len(SLICES))):
            first = self.newest.get((slice_id, writer), 0) + 1
            count = self.random.randint(1, 3)
            self.newest[slice_id, writer] = first + count - 1
            runs[slice_id] = first, [Item("s", n, 0, b"") for n in range(count)]
            for number in range(first, first + count):
                self.epoch_of[slice_id, writer, number] = epoch
        sample = Sample(encode_items(writer, serial, epoch, runs))
        # Some slices may have come by themselves, from whoever had them.
        apart = [self.random.random() < 0.2 for _ in range(sample.run_count)]
        copied = {b.slice: b for b in sample.only(apart).batches()} if any(apart) else {}
        for one, alone in zip(sample.batches(), apart, strict=True):
            self.keep(copied[one.slice] if alone else one)

    def keep(self, batch: Batch) -> None:
        track = self.cache.held[batch.slice].track(batch.writer)
        track.next = batch.first
        track.offer(batch)

    def ask(self, slices: list[int], start: Position, end: Position) -> Range:
        return Range(tuple(slices), start, end, {})

    def expected(self, asked: Range) -> list[Number]:
        return sorted(
            number
            for number, epoch in self.epoch_of.items()
            if number[0] in asked.slices
            and asked.start[number[1]] < epoch <= asked.end[number[1]]
            and number[2] > asked.after.get(number[:2], 0)
        )


def numbers(batches: list[Batch]) -> list[Number]:
    return [(b.slice, b.writer, n) for b in batches for n in range(b.first, b.last + 1)]


def select(domain: Domain, asked: Range) -> list[Batch]:
    found = domain.rules.select(asked)
    assert isinstance(found, list)
    return found


def check_order(found: list[Number]) -> None:
    """Each slice and writer is ascending and has no holes."""
    newest: dict[tuple[int, int], int] = {}
    for slice_id, writer, number in found:
        assert number == newest.get((slice_id, writer), number - 1) + 1
        newest[slice_id, writer] = number


@given(st.integers(0, 1 << 32))
def test_everything_comes_once_and_in_order_wherever_a_reader_breaks_off(seed: int) -> None:
    domain = Domain(seed)
    chance = domain.random
    slices = chance.sample(SLICES, chance.randint(1, len(SLICES)))
    start = Position({w: chance.choice((0, 0, 1, 2)) for w in WRITERS})
    end = Position({w: chance.randint(0, 5) for w in WRITERS})
    asked = domain.ask(slices, start, end)
    read: list[Number] = []
    while True:
        found = select(domain, asked)
        came = numbers(found)
        assert sorted(came) == domain.expected(asked)
        check_order(came)
        if len(came) < 2 or chance.random() < 0.3:
            read += came
            break
        read += came[: chance.randint(1, len(came))]  # even within a batch
        after = {(slice_id, writer): n for slice_id, writer, n in read}
        asked = Range(tuple(slices), start, end, after)
    check_order(read)
    assert sorted(read) == domain.expected(domain.ask(slices, start, end))


@given(st.integers(0, 1 << 32), st.integers(1, 30))
def test_what_is_counted_is_what_is_given_also_of_parts_of_epochs(seed: int, limit: int) -> None:
    domain = Domain(seed)
    slices = sorted(domain.random.sample(SLICES, domain.random.randint(1, len(SLICES))))
    newest, at, read = Point(Position({7: 5, 8: 5})), BEGIN, []
    while not at.covers(newest):
        ahead = replace(range_between(at, newest), slices=tuple(slices))
        runs = domain.rules.count(ahead, limit)
        assert isinstance(runs, list)
        end = limited(at, newest, runs, limit)
        batch = numbers(select(domain, replace(range_between(at, end), slices=tuple(slices))))
        assert len(batch) == min(limit, sum(run.items for run in runs))
        check_order(batch)
        read += batch
        at = end
    assert sorted(read) == domain.expected(domain.ask(slices, Position(), newest.position))


def test_the_first_epochs_of_a_time_are_found() -> None:
    domain = Domain(0, epochs=0)
    for epoch, times in ((1, (5, 9)), (2, (20, 3)), (3, (4, 4)), (4, (30, 30))):
        runs = {s: (epoch, [Item("s", 1, times[s], b"")]) for s in (0, 1)}
        for one in Sample(encode_items(7, epoch, epoch, runs)).batches():
            domain.keep(one)
    domain.rules.on_epoch_closed(EpochClose(7, "items", 4, 8, (), (), False))

    def since(time: int, *slices: int, start: int = 0) -> object:
        asked = domain.ask([*slices], Position({7: start}), Position({7: 4}))
        return domain.rules.since(asked, time)

    assert since(9, 0, 1) == Position({7: 1})
    assert since(9, 0) == Position({7: 2})
    assert since(9, 0, 1, start=2) == Position({7: 4})
    assert since(31, 0, 1) == Position()
    assert since(1, 9) == Refusal("moved", "slice 9 is not here")


def test_no_more_is_counted_than_may_be_taken() -> None:
    domain = Domain(0, epochs=0)
    for epoch in range(1, 101):
        runs = {s: (epoch, [Item("s", 1, 0, b"")]) for s in SLICES}
        for one in Sample(encode_items(7, epoch, epoch, runs)).batches():
            domain.keep(one)
    domain.rules.on_epoch_closed(EpochClose(7, "items", 100, 8, (), (), False))
    found = domain.rules.count(domain.ask([*SLICES], Position(), Position({7: 100})), 10)
    assert isinstance(found, list)
    assert {run.epoch for run in found} == {1, 2}


def test_samples_come_whole_in_the_order_in_which_they_were_made() -> None:
    domain = Domain(0, epochs=0)
    for serial, slices in ((3, SLICES), (10, (5,)), (200, SLICES)):
        runs = {s: (serial, [Item("s", 1, 0, b"")]) for s in slices}
        for one in Sample(encode_items(7, serial, 1, runs)).batches():
            domain.keep(one)
    domain.rules.on_epoch_closed(EpochClose(7, "items", 1, 8, (), (), False))
    found = select(domain, domain.ask([*SLICES][::-1], Position(), Position({7: 1})))
    samples = [(sample.serial, list(group)) for sample, group in groupby(found, lambda b: b.sample)]
    assert [serial for serial, _ in samples] == [3, 10, 200]
    assert [[one.slice for one in group] for _, group in samples] == [[*SLICES], [5], [*SLICES]]


def test_a_slice_named_twice_is_given_once() -> None:
    domain = Domain(3)
    once = select(domain, domain.ask([2, 4], Position(), Position({7: 5, 8: 5})))
    twice = select(domain, domain.ask([4, 2, 4, 2], Position(), Position({7: 5, 8: 5})))
    assert numbers(twice) == numbers(once)


def test_the_numbers_count_when_serials_contradict_them() -> None:
    domain = Domain(0, epochs=0)
    for serial, first in ((9, 1), (2, 2), (11, 3)):
        runs = {s: (first, [Item("s", 1, 0, b"")]) for s in (0, 1)}
        for one in Sample(encode_items(7, serial, 1, runs)).batches():
            domain.keep(one)
    domain.rules.on_epoch_closed(EpochClose(7, "items", 1, 8, (0, 1), (3, 3), False))
    found = numbers(select(domain, domain.ask([0, 1], Position(), Position({7: 1}))))
    check_order(found)
    assert len(found) == 6
