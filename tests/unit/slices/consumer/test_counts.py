"""Limits by real counts: as many items as asked for, each once, whoever serves them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.ids import Position
from evenflow.slices.consumer.counts import (
    Run,
    decode_runs,
    encode_runs,
    limited,
    shares_of,
)
from evenflow.slices.consumer.splits import BEGIN, Point, Split, bounds_of, range_between
from evenflow.testing.schedules import random_serving_schedule

Item = tuple[int, int, int, int]
"""Writer, epoch, slice and number."""


@st.composite
def streams(draw: st.DrawFn) -> list[Item]:
    """The items of some writers: each slice is numbered on from epoch to epoch."""
    items: list[Item] = []
    for writer in range(1, draw(st.integers(1, 3)) + 1):
        newest: dict[int, int] = {}
        for epoch in range(draw(st.integers(1, 50)), 60, draw(st.integers(5, 20))):
            for slice_id in draw(st.lists(st.integers(0, 4), max_size=4, unique=True)):
                for _ in range(draw(st.integers(1, 5))):
                    newest[slice_id] = newest.get(slice_id, 0) + 1
                    items.append((writer, epoch, slice_id, newest[slice_id]))
    return items


def between(items: list[Item], start: Point, end: Point) -> list[Item]:
    """What nodes would give: each looks at its slice alone."""
    asked = range_between(start, end)
    found = []
    for item in items:
        writer, epoch, slice_id, number = item
        first, last = asked.start[writer], asked.end[writer]
        bounds = bounds_of(asked, slice_id, writer, first, last)
        upto = number if bounds.upto is None else bounds.upto
        if bounds.start < epoch <= bounds.end and bounds.after < number <= upto:
            found.append(item)
    return found


def runs_of(items: list[Item]) -> list[Run]:
    return [Run(*item, 1) for item in items]


@given(streams(), st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_batches_have_as_many_items_as_they_may_and_all_of_them_once(
    items: list[Item], limits: list[int]
) -> None:
    newest = Point(Position({w: max(e for v, e, *_ in items if v == w) for w, *_ in items}))
    at, read, turns = BEGIN, [], 0
    while not at.covers(newest):
        limit = limits[turns % len(limits)]
        turns += 1
        ahead = Point(newest.position)
        left = between(items, at, ahead)
        end = limited(at, ahead, runs_of(left), limit)
        batch = between(items, at, end)
        assert len(batch) == min(limit, len(left))
        assert end.covers(at)
        assert not at.covers(end)
        for writer, split in end.splits.items():
            of_epoch = [item for item in items if item[:2] == (writer, split.epoch)]
            before = [item for item in of_epoch if item[2:] <= (split.slice, split.number)]
            assert split.items == len(before)
        read += batch
        at = end
    assert sorted(read) == sorted(items)
    assert between(items, at, at) == []


@given(st.dictionaries(st.integers(1, 9), st.integers(1, 10**6), min_size=1), st.integers(1, 10**6))
def test_each_writer_has_its_share(there: dict[int, int], items: int) -> None:
    if sum(there.values()) <= items:
        return
    shares = shares_of(there, items)
    assert sum(shares.values()) == items
    for writer, share in shares.items():
        assert abs(share - items * there[writer] / sum(there.values())) < 1
        assert share <= there[writer]


def test_an_epoch_that_is_larger_than_the_limit_is_split() -> None:
    runs = [Run(1, 7, 2, 40, 3_000), Run(1, 7, 5, 1, 2_000), Run(1, 8, 0, 1, 19)]
    newest = Point(Position({1: 8}))
    first = limited(BEGIN, newest, runs, 1_000)
    assert first == Point(Position(), {1: Split(7, 2, 1_039, 1_000)})
    assert first.planned == {1: 7}
    third = limited(BEGIN, newest, runs, 3_000)
    assert third == Point(Position(), {1: Split(7, 2, 3_039, 3_000)}), "slice 5 is still to come"
    assert limited(BEGIN, newest, runs, 5_000) == Point(Position({1: 7})), "no split between epochs"
    assert limited(BEGIN, newest, runs, 5_019) == newest


def test_a_writer_that_has_no_share_stays_where_it_is() -> None:
    start = Point(Position({1: 3}), {2: Split(4, 1, 10, 9)})
    newest = Point(Position({1: 9, 2: 4}))
    end = limited(start, newest, [Run(1, 9, 0, 1, 100), Run(2, 4, 1, 11, 1)], 1)
    assert end == Point(Position({1: 3}), {1: Split(9, 0, 1, 1), 2: Split(4, 1, 10, 9)})
    assert 2 not in range_between(start, end).end, "and nobody is asked for it"


def test_a_split_stays_until_its_epoch_can_be_read_again() -> None:
    start = Point(Position({1: 3}), {1: Split(5, 1, 10, 9)})
    assert start.advanced(Position({1: 3})) == start
    assert start.advanced(Position({1: 5})) == Point(Position({1: 5}))


def test_counts_come_back_as_they_were_and_others_are_refused() -> None:
    runs = [Run(1 << 63, 7, 2, 40, 3)]
    assert decode_runs(encode_runs(runs)) == runs
    for wrong in (
        [[1, 2, 3, 4]],
        [[1, 2, 3, 0, 1]],
        [[1, 2, 3, 4, 0]],
        [[1 << 64, 2, 3, 4, 5]],
        {},
    ):
        with pytest.raises(DecodeError):
            decode_runs(json.dumps(wrong).encode())


@pytest.mark.parametrize("seed", range(12))
def test_exact_limits_hold_in_any_schedule(seed: int) -> None:
    random_serving_schedule(seed, limit=1 + seed % 5)


def test_a_range_may_be_asked_for_again_from_where_it_broke_off() -> None:
    start, end = Point(Position({1: 3})), Point(Position({1: 3}), {1: Split(4, 1, 10, 9)})
    asked = replace(range_between(start, end), after={(1, 1): 10})
    assert bounds_of(asked, 1, 1, 3, 4) == (3, 4, 10, 10)
