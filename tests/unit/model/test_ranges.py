"""Numbers in few words, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ranges import numbers_in, ranges


def test_runs_are_joined() -> None:
    assert ranges([12, 0, 1, 2, 7, 11]) == "0-2, 7, 11-12"
    assert ranges([]) == ""


@given(st.frozensets(st.integers(0, 300)))
def test_what_was_written_can_be_read(numbers: frozenset[int]) -> None:
    assert numbers_in(ranges(numbers)) == numbers
