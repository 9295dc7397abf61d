"""What a full serving node takes in all the same."""

from __future__ import annotations

import pytest

from evenflow.slices.node.serving.when_full import MOST_RANGES, WhenFull

WRITER = 7


def every(epoch: int) -> int:
    """Every close is remembered."""
    return epoch


def tens(epoch: int) -> int:
    """Every tenth is."""
    return -(-epoch // 10) * 10


@pytest.fixture
def when_full() -> WhenFull:
    return WhenFull()


def test_who_has_nothing_whole_takes_the_next_step(when_full: WhenFull) -> None:
    assert when_full.limit(WRITER, 4, 4, every) == 5


def test_a_step_goes_to_what_can_be_proved(when_full: WhenFull) -> None:
    assert when_full.limit(WRITER, 10, 10, tens) == 20
    when_full.on_refused(WRITER, 33)
    assert when_full.limit(WRITER, 10, 10, tens) == 40


def test_who_has_something_unread_takes_nothing_more(when_full: WhenFull) -> None:
    assert when_full.limit(WRITER, 5, 4, every) == 5


def test_what_was_read_and_is_not_committed_lets_the_next_step_in(when_full: WhenFull) -> None:
    when_full.on_given(WRITER, 4, 5)
    assert when_full.limit(WRITER, 5, 4, every) == 6
    assert when_full.limit(WRITER, 6, 4, every) == 6


def test_a_reader_that_runs_ahead_of_others_lets_nothing_in(when_full: WhenFull) -> None:
    when_full.on_given(WRITER, 5, 9)
    assert when_full.limit(WRITER, 9, 4, every) == 9


def test_it_does_when_the_others_have_committed_what_it_began_at(when_full: WhenFull) -> None:
    when_full.on_given(WRITER, 5, 9)
    assert when_full.limit(WRITER, 9, 6, every) == 10


def test_what_was_refused_comes_in_whoever_else_is_behind(when_full: WhenFull) -> None:
    when_full.on_refused(WRITER, 9)
    assert when_full.limit(WRITER, 5, 2, every) == 9
    assert when_full.limit(WRITER, 9, 2, every) == 9
    assert when_full.limit(WRITER, 9, 9, every) == 10


def test_ranges_are_remembered_up_to_a_bound(when_full: WhenFull) -> None:
    for start in range(1_000):
        when_full.on_given(WRITER, 1_000 + start, 2_000 + start)
    assert len(when_full._given[WRITER]) == MOST_RANGES
    when_full.forget_writer(WRITER)
    assert not when_full._given
