from __future__ import annotations

import pytest

from evenflow.overlay.replica.states import TRANSITIONS, State, Trigger


def test_every_state_has_its_row_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == set(State)
    reached = {target for row in TRANSITIONS.values() for target in row.values()}
    assert reached == set(State)


@pytest.mark.parametrize("state", State)
def test_a_decision_may_change_any_state(state: State) -> None:
    row = TRANSITIONS[state]
    assert row[Trigger.DOUBT] is State.UNSURE
    assert row[Trigger.LEAD] is State.LEADING
    assert row[Trigger.FOLLOW] is State.FOLLOWING
