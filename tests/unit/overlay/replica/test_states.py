from __future__ import annotations

import pytest

from evenflow.overlay.replica.states import TRANSITIONS, State, Trigger


def test_every_state_has_its_row_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == set(State)
    reached = {target for row in TRANSITIONS.values() for target in row.values()}
    assert reached == set(State)


@pytest.mark.parametrize("state", State)
def test_a_copy_may_doubt_begin_and_follow_in_any_state(state: State) -> None:
    row = TRANSITIONS[state]
    assert row[Trigger.DOUBT] is State.UNSURE
    assert row[Trigger.BEGIN] is State.PREPARING
    assert row[Trigger.FOLLOW] is State.FOLLOWING


def test_only_an_agreed_term_leads_and_only_a_leader_yields() -> None:
    agree = [state for state in State if Trigger.AGREE in TRANSITIONS[state]]
    yields = [state for state in State if Trigger.YIELD in TRANSITIONS[state]]
    assert agree == [State.PREPARING]
    assert yields == [State.LEADING]
