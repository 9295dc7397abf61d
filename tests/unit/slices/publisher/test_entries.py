"""The entries of messages: what makes no sense is left out, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import Commit, ReplayRequest
from evenflow.slices.publisher.entries import Entries, entries_of, is_even

from .items import SLICES, WRITER

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
MOST = 2**63 - 1


def commit(*entries: tuple[int, int, int]) -> Commit:
    slices, terms, upto = zip(*entries, strict=True) if entries else ((), (), ())
    return Commit("items", WRITER, "a", "", slices, terms, upto)


def plain(entries: Entries) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in entries[:3]), strict=True))


def test_a_message_may_be_empty() -> None:
    assert is_even(commit())
    assert plain(entries_of(commit(), SLICES)) == []


@pytest.mark.parametrize("missing", ["slices", "terms", "have"])
def test_columns_of_unequal_length_are_noticed(missing: str) -> None:
    whole = ReplayRequest("items", WRITER, "a", 1, (1, 2), (1, 2), (1, 2))
    shorter: dict[str, Any] = {missing: (1,)}
    assert is_even(whole)
    assert not is_even(replace(whole, **shorter))


def test_of_a_slice_that_is_named_twice_the_first_counts() -> None:
    message = commit((2, 5, 7), (1, 4, 3), (2, 9, 9), (1, 4, 3))
    assert plain(entries_of(message, SLICES)) == [(2, 5, 7), (1, 4, 3)]


@given(st.lists(st.tuples(st.integers(0, SLICES + 1) | U32, U64, U64)))
def test_slices_that_exist_are_kept_once_and_numbers_stay_possible(
    given: list[tuple[int, int, int]],
) -> None:
    expected: dict[int, tuple[int, int, int]] = {}
    for slice_id, term, number in given:
        if slice_id < SLICES:
            expected.setdefault(slice_id, (slice_id, term, min(number, MOST)))
    assert plain(entries_of(commit(*given), SLICES)) == list(expected.values())
    slices, terms, have = zip(*given, strict=True) if given else ((), (), ())
    request = ReplayRequest("items", WRITER, "a", 1, slices, terms, have)
    assert plain(entries_of(request, SLICES)) == list(expected.values())
