"""Who lives, and who is a neighbour."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenflow.overlay.members.table import MemberTable, newer
from evenflow.overlay.protocol.messages import Member
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes

from .tables import overlay


@pytest.mark.parametrize(
    ("incarnation", "alive", "expected"),
    [(1, True, False), (2, True, False), (2, False, True), (3, True, True), (3, False, True),
     (1, False, False)],
)  # fmt: skip
def test_which_news_counts(incarnation: int, alive: bool, expected: bool) -> None:
    known = Member("b1", Coordinate(0.5, 0.5), "", 2)
    news = replace(known, incarnation=incarnation, alive=alive)
    assert newer(news, known) is expected
    assert newer(news, None)
    dead = replace(known, alive=False)
    assert newer(replace(dead, alive=True), dead) is False


def test_of_two_disks_under_one_incarnation_all_see_the_same() -> None:
    one = Member("b1", Coordinate(0.5, 0.5), "", 2, disk=3)
    other = replace(one, disk=4, alive=False)
    assert newer(other, one)
    assert not newer(one, other)
    tables = [MemberTable(Member("me", Coordinate(0.5, 0.5), "", 1)) for _ in range(2)]
    for table, member in zip(tables, (one, replace(one, disk=4)), strict=True):
        table.merge([member])
    assert tables[0].digest() != tables[1].digest()


@given(st.permutations(range(6)), st.randoms(use_true_random=False))
def test_news_in_any_order_leads_to_the_same_table(order: list[int], rng: random.Random) -> None:
    place = Coordinate(0.3, 0.3)
    news = [Member("b1", place, "", number // 2 + 1, alive=number % 2 == 0) for number in range(6)]
    one, other = (MemberTable(Member("me", Coordinate(0.5, 0.5), "", 1)) for _ in range(2))
    one.merge(news)
    for number in order:
        other.merge([news[number]])
    assert one.digest() == other.digest()
    assert not one.alive("b1")
    assert one.merge(news) == []


def test_a_place_outside_the_square_is_no_news() -> None:
    table = MemberTable(Member("me", Coordinate(0.5, 0.5), "", 1))
    assert table.merge([Member("b1", Coordinate(0.0, 0.5), "", 1)]) == []
    assert table.get("b1") is None


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_links_are_mutual(seed: int, count: int) -> None:
    tables = overlay(seed, count)
    for name, table in tables.items():
        assert all(name in tables[other].neighbours() for other in table.neighbours())


def test_second_closest_is_a_neighbour_of_the_closest() -> None:
    """So a primary and its secondary have a link of their own (section I-A)."""
    tables = overlay(3, 40)
    rng = random.Random(3)
    living = tables["b0"].living
    for _ in range(200):
        first, second = closest_nodes(Coordinate(rng.random(), rng.random()), living, 2)
        assert second in tables[first].neighbours()
