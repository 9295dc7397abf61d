"""Who lives, who is a neighbour, and where an envelope goes next."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenflow.overlay.members.mail import MOST_HOPS, RouteEnd, next_hop
from evenflow.overlay.members.table import MemberTable, newer
from evenflow.overlay.protocol.messages import Envelope, Member
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes


def member(number: int, rng: random.Random) -> Member:
    place = Coordinate(rng.uniform(0.01, 0.99), rng.uniform(0.01, 0.99))
    return Member(f"b{number}", place, "", 1)


def overlay(seed: int, count: int) -> dict[str, MemberTable]:
    rng = random.Random(seed)
    members = [member(number, rng) for number in range(count)]
    tables = {one.name: MemberTable(one) for one in members}
    for table in tables.values():
        table.merge(members)
    return tables


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
def test_links_are_mutual_and_greedy_forwarding_ends_at_the_closest(seed: int, count: int) -> None:
    tables = overlay(seed, count)
    for name, table in tables.items():
        assert all(name in tables[other].neighbours() for other in table.neighbours())
    rng = random.Random(seed)
    living = next(iter(tables.values())).living
    for _ in range(5):
        target = Coordinate(rng.random(), rng.random())
        at = rng.choice(sorted(tables))
        envelope = Envelope(target, "", MOST_HOPS, at, 0, 0, False, b"")
        while (
            hop := next_hop(envelope, tables[at], tables[at].neighbours())
        ) is not RouteEnd.ARRIVED:
            assert isinstance(hop, str)
            envelope, at = replace(envelope, hops=envelope.hops - 1), hop
        assert at == closest_nodes(target, living, 1)[0]


@given(st.integers(0, 10_000), st.integers(2, 30))
def test_a_letter_for_a_broker_reaches_it_from_everywhere(seed: int, count: int) -> None:
    tables = overlay(seed, count)
    goal = random.Random(seed).choice(sorted(tables))
    for start in tables:
        at = start
        envelope = Envelope(tables[goal].me.coordinate, goal, MOST_HOPS, start, 0, 0, False, b"")
        while (
            hop := next_hop(envelope, tables[at], tables[at].neighbours())
        ) is not RouteEnd.ARRIVED:
            assert isinstance(hop, str)
            at = hop
        assert at == goal


def test_a_letter_without_a_way_on_is_lost_and_goes_in_no_circle() -> None:
    tables = overlay(1, 10)
    at, goal = "b1", "b2"
    envelope = Envelope(tables[goal].me.coordinate, goal, MOST_HOPS, at, 0, 0, False, b"")
    assert next_hop(envelope, tables[at], []) is RouteEnd.NO_ROUTE
    neighbours = tables[at].neighbours()
    assert next_hop(replace(envelope, hops=0, node=""), tables[at], neighbours) in (
        RouteEnd.NO_ROUTE,
        *neighbours,
    )


def test_second_closest_is_a_neighbour_of_the_closest() -> None:
    """So a primary and its secondary have a link of their own (section I-A)."""
    tables = overlay(3, 40)
    rng = random.Random(3)
    living = tables["b0"].living
    for _ in range(200):
        first, second = closest_nodes(Coordinate(rng.random(), rng.random()), living, 2)
        assert second in tables[first].neighbours()
