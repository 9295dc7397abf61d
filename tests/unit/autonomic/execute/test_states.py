"""The transition tables: complete, and as documented."""

from __future__ import annotations

from pathlib import Path

from evenflow.autonomic.execute.states import (
    ACTION_TRANSITIONS,
    PLAN_TRANSITIONS,
    ActionState,
    PlanState,
    Transition,
)

DOCS = Path(__file__).parents[4] / "docs" / "autonomic.md"


def rows_after(heading: str) -> list[tuple[str, ...]]:
    """The rows of the table in the docs that has this heading in its first column."""
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return rows


def test_the_docs_have_the_table_of_actions() -> None:
    table = ACTION_TRANSITIONS.items()
    steps = {(state.value, step.value, new.value) for (state, step), new in table}
    assert set(rows_after("state of an action")) == steps


def test_the_docs_have_the_table_of_plans() -> None:
    steps = {
        (state.value, ", ".join(sorted(new.value for new in following)))
        for state, following in PLAN_TRANSITIONS.items()
        if following
    }
    assert set(rows_after("state of a plan")) == steps


def test_every_state_can_be_reached_and_left_unless_it_is_an_end() -> None:
    ends = {ActionState.REFUSED, ActionState.UNDONE, ActionState.KEPT, ActionState.STUCK}
    assert {state for state, _ in ACTION_TRANSITIONS} == set(ActionState) - ends
    assert set(ACTION_TRANSITIONS.values()) == set(ActionState) - {ActionState.PENDING}
    assert {step for _, step in ACTION_TRANSITIONS} == set(Transition)
    assert {state for state in PlanState if state.final} == {
        state for state, following in PLAN_TRANSITIONS.items() if not following
    }
