"""Terms of ownership at a publisher: the newest owner shuts the others out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.fencing import Fencing


def test_a_newer_term_shuts_the_older_out() -> None:
    fencing = Fencing(2)
    assert fencing.admit(0, 5)
    assert fencing.admit(0, 7)
    assert not fencing.admit(0, 5)
    assert fencing.admit(0, 7)


def test_slices_are_fenced_each_alone() -> None:
    fencing = Fencing(3)
    fencing.admit(1, 9)
    assert fencing.admit(2, 1)
    assert (fencing.term(0), fencing.terms([2, 1])) == (0, (1, 9))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5))))
def test_admits_exactly_what_is_not_older_than_anything_met(met: list[tuple[int, int]]) -> None:
    fencing = Fencing(3)
    for index, (slice_id, term) in enumerate(met):
        newest = max((t for s, t in met[:index] if s == slice_id), default=0)
        assert fencing.admit(slice_id, term) == (term >= newest)
        assert fencing.term(slice_id) == max(newest, term)
