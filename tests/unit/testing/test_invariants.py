"""The checker of the simulated cluster finds what must never happen."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow.model.batch import Batch, Item
from evenflow.model.messages import Commit, SliceState
from evenflow.model.sample import Sample
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.slices.publisher.core import Committed
from evenflow.slices.publisher.retention import Newly
from evenflow.testing.invariants import InvariantChecker, Violation
from evenflow.testing.samples import encode_items

WRITER = 7


def batch(first: int, count: int = 1) -> Batch:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Sample(encode_items(WRITER, 1, 1, {0: (first, items)})).batches()[0]


def owner(term: int = 1, state: SliceState = SliceState.AVAILABLE) -> HeldSlice:
    return HeldSlice(0, state, term)


def commit(checker: InvariantChecker, first: int, last: int, term: int = 1) -> None:
    """A commit of node ``a`` that reaches the publisher and is accepted."""
    message = Commit("items", WRITER, "a", "", (0,), (term,), (last,))
    checker.admit(message, [True])
    newly = Newly(*(np.array([number]) for number in (0, first, last)))
    checker.commit(message, Committed(newly, "a"))


def test_an_item_is_processed_and_committed_once() -> None:
    checker = InvariantChecker()
    checker.published = 2
    checker.begin("a", owner(), batch(1, 2))
    checker.finish(batch(1, 2))
    commit(checker, 1, 2)
    assert (checker.lacking, checker.repeated) == (0, 0)


def test_items_are_begun_in_order() -> None:
    with pytest.raises(Violation, match="before its predecessor"):
        InvariantChecker().begin("a", owner(), batch(2))


def test_an_item_is_not_processed_twice() -> None:
    checker = InvariantChecker()
    checker.begin("a", owner(), batch(1))
    with pytest.raises(Violation, match="more often than allowed"):
        checker.begin("b", owner(2), batch(1))


def test_the_next_owner_of_a_dead_node_may_repeat_what_was_not_committed() -> None:
    checker = InvariantChecker()
    checker.begin("a", owner(), batch(1, 2))
    checker.finish(batch(1, 2))
    commit(checker, 1, 1)
    held = {0: owner()}
    checker.lose_owner(held, [held])
    checker.begin("b", owner(2), batch(2))
    with pytest.raises(Violation, match="a committed it"):
        checker.begin("b", owner(2), batch(1))


def test_the_death_of_a_node_that_owned_nothing_allows_nothing() -> None:
    checker = InvariantChecker()
    checker.begin("a", owner(2), batch(1))
    former, taking = {0: owner(1)}, {0: owner(3, SliceState.TAKING)}
    for held in (former, taking):
        checker.lose_owner(held, [former, taking, {0: owner(2)}])
    with pytest.raises(Violation, match="more often than allowed"):
        checker.begin("b", owner(3), batch(1))


def test_what_a_stale_owner_does_counts_for_nothing() -> None:
    checker = InvariantChecker()
    stale = owner()
    checker.distrust(stale)
    checker.begin("a", stale, batch(1))
    checker.begin("b", owner(2), batch(1))
    assert checker.repeated == 1


def test_only_what_is_finished_is_committed_and_only_once() -> None:
    checker = InvariantChecker()
    checker.begin("a", owner(), batch(1))
    with pytest.raises(Violation, match="never finished"):
        commit(checker, 1, 1)
    checker.finish(batch(1))
    commit(checker, 1, 1)
    with pytest.raises(Violation, match="committed twice"):
        commit(checker, 1, 1)


def test_no_commit_of_an_older_term_is_accepted() -> None:
    checker = InvariantChecker()
    checker.admit(Commit("items", WRITER, "b", "", (0,), (2,), (0,)), [True])
    with pytest.raises(Violation, match="old term 1"):
        commit(checker, 1, 1, term=1)


def test_a_slice_has_one_owner_a_term() -> None:
    checker = InvariantChecker()
    assert checker.own("a", 0, 1)
    assert not checker.own("a", 0, 1)
    assert checker.own("b", 0, 2)
    with pytest.raises(Violation, match="owners a and b in term 1"):
        checker.own("b", 0, 1)
