"""A broker's moves in the history that all balancers share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.overlay.broker.move_history import MoveHistory, describe
from evenflow.overlay.protocol.events import LogMove

if TYPE_CHECKING:
    from pathlib import Path

SEEN = {
    "load_before": 5_120_000.0,
    "load_after": 5_000_000.0,
    "mean_load": 3_000_000.0,
    "topic_load": 120_000.0,
    "highest_here_before": 5_120_000.0,
    "highest_here_after": 5_000_000.0,
    "highest_there_before": 2_000_000.0,
    "highest_there_after": 2_120_000.0,
}


def moved(refusal: str | None) -> LogMove:
    return LogMove(
        "meters", ("b1", "b2"), ("b3", "b4"), tuple(SEEN.items()), refusal, accepted=True
    )


@pytest.mark.parametrize(
    ("refusal", "outcome"),
    [("", PlanState.DONE), ("no", PlanState.ROLLED_BACK), (None, PlanState.BROKEN)],
)
def test_a_move_is_told_with_loads_before_and_after(
    tmp_path: Path, refusal: str | None, outcome: PlanState
) -> None:
    async def write(history: History) -> None:
        move_history = MoveHistory("b1", history)
        move_history.add(moved(refusal))
        move_history.close()

    with History(tmp_path / "history.db") as history:
        asyncio.run(write(history))
        (story,) = history.stories()
        assert history.unfinished() == []
    assert story.outcome is outcome
    assert story.event is not None
    assert story.event.source_id == "b1"
    assert {each.name: each.value for each in story.event.properties} == SEEN
    assert "5.12 MB (mean 3 MB)" in story.plan.reason
    assert "from 5.12 MB to 2.12 MB" in story.plan.reason
    assert describe(story.plan.actions[0].args) == "topic meters from b1, b2 to b3, b4"
    if refusal:
        assert refusal in [note.reason for note in story.notes]
