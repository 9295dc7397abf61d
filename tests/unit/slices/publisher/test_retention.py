"""Retention against a plain dict of all numbers ever kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher import retention as module
from evenflow.slices.publisher.retention import LOOK, Lacking, Newly, Retained, Retention

from .items import SLICES, retained


def found(lacking: list[Lacking]) -> list[tuple[int, list[bool]]]:
    return [(one.retained.serial, one.wanted.tolist()) for one in lacking]


def plain(newly: Newly) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in newly), strict=True))


def test_numbers_run_on_over_samples() -> None:
    retention = Retention(SLICES)
    retention.keep(retained(1, {0: (1, 2), 1: (1, 1)}))
    retention.keep(retained(2, {1: (2, 4)}))
    assert retention.newest.tolist() == [2, 4, 0, 0]
    assert (retention.items, retention.size, retention.dirty()) == (6, 6, [0, 1])
    assert retention.uncommitted([1, 2]) == 4
    assert [retention.has(serial) for serial in (1, 2, 3)] == [True, True, False]


def test_a_commit_inside_a_sample_moves_the_floor_and_keeps_the_sample() -> None:
    retention = Retention(SLICES)
    retention.keep(retained(1, {0: (1, 4), 2: (1, 1)}))
    assert plain(retention.commit([0], [3])) == [(0, 1, 3)]
    assert (retention.floors.tolist(), retention.items, retention.size) == ([3, 0, 0, 0], 2, 5)
    assert found(retention.lacking([0, 2], [3, 0])) == [(1, [True, True])]
    assert plain(retention.commit([2, 0], [1, 4])) == [(2, 1, 1), (0, 4, 4)]
    assert (retention.items, retention.size, retention.dirty()) == (0, 0, [])
    assert not retention.has(1)


def test_a_commit_of_what_was_never_published_is_refused_whole() -> None:
    retention = Retention(SLICES)
    retention.keep(retained(1, {0: (1, 4), 1: (1, 1)}))
    with pytest.raises(ValueError, match="never published"):
        retention.commit([1, 0], [1, 5])
    assert retention.floors.tolist() == [0] * SLICES


def test_whoever_lacks_nothing_gets_nothing() -> None:
    retention = Retention(SLICES)
    assert retention.lacking([], []) == retention.lacking([0], [0]) == []
    retention.keep(retained(1, {0: (1, 4)}))
    assert retention.lacking([0, 1], [4, 0]) == []
    assert retention.lacking([0], [np.iinfo(np.int64).max]) == []


def test_a_large_number_of_one_slice_does_not_hide_what_is_lacking_of_another() -> None:
    retention = Retention(SLICES)
    retention.keep(retained(1, {0: (1, 4), 1: (1, 1)}))
    assert found(retention.lacking([0, 1], [9, 0])) == [(1, [False, True])]


def test_there_is_room_for_the_oldest_and_for_one_sample_at_least() -> None:
    retention = Retention(SLICES)
    for serial in range(1, 6):
        retention.keep(retained(serial, {0: (serial, serial), 1: (serial, serial)}))
    everything = [(serial, [True, True]) for serial in range(1, 6)]
    assert found(retention.lacking([0, 1], [0, 0])) == everything
    assert found(retention.lacking([0, 1], [0, 0], room=4)) == everything[:2]
    assert found(retention.lacking([0, 1], [0, 0], room=1)) == everything[:1]
    assert found(retention.lacking([0, 1], [0, 0], room=0)) == []
    # Of half of each sample twice as many fit.
    half = [(serial, [True, False]) for serial in range(1, 6)]
    assert found(retention.lacking([0], [0], room=4)) == half[:4]


def test_nothing_of_a_later_epoch_is_given_than_was_asked_for() -> None:
    retention = Retention(SLICES)
    for serial in range(1, 6):
        retention.keep(retained(serial, {0: (serial, serial)}, epoch=serial // 2))
    assert [serial for serial, _ in found(retention.lacking([0], [1], epoch=1))] == [2, 3]
    assert retention.lacking([0], [3], epoch=1) == []


def test_an_old_sample_is_forgotten_with_any_commit() -> None:
    retention = Retention(SLICES)
    for serial in range(1, LOOK + 101):
        retention.keep(retained(serial, {0: (serial, serial)}))
    retention.commit([0], [1])
    assert not retention.has(1)


def test_samples_are_forgotten_when_enough_was_committed_to_look_for_them() -> None:
    retention = Retention(SLICES)
    retention.keep(retained(1, {0: (1, 1)}))
    for number in range(1, 801):
        retention.keep(retained(number + 1, {1: (number, number)}))
    kept = []
    for number in range(1, 801):
        retention.commit([1], [number])
        kept.append(retention.size)
    uncommitted = [1 + 800 - number for number in range(1, 801)]
    assert max(have - must for have, must in zip(kept, uncommitted, strict=True)) <= 801 // 8
    retention.commit([0], [1])
    assert (retention.size, retention.items) == (0, 0)


_runs = st.dictionaries(st.integers(0, SLICES - 1), st.integers(1, 5), min_size=1)
_numbers = st.dictionaries(st.integers(0, SLICES - 1), st.integers(0, 30))
_steps = st.one_of(
    st.tuples(st.just("keep"), _runs),
    st.tuples(st.just("keep"), _runs),
    st.tuples(st.just("commit"), _numbers),
    st.tuples(st.just("lacking"), _numbers),
    st.tuples(st.sampled_from(["epoch", "commit_epoch"]), st.just({0: 1})),
)


class Model:
    """All samples ever kept, and what is committed of them."""

    def __init__(self) -> None:
        self.samples: list[Retained] = []
        self.floors = [0] * SLICES
        self.newest = [0] * SLICES

    def runs(self, sample: Retained) -> list[tuple[int, int, int]]:
        columns = (sample.slices, sample.firsts, sample.lasts)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def commit(self, upto: dict[int, int]) -> list[tuple[int, int, int]]:
        further = {s: number for s, number in upto.items() if number > self.floors[s]}
        newly = [(s, self.floors[s] + 1, number) for s, number in further.items()]
        for slice_id, number in further.items():
            self.floors[slice_id] = number
        return newly

    def commit_epoch(self, epoch: int) -> list[tuple[int, int, int]]:
        upto: dict[int, int] = {}
        for sample in self.samples:
            if sample.epoch <= epoch:
                upto |= {slice_id: last for slice_id, _, last in self.runs(sample)}
        return self.commit(dict(sorted(upto.items())))

    def lacking(self, have: dict[int, int]) -> list[tuple[int, list[bool]]]:
        masks = {
            sample.serial: [
                s in have and last > max(have[s], self.floors[s])
                for s, _, last in self.runs(sample)
            ]
            for sample in self.samples
        }
        return [(serial, mask) for serial, mask in masks.items() if any(mask)]

    def uncommitted(self) -> list[Retained]:
        """The samples that must be kept."""
        return [
            sample
            for sample in self.samples
            if any(last > self.floors[s] for s, _, last in self.runs(sample))
        ]


@given(st.lists(_steps, max_size=80))
def test_keeps_exactly_what_is_uncommitted(steps: list[tuple[str, dict[int, int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOOK", 2)
        patch.setattr(module, "SHARE", 3)
        _check_against_model(steps)


def _check_against_model(steps: list[tuple[str, dict[int, int]]]) -> None:
    retention, model, epoch = Retention(SLICES), Model(), 1
    for what, numbers in steps:
        possible = {s: min(number, model.newest[s]) for s, number in numbers.items()}
        match what:
            case "keep":
                runs = {s: (model.newest[s] + 1, model.newest[s] + n) for s, n in numbers.items()}
                model.samples.append(retained(len(model.samples) + 1, runs, epoch))
                retention.keep(model.samples[-1])
                for slice_id, (_, last) in runs.items():
                    model.newest[slice_id] = last
            case "commit":
                newly = retention.commit(list(possible), list(possible.values()))
                assert plain(newly) == model.commit(possible)
                assert newly.items == sum(last - first + 1 for _, first, last in plain(newly))
            case "lacking":
                wanted = retention.lacking(list(numbers), list(numbers.values()))
                assert found(wanted) == model.lacking(numbers)
            case "epoch":
                epoch += 1
            case _:
                newly = retention.commit_epoch(epoch - 1)
                assert plain(newly) == model.commit_epoch(epoch - 1)
        _check(retention, model)
    everything = list(enumerate(model.newest))
    retention.commit([s for s, _ in everything], [number for _, number in everything])
    assert (retention.items, retention.size, retention.dirty()) == (0, 0, [])
    assert not any(retention.has(sample.serial) for sample in model.samples)


def _check(retention: Retention, model: Model) -> None:
    assert retention.floors.tolist() == model.floors
    assert retention.newest.tolist() == model.newest
    assert retention.items == sum(model.newest) - sum(model.floors)
    must = model.uncommitted()
    kept = [sample for sample in model.samples if retention.has(sample.serial)]
    assert retention.size == sum(len(sample.encoded) for sample in kept)
    assert {sample.serial for sample in must} <= {sample.serial for sample in kept}
    assert (len(kept) - len(must)) * module.SHARE <= len(kept) + module.LOOK
    if not must:
        assert not kept
