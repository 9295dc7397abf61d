"""When items become samples, to whom they go, and when they are too many to keep."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Item
from evenflow.model.encoding import RUN_BYTES
from evenflow.model.given_headers import given_headers
from evenflow.model.sample import Sample
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.sealing import (
    LONGEST_PACE_S,
    SAMPLE_BYTES,
    SAMPLES_PER_S,
    Limits,
    SealedSample,
)
from evenflow.slices.spill import Spill

from .items import (
    AT_ONCE,
    LINGER,
    SLICES,
    add,
    add_table,
    core_with,
    decoded,
    ids_in,
    item,
    map_page,
    no_assignment,
    ranges,
    size_of,
)


def test_without_linger_every_item_is_a_sample_at_once() -> None:
    core = core_with()
    assert ranges(add(core, 2, item())) == [(2, 1, 1)]
    assert ranges(add(core, 2, item())) == [(2, 2, 2)]
    assert ranges(add_table(core, [(0, 1)])) == [(0, 1, 1)]
    assert core.sealing.deadline() is None


def test_by_count() -> None:
    core = core_with(replace(LINGER, batch_items=3))
    sealed = [add(core, slice_id, item()) for slice_id in (1, 0, 1, 1)]
    assert [ranges(one) for one in sealed] == [[], [], [(0, 1, 1), (1, 1, 2)], []]


def test_there_must_be_enough_for_every_owner() -> None:
    core = core_with(replace(LINGER, batch_items=3), ["b", "a", "b", "a"])
    assert [len(add(core, n % 4, item(n))) for n in range(6)] == [0, 0, 0, 0, 0, 2]


def test_by_bytes_never_above_the_limit() -> None:
    core = core_with(replace(LINGER, batch_bytes=400))
    sealed = [one for n in range(50) for one in add(core, n % 3, item(n))]
    assert len(sealed) > 5
    assert all(len(one.sample.encoded) <= 400 for one in sealed)


def test_an_item_above_the_limit_is_a_sample_alone() -> None:
    core = core_with(replace(LINGER, batch_bytes=1_000))
    assert add(core, 1, item(1)) == []
    sealed = add(core, 1, item(2, 5_000))
    assert [sample.rows.ids.tolist() for sample in decoded(sealed)] == [[1], [2]]


def test_much_is_sealed_before_the_room_ends_however_many_owners_there_are() -> None:
    limits = replace(LINGER, batch_bytes=1_000, retention_bytes=8_000)
    core = core_with(limits, ["a", "b", "c", "d"])
    assert [core.sealing.fills(1, size) for size in (1_999, 2_000)] == [False, True]
    core = core_with(replace(limits, retention_bytes=1_000), ["a", "b", "c", "d"])
    assert [core.sealing.fills(1, size) for size in (999, 1_000)] == [False, True]


def test_most_items_only_wait() -> None:
    core = core_with(replace(LINGER, batch_items=10))
    row = (b"x", "a", 1, 1, 0)
    assert not core.offer(row, 50)  # the first: somebody has to see to it that it is sealed
    add(core, 0, item())
    assert [core.offer(row, 50) for _ in range(9)] == [True] * 8 + [False]
    core.seal(0.0)
    assert (core.counts.published, core.offer(row, 50)) == (9, False)


def test_when_the_routes_change_it_is_decided_anew_what_only_waits() -> None:
    core = core_with(replace(LINGER, batch_items=3), ["a", "b", "a", "b"])
    assert [len(add(core, 0, item(n))) for n in range(4)] == [0, 0, 0, 0]
    core.handle(map_page(["a"] * SLICES, version=2, term=2), 0.0)
    assert not core.offer((b"x", "a", 1, 1, 0), 50)
    assert core.sealing.fills(1, 50)


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(200, 4_000), st.integers(1, 8))
def test_what_only_waits_has_room_and_fills_no_sample(
    sizes: list[int], retention_bytes: int, batch_items: int
) -> None:
    core = core_with(
        replace(LINGER, retention_bytes=retention_bytes, batch_items=batch_items, batch_bytes=1_024)
    )
    for number, size in enumerate(sizes):
        if core.has_room(size_of(item(number, size))):
            add(core, number % SLICES, item(number, size))  # asserts it of every item
    kept = sum(
        len(sample.encoded) for sample in map(core.retention.sample, range(1, 100)) if sample
    )
    assert core.kept == core.sealing.gathering.size + kept


def test_by_linger_counted_from_the_first_item() -> None:
    core = core_with(LINGER)
    add(core, 1, item(), 1.000)
    add(core, 2, item(), 1.004)
    assert core.sealing.deadline() == 1.005
    assert core.seal_due(1.0049) == []
    assert ranges(core.seal_due(1.005)) == [(1, 1, 1), (2, 1, 1)]
    assert core.sealing.deadline() is None


def test_by_flush_in_the_order_of_slices() -> None:
    core = core_with(LINGER)
    add(core, 3, item())
    add(core, 1, item())
    assert ranges(core.seal(0.0)) == [(1, 1, 1), (3, 1, 1)]
    assert core.seal(0.0) == []


def test_one_sample_goes_to_each_owner() -> None:
    core = core_with(LINGER, ["b", "", "a", "b"])
    add_table(core, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5)])
    sealed = core.seal(0.0)
    assert [one.node for one in sealed] == ["", "a", "b"]
    assert [ids_in([one]) for one in sealed] == [[2], [3], [1, 5, 4]]
    assert [one.sample.serial for one in sealed] == [1, 2, 3]


def test_one_item_alone_goes_to_its_owner() -> None:
    core = core_with(AT_ONCE, ["b", "", "a", "b"])
    assert [add(core, slice_id, item())[0].node for slice_id in range(4)] == ["b", "", "a", "b"]


def test_a_sample_never_spans_epochs() -> None:
    core = core_with(LINGER)
    add(core, 1, item())
    first = core.end_epoch(0.1)
    add(core, 1, item())
    second = core.seal(0.1)
    assert [sample.epoch for sample in decoded(first + second)] == [1, 2]


def test_tables_come_after_what_was_waiting() -> None:
    core = core_with(replace(LINGER, batch_items=4))
    add(core, 1, item(100))
    sealed = add_table(core, [(1, n) for n in range(5)])
    assert ranges(sealed) == [(1, 1, 4), (1, 5, 6)]
    assert ids_in(sealed) == [100, 0, 1, 2, 3, 4]


def test_an_epoch_without_items_does_not_end() -> None:
    sealing = core_with(LINGER).sealing
    assert not sealing.next_epoch()
    sealing.gathering.append((b"", "a", 1, 1, 1), 40)
    assert sealing.has_items
    sealing.seal(0.0)
    assert sealing.next_epoch()
    assert (sealing.epoch, sealing.has_items) == (2, False)


# -- how long items wait ---------------------------------------------------------------------------


def seals_of_a_stream(core: PublisherCore, seconds: float = 2.0) -> list[list[SealedSample]]:
    """What becomes of an item every millisecond, each of the next slice."""
    seals = []
    for tick in range(int(seconds * 1_000)):
        now = tick / 1_000
        if sealed := core.seal_due(now):
            seals.append(sealed)
        assert add(core, tick % SLICES, item(tick), now) == []
    return seals


@pytest.mark.parametrize("owners", [["a"] * 4, ["a", "b", "a", "b"], ["a", "b", "c", "d"]])
def test_a_steady_stream_is_not_cut_into_many_samples(owners: list[str]) -> None:
    seals = seals_of_a_stream(core_with(LINGER, owners))
    samples = sum(map(len, seals))
    count = len(set(owners))
    most = 2 * max(SAMPLES_PER_S, count / LONGEST_PACE_S)
    assert 0.8 * most <= samples <= most + len(owners)


def test_nobody_waits_longer_for_many_owners_than_the_longest_pace() -> None:
    core = PublisherCore("items", 1, 20, replace(LINGER, batch_items=1_000), assign=no_assignment)
    core.handle(map_page([f"node-{n}" for n in range(20)]), 0.0)
    seals = seals_of_a_stream(core)
    assert 0.9 * 2 / LONGEST_PACE_S <= len(seals) <= 2 / LONGEST_PACE_S + 1


def test_after_a_pause_an_item_waits_for_no_more_than_the_linger() -> None:
    core = core_with(LINGER, ["a", "b", "a", "b"])
    add(core, 1, item(), 0.0)
    core.seal(0.005)
    add(core, 1, item(), 0.006)
    assert core.sealing.deadline() == pytest.approx(0.005 + 2 / SAMPLES_PER_S)
    core.seal(0.1)
    add(core, 1, item(), 1.0)
    assert core.sealing.deadline() == 1.005


def test_a_linger_above_the_pace_counts() -> None:
    core = core_with(replace(LINGER, linger_s=1.0), ["a"])
    add(core, 1, item(), 0.0)
    core.seal(0.0)
    add(core, 1, item(), 0.001)
    assert core.sealing.deadline() == 1.001


# -- samples that had no owner ---------------------------------------------------------------------


def test_what_had_no_owner_is_addressed_to_those_that_its_slices_have_now() -> None:
    core = core_with(LINGER)
    for number in range(8):
        add(core, number % 4, item(number))
    [(nobody, sample)] = core.seal(0.0)
    assert nobody == ""
    assert core.sealing.addressed(sample.serial) == [], "nobody owns its slices"
    core.handle(map_page(["a", "b", "", "b"], version=2), 0.0)
    assert core.sealing.addressed(sample.serial) == [], "a part of it is still nobody's"
    core.handle(map_page(["a", "b", "b", "b"], version=3), 0.0)
    parts = {node: ranges([SealedSample(node, one)]) for node, one in core.sealing.addressed(1)}
    assert parts["a"] == [(0, 1, 2)]
    assert parts["b"] == [(0, 1, 2), (1, 1, 2), (2, 1, 2), (3, 1, 2)], "mostly b's: not cut"
    assert core.sealing.addressed(99) == []


# -- whatever comes --------------------------------------------------------------------------------

_nodes = st.sampled_from(["", "a", "b", "c"])
_slices = st.lists(st.integers(0, SLICES - 1), min_size=1, max_size=9)
_steps: st.SearchStrategy[tuple[str, list[Any], int]] = st.one_of(
    st.tuples(st.sampled_from(["items", "table"]), _slices, st.integers(0, 120)),
    st.tuples(st.just("map"), st.lists(_nodes, min_size=SLICES, max_size=SLICES), st.just(0)),
    st.tuples(st.sampled_from(["seal", "epoch"]), st.just([]), st.just(0)),
)
_limits = st.builds(
    replace,
    st.sampled_from([LINGER, AT_ONCE]),
    batch_items=st.integers(1, 6),
    batch_bytes=st.integers(200, 800),
)


class Sealed:
    """What a publisher has sealed, checked against the limits, the owners and the numbers."""

    def __init__(self, limits: Limits) -> None:
        self.owners = [""] * SLICES
        self.ids: list[list[int]] = [[] for _ in range(SLICES)]
        self.samples: list[Sample] = []
        self._limits = limits

    def take(self, sealed: list[SealedSample]) -> None:
        for (node, _), sample in zip(sealed, decoded(sealed), strict=True):
            self.samples.append(sample)
            assert sample.serial == len(self.samples)
            assert sample.count <= self._limits.batch_items
            assert sample.count == 1 or sample.size <= self._limits.batch_bytes
            for batch in sample.batches():
                assert self.owners[batch.slice] == node
                assert batch.first == len(self.ids[batch.slice]) + 1
                self.ids[batch.slice] += batch.ids.tolist()


@given(_limits, st.booleans(), st.lists(_steps, max_size=30))
def test_every_item_is_in_one_sample_in_order_and_goes_to_the_owner(
    limits: Limits, served: bool, steps: list[tuple[str, list[Any], int]]
) -> None:
    core = core_with(limits, served=served)
    sealed = Sealed(limits)
    accepted: list[list[int]] = [[] for _ in range(SLICES)]
    numbers, versions = count(), count(1)
    for what, slices, size in [*steps, ("epoch", [], 0)]:
        placed = [(slice_id, next(numbers)) for slice_id in slices if what != "map"]
        for slice_id, number in placed:
            accepted[slice_id].append(number)
        match what:
            case "items":
                for slice_id, number in placed:
                    sealed.take(add(core, slice_id, item(number, size)))
            case "table":
                sealed.take(add_table(core, placed, size=size))
            case "map":
                sealed.owners = slices
                core.handle(map_page(slices, next(versions)), 0.0)
            case "seal":
                sealed.take(core.seal(0.0))
            case _:
                epoch, ended = core.epoch, core.sealing.has_items
                sealed.take(core.end_epoch(0.0))
                assert core.epoch == epoch + ended
                assert sealed.ids == accepted, "the end of an epoch leaves nothing behind"
                assert core.kept == core.retention.size
    assert core.counts.published == core.retention.items == sum(map(len, accepted))
    epochs = [sample.epoch for sample in sealed.samples]
    assert epochs == sorted(epochs)


@given(
    sizes=st.lists(st.integers(0, 400), min_size=2, max_size=30),
    items=st.integers(1, 10),
    octets=st.integers(200, 1_000),
)
def test_samples_are_as_large_as_they_may_be(sizes: list[int], items: int, octets: int) -> None:
    limits = replace(LINGER, batch_items=items, batch_bytes=octets)
    core = core_with(replace(limits, linger_s=1.0))
    for number, size in enumerate(sizes):
        headers = {} if number % 4 else {"number": b"%d" % number}
        one = Item("", number, 0, bytes(size), headers)
        row = (bytes(size), "", number, 0, number % 3)
        core.add((*row, given_headers(headers)) if headers else row, size_of(one))
    before = core.kept
    samples = decoded(core.seal(0.0))
    assert sum(sample.count for sample in samples) == len(sizes)
    assert core.kept <= before + SAMPLE_BYTES * len(samples)
    for sample, following in pairwise(samples):
        more = size_of(next(iter(following.rows)))
        assert sample.count == items or sample.size + more + SAMPLE_BYTES + RUN_BYTES > octets


@given(
    st.lists(
        st.tuples(
            st.integers(0, SLICES - 1),
            st.builds(
                Item,
                st.sampled_from(["a", "größe", ""]),
                st.integers(-(2**63), 2**63 - 1),
                st.integers(-(2**63), 2**63 - 1),
                st.binary(max_size=9),
                st.just({}) | st.dictionaries(st.sampled_from("ab"), st.binary(max_size=3)),
            ),
        ),
        min_size=1,
    )
)
def test_items_arrive_as_they_were(placed: list[tuple[int, Item]]) -> None:
    core = core_with(LINGER)
    sealed = [one for slice_id, row in placed for one in add(core, slice_id, row)]
    sealed += core.seal(0.0)
    found: list[list[Item]] = [[] for _ in range(SLICES)]
    for sample in decoded(sealed):
        for batch in sample.batches():
            found[batch.slice] += batch
    assert found == [[one for s, one in placed if s == slice_id] for slice_id in range(SLICES)]


# -- more than memory holds ------------------------------------------------------------------------


def test_a_full_disk_ends_the_room_until_memory_has_some_again(tmp_path: Path) -> None:
    size = len(add(core_with(), 1, item(size=1_000))[0].sample.encoded)
    limits = replace(AT_ONCE, retention_bytes=2 * size)
    core = core_with(limits, spill=Spill(tmp_path, 3 * size + 1))
    for number in range(5):
        assert core.has_room(size)
        add(core, 1, item(number, 1_000))
    add(core, 1, item(5, 1_000))
    assert not core.has_room(size)
    core.retention.commit([1], [5])
    add(core, 1, item(6, 1_000))
    assert core.has_room(size)
