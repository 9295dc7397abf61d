"""Terms of ownership at a publisher: the newest owner shuts the others out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.fencing import Fencing

NEWEST = 2**64 - 1


def admits(fencing: Fencing, slice_id: int, term: int) -> bool:
    return bool(fencing.admit([slice_id], [term])[0])


def test_a_newer_term_shuts_the_older_out() -> None:
    fencing = Fencing(2)
    assert admits(fencing, 0, 5)
    assert admits(fencing, 0, 7)
    assert not admits(fencing, 0, 5)
    assert admits(fencing, 0, 7)


def test_slices_are_fenced_each_alone() -> None:
    fencing = Fencing(3)
    fencing.admit([1, 2], [9, 3])
    assert fencing.admit([2, 1, 0], [4, 8, 0]).tolist() == [True, False, True]
    assert (fencing.term(0), fencing.terms([2, 1])) == (0, (4, 9))


def test_nobody_asks() -> None:
    assert Fencing(2).admit([], []).tolist() == []


def test_terms_use_all_their_bits() -> None:
    fencing = Fencing(1)
    assert admits(fencing, 0, NEWEST)
    assert not admits(fencing, 0, NEWEST - 1)
    assert fencing.terms([0]) == (NEWEST,)


@given(st.lists(st.dictionaries(st.integers(0, 2), st.integers(1, 5) | st.just(NEWEST))))
def test_admits_exactly_what_is_not_older_than_anything_met(met: list[dict[int, int]]) -> None:
    fencing = Fencing(3)
    newest = [0, 0, 0]
    for terms in met:
        expected = [term >= newest[slice_id] for slice_id, term in terms.items()]
        assert fencing.admit(list(terms), list(terms.values())).tolist() == expected
        for slice_id, term in terms.items():
            newest[slice_id] = max(newest[slice_id], term)
        assert fencing.terms(range(3)) == tuple(newest)
