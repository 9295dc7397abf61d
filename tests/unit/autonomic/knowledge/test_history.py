"""The history: what is written, what is told, and what is left after a crash."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.controller import Controller, Instruction, Note
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge import journal as journal_module
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.records import Deed
from evenflow.errors import ConfigError
from evenflow.model.messages import ActionOrder, ActionOutcome

if TYPE_CHECKING:
    from pathlib import Path

EVENT = EventNotification("overload", "node-1", (Property("cpu", 91.5, 3.0),), Phase.RAISED, 3.0)


def plan(name: str = "p") -> ActionPlan:
    steps = (
        Action("a", "node-1", "move", b"\x00\xff", 0, 5.0, b"back"),
        Action("b", "node-2", "move", b"2", 1, 5.0, None),
    )
    return ActionPlan(steps, "too much on node-1", name, "overload")


def write(history: History, instructions: list[Instruction]) -> list[ActionOrder]:
    for each in instructions:
        if isinstance(each, Note):
            history.add_note(each)
    return [each for each in instructions if isinstance(each, ActionOrder)]


def finish(history: History, controller: Controller, orders: list[ActionOrder]) -> None:
    while orders:
        order = orders.pop(0)
        answer = ActionOutcome(order.plan_id, order.action_id, order.attempt, ok=True)
        orders += write(history, controller.handle(answer, 5.0))


def test_it_tells_why_something_was_done(tmp_path: Path) -> None:
    with History(tmp_path / "sub" / "history.db") as history:
        history.add_event(EVENT)
        controller = Controller()
        finish(history, controller, write(history, controller.submit(plan(), 4.0)))
        story = history.story("p")
        assert story is not None
        assert story.event == EVENT
        assert story.plan == plan()
        assert story.outcome is PlanState.DONE
        assert [note.state.value for note in story.notes if note.action_id == "b"] == [
            "running",
            "done",
        ]
        assert [each.plan.plan_id for each in history.stories()] == ["p"]
        assert history.story("unheard-of") is None
        assert [entry.kind for entry in history.entries(limit=2)] == ["action", "plan"]
        assert [entry.name for entry in history.entries(kind="event")] == ["overload"]


@pytest.mark.parametrize("written", range(1, 9))
def test_a_new_controller_goes_on_where_the_notes_end(tmp_path: Path, written: int) -> None:
    path = tmp_path / "history.db"
    with History(path) as history:
        controller = Controller()
        notes: list[Note] = []
        pending = controller.submit(plan(), 4.0)
        while pending:
            notes += [each for each in pending if isinstance(each, Note)]
            order = next((each for each in pending if isinstance(each, ActionOrder)), None)
            if order is None:
                break
            pending = controller.handle(
                ActionOutcome("p", order.action_id, order.attempt, ok=True), 5.0
            )
        for note in notes[:written]:
            history.add_note(note)
    with History(path) as history:
        successor = Controller()
        orders = write(history, successor.resume(history.unfinished(), 100.0))
        finish(history, successor, orders)
        assert successor.idle
        assert history.unfinished() == []
        story = history.story("p")
        assert story is not None
        assert story.outcome is PlanState.DONE


def test_the_oldest_entries_go_but_nothing_that_is_not_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PRUNE_EVERY", 10)
    with History(tmp_path / "history.db", keep=20) as history:
        write(history, Controller().submit(plan("unfinished"), 0.0))
        controller = Controller()
        finish(history, controller, write(history, controller.submit(plan("finished"), 0.0)))
        for _ in range(100):
            history.add_event(EVENT)
        assert history.story("finished") is None
        assert history.story("unfinished") is not None
        assert {note.plan_id for note in history.unfinished()} == {"unfinished"}
        assert len(history.entries(limit=1000)) <= 20 + 10 + 4


def test_the_view_of_finished_plans_knows_all_ends(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for state in PlanState:
            history.add_note(Note(0.0, state.value, PlanState.WAITING, plan=plan(state.value)))
            history.add_note(Note(1.0, state.value, state))
        unfinished = {note.plan_id for note in history.unfinished()}
        assert unfinished == {state.value for state in PlanState if not state.final}


def test_deeds_are_told_newest_first_and_do_not_disturb_plans(tmp_path: Path) -> None:
    by_hand = Deed(1.0, "handover", "slices 1", "asked for by hand", "done", figures={"ms": 2.5})
    planned = Deed(2.0, "plan", "slices 2", "too much", "done", plan_id="p")
    with History(tmp_path / "history.db") as history:
        controller = Controller()
        finish(history, controller, write(history, controller.submit(plan(), 0.0)))
        history.add_deed(by_hand)
        history.add_deed(planned)
        assert history.deeds() == [planned, by_hand]
        assert history.deeds(since=1.5) == [planned]
        assert history.deeds(unplanned=True) == [by_hand]
        assert history.deeds(limit=1) == [planned]
        assert history.unfinished() == []
        story = history.story("p")
        assert story is not None
        assert story.outcome is PlanState.DONE


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one " * 50)
    with pytest.raises(ConfigError, match=r"history\.path"):
        History(path)


def test_it_survives_the_death_of_its_process(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    script = f"""
import os, signal
from pathlib import Path
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.controller import Controller, Note
from evenflow.autonomic.knowledge.history import History

history = History(Path({str(path)!r}))
for each in Controller().submit(ActionPlan((Action("a", "node-1", "move"),), plan_id="p"), 0.0):
    if isinstance(each, Note):
        history.add_note(each)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL
    with History(path) as history:
        assert [note.state.value for note in history.unfinished()] == [
            "waiting",
            "running",
            "running",
        ]
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
