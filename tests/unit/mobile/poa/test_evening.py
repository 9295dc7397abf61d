"""Gateways become even, by as few moves as can be, and stay so: nobody goes to and fro."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.poa.evening import Evening, Post, moves, uneven

NOW = 1_000.0
EXACT = Evening(least_gain=0.0)


def post(name: str, count: int, *, most: int = 10_000, since: float = 0.0, **more: object) -> Post:
    nodes = {f"{name}-{number}": since for number in range(count)}
    return Post(name, nodes, most, **more)  # type: ignore[arg-type]


def after(posts: list[Post], now: float, evening: Evening = EXACT) -> tuple[list[Post], int]:
    """The gateways when the moves are done, and how many there were."""
    held = {one.name: dict(one.nodes) for one in posts}
    total = 0
    for move in moves(posts, evening, now):
        for node in move.nodes:
            del held[move.giver][node]
            held[move.taker][node] = now
            total += 1
    return [replace(one, nodes=held[one.name]) for one in posts], total


def counts(posts: list[Post]) -> list[int]:
    return [len(one.nodes) for one in posts]


SIZES = st.lists(st.integers(0, 60), min_size=1, max_size=8)


@given(SIZES)
def test_even_within_one_by_as_few_moves_as_can_be(sizes: list[int]) -> None:
    posts = [post(f"g{number}", size) for number, size in enumerate(sizes)]
    ended, moved = after(posts, NOW)
    total, share = sum(sizes), sum(sizes) // len(sizes)
    assert sum(counts(ended)) == total
    assert max(counts(ended)) - min(counts(ended)) <= 1
    # Who has more than the share must give down to it, or to one above for the remainder.
    above = sorted((size for size in sizes if size > share), reverse=True)
    remainder = total - share * len(sizes)
    least = sum(size - share for size in above) - min(remainder, len(above))
    assert moved == least


@given(SIZES)
def test_nobody_both_gives_and_takes(sizes: list[int]) -> None:
    posts = [post(f"g{number}", size) for number, size in enumerate(sizes)]
    planned = moves(posts, EXACT, NOW)
    assert not {move.giver for move in planned} & {move.taker for move in planned}
    named = [node for move in planned for node in move.nodes]
    assert len(named) == len(set(named)), "a node goes once"
    assert all(set(move.nodes) <= set(posts[int(move.giver[1:])].nodes) for move in planned)


@given(SIZES, st.lists(st.integers(0, 60), min_size=8, max_size=8), st.data())
def test_limits_and_drains_hold(sizes: list[int], most: list[int], data: st.DataObject) -> None:
    draining = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    posts = [
        post(f"g{number}", size, most=max(size, limit), draining=number in draining)
        for number, (size, limit) in enumerate(zip(sizes, most, strict=False))
    ]
    ended, _ = after(posts, NOW)
    staying = [one for one in ended if not one.draining]
    assert all(len(one.nodes) <= one.most_nodes for one in staying)
    room = sum(one.most_nodes - len(one.nodes) for one in staying)
    left = sum(len(one.nodes) for one in ended if one.draining)
    assert not (room and left), "it drains as long as there is room"
    for one, before in zip(ended, posts, strict=True):
        if one.draining:
            assert set(one.nodes) <= set(before.nodes), "it takes nothing"
    open_ones = [one for one in staying if len(one.nodes) < one.most_nodes]
    if open_ones and staying:
        highest = max(len(one.nodes) for one in staying)
        assert highest - min(len(one.nodes) for one in open_ones) <= 1


@given(SIZES, st.integers(2, 6))
def test_what_is_even_stays_even(sizes: list[int], looks: int) -> None:
    """Converges at once, and then nothing moves any more, however often it is looked at."""
    posts = [post(f"g{number}", size) for number, size in enumerate(sizes)]
    posts, _ = after(posts, NOW)
    for look in range(looks):
        posts, moved = after(posts, NOW + 100.0 * (look + 1))
        assert moved == 0


@given(SIZES, st.integers(0, 60))
def test_a_new_gateway_gets_its_share_and_the_others_exchange_nothing(
    sizes: list[int], seed: int
) -> None:
    posts, _ = after([post(f"g{number}", size) for number, size in enumerate(sizes)], NOW)
    joined = [*posts, post("new", 0)]
    planned = moves(joined, EXACT, NOW + 100)
    assert {move.taker for move in planned} <= {"new"}
    ended, moved = after(joined, NOW + 100)
    assert moved == len(ended[-1].nodes) == sum(sizes) // len(ended)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-15, 15)), max_size=30),
    st.lists(st.integers(0, 60), min_size=2, max_size=6),
)
def test_no_flutter_under_small_changes(changes: list[tuple[int, int]], sizes: list[int]) -> None:
    """However counts change, a node that has moved stays for the time of rest."""
    evening = Evening(least_gain=0.1, rest_s=30.0)
    posts = [post(f"g{number}", size) for number, size in enumerate(sizes)]
    now, arrived, fresh = NOW, {}, 0
    for place, change in changes:
        now += 5.0
        held = dict(posts[place % len(posts)].nodes)
        for _ in range(change):
            fresh += 1
            held[f"n{fresh}"] = now
        for node in list(held)[: max(0, -change)]:
            del held[node]
        posts[place % len(posts)] = replace(posts[place % len(posts)], nodes=held)
        for move in moves(posts, evening, now):
            for node in move.nodes:
                assert now - arrived.get(node, -1e9) >= evening.rest_s
                arrived[node] = now
        posts, _ = after(posts, now, evening)


def test_a_small_difference_is_not_worth_a_move() -> None:
    evening = Evening(least_gain=0.1)
    assert not uneven([post("a", 105), post("b", 100)], evening)
    assert uneven([post("a", 120), post("b", 100)], evening)
    assert not uneven([post("a", 1), post("b", 0)], evening), "one node cannot be even"


def test_who_has_been_there_longest_goes_first() -> None:
    nodes = {"old": 0.0, "older": -50.0, "new": NOW - 31, "newest": NOW - 1}
    planned = moves([Post("a", nodes, 99), post("b", 0)], EXACT, NOW)
    assert [(move.giver, move.taker, move.nodes) for move in planned] == [
        ("a", "b", ("older", "old"))
    ]


def test_a_drain_does_not_wait_for_rest() -> None:
    posts = [post("a", 3, since=NOW, draining=True), post("b", 0)]
    assert [len(move.nodes) for move in moves(posts, EXACT, NOW)] == [3]


def test_by_what_was_measured() -> None:
    """Ten nodes that send much against ten that send little: numbers end uneven, loads even."""
    posts = [post("a", 10, load=900.0), post("b", 10, load=100.0)]
    planned = moves(posts, EXACT, NOW)
    assert [(move.giver, move.taker, len(move.nodes)) for move in planned] == [("a", "b", 4)]


@pytest.mark.parametrize("count", [600, 10_000])
def test_half_of_one_gateway_goes_to_a_second(count: int) -> None:
    planned = moves([post("a", count), post("b", 0)], Evening(), NOW)
    assert sum(len(move.nodes) for move in planned) == count // 2


def test_nothing_to_do() -> None:
    assert moves([], EXACT, NOW) == []
    assert moves([post("a", 10)], EXACT, NOW) == []
    assert moves([post("a", 10, draining=True)], EXACT, NOW) == []
    assert moves([post("a", 10), post("b", 0, most=0)], EXACT, NOW) == []
