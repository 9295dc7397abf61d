"""Terms only grow, within a balancer and from one to the next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.terms import Terms, balancer_of

WALL = 1_700_000_000.0


def test_terms_of_one_balancer_grow_and_name_it() -> None:
    terms = Terms(WALL)
    given_out = [terms.new() for _ in range(100)]
    assert given_out == sorted(set(given_out))
    assert {balancer_of(term) for term in given_out} == {balancer_of(terms.first)}
    assert terms.first < given_out[0]


def test_a_balancer_started_a_millisecond_later_is_ahead() -> None:
    earlier, later = Terms(WALL), Terms(WALL + 0.001)
    last = [earlier.new() for _ in range(1_000)][-1]
    assert last < later.first < later.new()


def test_more_terms_than_bits_do_not_clash() -> None:
    terms = Terms(WALL)
    terms._given = (1 << 20) - 2
    given_out = [terms.new() for _ in range(5)]
    assert given_out == sorted(set(given_out))


@given(clock=st.floats(0, 2 * WALL), met=st.lists(st.integers(0, 1 << 62), max_size=10))
def test_a_balancer_is_ahead_of_everything_it_met_whatever_its_clock_says(
    clock: float, met: list[int]
) -> None:
    terms = Terms(clock)
    last = terms.new()
    for term in met:
        terms.learn(term)
        newest = terms.new()
        assert newest > max(last, term)
        assert newest > terms.first
        last = newest


def test_its_own_terms_teach_a_balancer_nothing() -> None:
    terms = Terms(WALL)
    own = terms.new()
    first = terms.first
    terms.learn(own)
    assert terms.first == first
