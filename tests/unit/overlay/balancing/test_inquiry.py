"""An inquiry takes each answer once, never one to another question, and always ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.overlay.balancing.inquiry import Inquiry
from evenflow.overlay.protocol.messages import Place, PlaceLoad
from evenflow.overlay.space.coordinate import Coordinate


def place(maximum: int, minimum: int = 0, spare: int = 0) -> Place:
    return Place(Coordinate(0.5, 0.5), ("b1",), PlaceLoad(maximum, minimum, spare))


def test_an_answer_counts_once_and_only_to_an_open_query() -> None:
    inquiry = Inquiry(10.0, None)
    inquiry.ask(7)
    inquiry.ask(8)
    assert not inquiry.answer(6, place(1))  # to a question of earlier
    assert inquiry.answer(7, place(5))
    assert not inquiry.answer(7, place(1))  # comes twice
    assert inquiry.best == place(5)
    assert not inquiry.is_over(9.9)
    assert inquiry.answer(8, None)  # nothing is known there
    assert inquiry.complete
    assert inquiry.is_over(0.0)


def test_what_is_missing_at_the_deadline_is_done_without() -> None:
    inquiry = Inquiry(10.0, place(9))
    inquiry.ask(1)
    assert inquiry.is_over(10.0)
    assert not inquiry.complete
    assert inquiry.best == place(9)


def test_the_best_is_chosen_by_the_papers_three_criteria_and_the_first_of_equals() -> None:
    inquiry = Inquiry(10.0, place(9, 5, 0))
    for found in (place(9, 6, 9), place(9, 5, 0), place(9, 4, 1), place(9, 4, 0)):
        inquiry.consider(found)
    assert inquiry.best == place(9, 4, 1)
    first = Inquiry(10.0, place(3))
    other = Place(Coordinate(0.1, 0.1), ("b2",), PlaceLoad(3, 0, 0))
    first.consider(other)
    assert first.best == place(3)


@given(st.sets(st.integers(1, 30)), st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9))))
def test_whatever_answers_come_the_best_of_the_first_to_each_query_stands(
    asked: set[int], answers: list[tuple[int, int]]
) -> None:
    inquiry = Inquiry(10.0, None)
    for number in asked:
        inquiry.ask(number)
    taken: dict[int, int] = {}
    for number, maximum in answers:
        assert inquiry.answer(number, place(maximum)) == (number in asked and number not in taken)
        if number in asked:
            taken.setdefault(number, maximum)
    assert inquiry.complete == (set(taken) == asked)
    lowest = min(taken.values(), default=None)
    assert (inquiry.best and inquiry.best.loads.maximum) == lowest
