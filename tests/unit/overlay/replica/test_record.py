from __future__ import annotations

from msgspec.structs import replace
from tests.unit.overlay.hosts import FakeHost, record

from evenflow.overlay.protocol.messages import TermStart
from evenflow.overlay.replica.record import MOST_TERMS, divergence


def test_a_copy_may_be_wrong_from_the_first_term_it_missed() -> None:
    terms = (TermStart(3, 10), TermStart(5, 20), TermStart(8, 30))
    assert [divergence(terms, term) for term in (0, 3, 4, 5, 8, 9)] == [10, 20, 20, 30, 30, 30]


def test_old_terms_become_one_that_is_wrong_for_nobody() -> None:
    found = record(FakeHost(), terms=(TermStart(1, 5),))
    for term in range(2, 2 * MOST_TERMS):
        found = replace(found, terms=found.with_term(term, 10 * term))
    assert len(found.terms) == MOST_TERMS
    assert divergence(found.terms, 1) == 5  # all since the first term began
    newest = found.terms[-2].term
    assert divergence(found.terms, newest) == found.terms[-1].start
