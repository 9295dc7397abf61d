from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DelegationError
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList, Delegation, Tenure

HOME, *ELSEWHERE = [Coordinate(0.1 * n, 0.2) for n in range(5)]
A, B = ELSEWHERE[:2]
END = 80


def tell(history: DelegateList, expected: list[Coordinate]) -> None:
    """Check a list against the coordinate expected at each time."""
    assert [history.responsible(time) for time in range(END)] == expected
    assert history.home == HOME
    tenures = history.tenures()
    assert tenures[0].start == 0
    assert tenures[-1].end is None
    for before, after in pairwise(tenures):
        assert before.end == after.start
        assert before.start < after.start


ACTS = st.tuples(
    st.sampled_from(["delegate", "retire", "forget", "fail"]),
    st.integers(0, 4),  # time until the act
    st.sampled_from(ELSEWHERE),
    st.sampled_from([HOME, *ELSEWHERE]),
    st.integers(0, 9),
)


@given(st.lists(ACTS, max_size=12))
def test_every_time_has_exactly_one_responsible_coordinate(
    acts: list[tuple[str, int, Coordinate, Coordinate, int]],
) -> None:
    """Random delegations, retirements, expiries and failures against a table of every time."""
    history, now = DelegateList.at_home(HOME), 1
    expected = [HOME] * END
    for act, wait, to, absent, number in acts:
        now += wait
        past = history.entries[1:-1]
        if act == "delegate":
            history = history.delegate(to, now)
            expected[now:] = [to] * (END - now)
        elif act == "retire" and history.current != HOME:
            history = history.retire(history.current, now)
            expected[now:] = [HOME] * (END - now)
        elif act == "forget" and past:
            gone = past[number % len(past)]
            until = history.entries[history.entries.index(gone) + 1].start
            history = history.forget(gone.start)
            expected[gone.start : until] = [expected[gone.start - 1]] * (until - gone.start)
        elif act == "fail":
            since, now = max(now - number, 1), now + 1
            history = history.stand_in(absent, to, since, now)
            expected[since:now] = [to if c == absent else c for c in expected[since:now]]
        tell(history, expected)


def test_the_figure_of_the_paper() -> None:
    """Home keeps what came before time 2, the delegate what came at it and after."""
    delegate = ELSEWHERE[0]
    history = DelegateList.at_home(HOME).delegate(delegate, 2)
    assert history.entries == (Delegation(0, HOME), Delegation(2, delegate))
    assert (history.responsible(1), history.responsible(2)) == (HOME, delegate)
    assert history.current == delegate


def test_a_range_is_clipped_to_what_was_asked() -> None:
    a, b = ELSEWHERE[:2]
    history = DelegateList.at_home(HOME).delegate(a, 10).delegate(b, 20)
    assert history.tenures(5, 20) == (Tenure(5, 10, HOME), Tenure(10, 20, a))
    assert history.tenures(25) == (Tenure(25, None, b),)
    assert history.tenures(7, 7) == ()


def test_a_delegate_that_never_stored_anything_leaves_no_entry() -> None:
    a, b = ELSEWHERE[:2]
    assert DelegateList.at_home(HOME).delegate(a, 10).delegate(b, 10).entries == (
        Delegation(0, HOME),
        Delegation(10, b),
    )


def test_after_a_return_the_secondary_keeps_what_it_took() -> None:
    secondary = ELSEWHERE[0]
    history = DelegateList.at_home(HOME).stand_in(HOME, secondary, 10, 20)
    assert history.tenures() == (
        Tenure(0, 10, HOME),
        Tenure(10, 20, secondary),
        Tenure(20, None, HOME),
    )


def refused() -> list[tuple[str, object]]:
    plain = DelegateList.at_home(HOME)
    moved = plain.delegate(ELSEWHERE[0], 10)
    return [
        ("lie elsewhere", lambda: plain.delegate(ELSEWHERE[0], 0)),
        ("lie elsewhere", lambda: moved.delegate(ELSEWHERE[1], 9)),
        ("not the current delegate", lambda: plain.retire(HOME, 5)),
        ("not the current delegate", lambda: moved.retire(ELSEWHERE[1], 15)),
        ("no past delegation", lambda: moved.forget(10)),
        ("no past delegation", lambda: moved.forget(0)),
        ("has no messages", lambda: plain.stand_in(HOME, ELSEWHERE[0], 5, 5)),
        ("before time zero", lambda: plain.responsible(-1)),
        ("begins with the home", lambda: DelegateList(())),
        ("begins with the home", lambda: DelegateList((Delegation(1, HOME),))),
        ("rise strictly", lambda: DelegateList((Delegation(0, HOME), Delegation(0, HOME)))),
    ]


@pytest.mark.parametrize(("reason", "act"), refused())
def test_changes_that_would_lose_a_time_are_refused(reason: str, act: object) -> None:
    assert callable(act)
    with pytest.raises(DelegationError, match=reason):
        act()


def test_a_past_delegate_hands_on_until_it_has_nothing_left() -> None:
    delegates = DelegateList.at_home(HOME).delegate(A, 10, 5).delegate(B, 20, 6)
    part = delegates.hand_on(20, 15)
    assert [entry.start for entry in part.entries] == [0, 10, 15]
    assert part.birth(B) == 6
    whole = part.hand_on(15, 10)
    assert [(entry.start, entry.coordinate) for entry in whole.entries] == [(0, HOME), (10, B)]


def test_when_home_has_taken_all_back_the_list_is_as_at_first() -> None:
    delegates = DelegateList.at_home(HOME).delegate(A, 10, 5).delegate(HOME, 20)
    assert delegates.hand_on(20, 10) == DelegateList.at_home(HOME)


@pytest.mark.parametrize(("end", "start"), [(10, 5), (0, 0), (20, 20), (20, 9), (15, 12)])
def test_only_a_past_delegate_hands_on_and_only_what_it_has(end: int, start: int) -> None:
    delegates = DelegateList.at_home(HOME).delegate(A, 10, 5).delegate(B, 20, 6)
    with pytest.raises(DelegationError):
        delegates.hand_on(end, start)
