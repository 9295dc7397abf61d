"""Routes: the order of slices by owner, and whose word counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.sending.routing import Routing

from .items import SLICES, map_page


def owners(routing: Routing) -> list[str]:
    return [routing.node(number) for number in routing.map.owner_index.tolist()]


def routes(given: list[str]) -> Routing:
    routing = Routing("items", len(given))
    routing.apply(map_page(given))
    return routing


def test_nobody_owns_anything_before_the_map_comes() -> None:
    routing = Routing("items", SLICES)
    assert owners(routing) == [""] * SLICES
    assert routing.order.owner_count == 1


def test_a_page_of_another_topic_changes_nothing() -> None:
    routing = Routing("items", SLICES)
    assert not routing.apply(map_page(["a"] * SLICES, topic="other"))
    assert owners(routing) == [""] * SLICES


def test_says_whether_a_route_has_changed() -> None:
    routing = Routing("items", SLICES)
    assert routing.apply(map_page(["a", "b", "a", "b"], version=1))
    assert not routing.apply(map_page(["a", "b", "a", "b"], version=2))
    assert not routing.learn(np.array([0]), np.array([9], np.uint64), "a")
    assert routing.learn(np.array([0]), np.array([10], np.uint64), "b")


def test_what_a_node_proves_stands_until_the_map_has_caught_up() -> None:
    routing = routes(["a"] * SLICES)
    routing.learn(np.array([1, 3]), np.array([7, 7], np.uint64), "b")
    assert owners(routing) == ["a", "b", "a", "b"]
    routing.apply(map_page(["a", "a", "a", "c"], version=2, terms=(1, 6, 1, 8)))
    assert owners(routing) == ["a", "b", "a", "c"]
    routing.apply(map_page(["a", "c", "a", "c"], version=1, term=99))
    assert owners(routing) == ["a", "b", "a", "c"]


@pytest.mark.parametrize("term", [0, 1])
def test_an_older_or_the_same_term_proves_nothing(term: int) -> None:
    routing = routes(["a"] * SLICES)
    assert not routing.learn(np.array([1]), np.array([term], np.uint64), "b")
    assert owners(routing) == ["a"] * SLICES


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=300))
def test_slices_of_one_owner_are_together_in_their_order(given: list[str]) -> None:
    routing = Routing("items", len(given))
    for page in range(0, len(given), 256):
        part = map_page(given[page : page + 256], page=page // 256, slice_count=len(given))
        routing.apply(part)
    order = routing.order
    assert order.rank[order.slices].tolist() == list(range(len(given)))
    placed = [routing.node(number) for number in order.owners.tolist()]
    assert placed == [given[slice_id] for slice_id in order.slices.tolist()]
    runs = [
        owner for owner, before in zip(placed, [None, *placed], strict=False) if owner != before
    ]
    assert len(runs) == len(set(given))
    for owner in set(given):
        mine = order.slices[np.array(placed) == owner]
        assert mine.tolist() == sorted(mine.tolist())
    assert order.owner_count == max(1, len({*given} - {""}))


def test_more_slices_than_16_bits_can_count() -> None:
    count = (1 << 16) + 1
    routing = Routing("items", count)
    routing.learn(np.array([0]), np.array([1], np.uint64), "a")
    assert (routing.order.slices[-1], routing.order.rank[0]) == (0, count - 1)
