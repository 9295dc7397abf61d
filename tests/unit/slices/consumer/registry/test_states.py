from __future__ import annotations

import pytest

from evenflow.slices.consumer.registry.states import TRANSITIONS, State, Trigger

LEDGER = {Trigger.LIST, Trigger.OMIT, Trigger.LAPSE}


def reached(*triggers: Trigger) -> State:
    state = State.UNKNOWN
    for trigger in triggers:
        state = TRANSITIONS[state, trigger]
    return state


def test_every_state_has_an_answer_to_everything_and_can_be_reached() -> None:
    assert TRANSITIONS.keys() == {(state, trigger) for state in State for trigger in Trigger}
    assert set(TRANSITIONS.values()) == set(State)
    found = {State.UNKNOWN}
    for _ in State:
        found |= {TRANSITIONS[state, trigger] for state in found for trigger in Trigger}
    assert found == set(State)


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("state", State)
def test_what_comes_twice_is_as_if_it_came_once(state: State, trigger: Trigger) -> None:
    after = TRANSITIONS[state, trigger]
    assert TRANSITIONS[after, trigger] is after


@pytest.mark.parametrize("trigger", [one for one in Trigger if one not in LEDGER])
def test_the_ledger_alone_says_who_is_in_it(trigger: Trigger) -> None:
    of_ledger = {State.LISTED, State.LEAVING}
    for state in State:
        assert (state in of_ledger) is (TRANSITIONS[state, trigger] in of_ledger)


@pytest.mark.parametrize("trigger", [Trigger.SPEAK, Trigger.NAME, Trigger.END])
def test_whom_the_ledger_released_nobody_registers_by_a_word(trigger: Trigger) -> None:
    assert reached(Trigger.LIST, Trigger.OMIT, trigger) is State.RELEASED


@pytest.mark.parametrize(
    ("story", "state"),
    [
        ("SPEAK LIST", State.LISTED),
        ("NAME OMIT SPEAK OMIT", State.CANDIDATE),
        ("NAME OMIT LAPSE", State.ENDED),
        ("NAME LAPSE SPEAK", State.CANDIDATE),
        ("SPEAK END NAME", State.ENDED),
        ("SPEAK END SPEAK", State.CANDIDATE),
        ("SPEAK END LIST", State.LISTED),
        ("SPEAK LIST END LIST", State.LEAVING),
        ("SPEAK LIST END SPEAK", State.LISTED),
        ("SPEAK LIST END OMIT SPEAK", State.RELEASED),
        ("LIST OMIT SPEAK LIST", State.LISTED),
        ("SPEAK END DECLARE", State.CANDIDATE),
    ],
)
def test_what_becomes_of_a_consumer(story: str, state: State) -> None:
    assert reached(*(Trigger[name] for name in story.split())) is state


def test_who_counts_is_kept_for_and_who_is_past_may_be_forgotten() -> None:
    assert {state for state in State if state.counts} == {State.CANDIDATE, State.LISTED}
    assert {state for state in State if state.is_past} == {State.ENDED, State.RELEASED}
