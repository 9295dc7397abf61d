"""The history: every event, plan, action and outcome, in an SQLite file.

The knowledge of MAPE-K, as far as it has to outlive a process. Two things are asked of it: after a
crash, the notes of plans that are not over (:meth:`History.unfinished`), from which a new
controller goes on; and afterwards, why something was done (:meth:`History.story`): the event, what
was seen, the plan with its reason, each action and how it ended.

A shell around one table. Notes are written before the orders they belong to are sent; in WAL mode a
write costs tens of microseconds and survives the death of the process (that of the machine may take
the last ones). The file is bounded: the oldest entries go, except those of plans that are not over.
To be used by one thread at a time.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from evenflow.autonomic.actions import Action, ActionPlan
from evenflow.autonomic.events import EventNotification, Phase, Property
from evenflow.autonomic.execution import ActionState, PlanState
from evenflow.autonomic.executor import Note
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    kind TEXT NOT NULL,      -- event, plan or action
    name TEXT NOT NULL,      -- id of the event, plan or action
    plan TEXT NOT NULL,      -- id of the plan, empty for an event
    state TEXT NOT NULL,     -- phase of the event, state of the plan or action
    attempt INTEGER NOT NULL,
    reason TEXT NOT NULL,
    body TEXT NOT NULL       -- properties of an event, contents of a new plan, as JSON
);
CREATE INDEX IF NOT EXISTS entries_of_plan ON entries (plan);
CREATE INDEX IF NOT EXISTS entries_of_event ON entries (kind, name);
CREATE VIEW IF NOT EXISTS finished AS
    SELECT plan FROM entries
    WHERE kind = 'plan' AND state IN ('done', 'rolled back', 'broken');
"""
PRUNE_EVERY = 1_000
"""So many entries are written between two looks at the bound."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history."""

    number: int
    time: float
    kind: str
    """``event``, ``plan`` or ``action``."""
    name: str
    plan_id: str
    state: str
    attempt: int
    reason: str
    body: str


@dataclass(frozen=True, slots=True)
class Story:
    """Why a plan was carried out, and what came of it."""

    event: EventNotification | None
    """What it answered; ``None`` when that is no longer known."""
    plan: ActionPlan
    notes: tuple[Note, ...]

    @property
    def outcome(self) -> PlanState:
        """How the plan ended, or where it is."""
        states = [note.state for note in self.notes if isinstance(note.state, PlanState)]
        return states[-1]


class History:
    """The history file.

    Args:
        path: The file; it is made if it is not there.
        keep: About how many entries are kept.

    Raises:
        ConfigError: The file cannot be opened or is no history.
    """

    def __init__(self, path: Path, *, keep: int = 100_000) -> None:
        self._keep = keep
        self._written = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            allowed = f"must be a history file that can be written ({error})"
            raise ConfigError("history.path", str(path), allowed) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add_event(self, event: EventNotification) -> None:
        """Write down an event."""
        body = [[each.name, each.value, each.time] for each in event.properties]
        row = (event.time, "event", event.event_id, "", event.phase.value, 0, event.source_id)
        self._insert(*row, json.dumps(body))

    def add_note(self, note: Note) -> None:
        """Write down a note of the controller."""
        kind = "action" if note.action_id else "plan"
        body = json.dumps(_plan_fields(note.plan)) if note.plan is not None else ""
        name = note.action_id or note.plan_id
        row = (note.time, kind, name, note.plan_id, note.state.value, note.attempt, note.reason)
        self._insert(*row, body)

    def unfinished(self) -> list[Note]:
        """The notes of all plans that are not over, in the order they were written."""
        rows = self._db.execute(
            "SELECT * FROM entries WHERE plan != ''"
            " AND plan NOT IN (SELECT plan FROM finished) ORDER BY number"
        )
        return [_note(Entry(*row)) for row in rows]

    def entries(self, *, limit: int = 100, kind: str = "", since: float = 0.0) -> list[Entry]:
        """The newest entries, oldest first."""
        rows = self._db.execute(
            "SELECT * FROM entries WHERE time >= ? AND (? = '' OR kind = ?)"
            " ORDER BY number DESC LIMIT ?",
            (since, kind, kind, limit),
        )
        return [Entry(*row) for row in rows][::-1]

    def story(self, plan_id: str) -> Story | None:
        """Everything about one plan; ``None`` when it is not known."""
        rows = self._db.execute(
            "SELECT * FROM entries WHERE plan = ? ORDER BY number",
            (plan_id,),
        )
        entries = [Entry(*row) for row in rows]
        notes = tuple(map(_note, entries))
        plan = next((note.plan for note in notes if note.plan is not None), None)
        if plan is None:
            return None
        return Story(self._event_before(plan.event_id, entries[0].number), plan, notes)

    def stories(self, *, limit: int = 100) -> Iterator[Story]:
        """The stories of the newest plans, newest first."""
        rows = self._db.execute(
            "SELECT plan FROM entries WHERE kind = 'plan' AND body != ''"
            " ORDER BY number DESC LIMIT ?",
            (limit,),
        ).fetchall()
        for (plan_id,) in rows:
            story = self.story(plan_id)
            if story is not None:
                yield story

    def _event_before(self, event_id: str, number: int) -> EventNotification | None:
        row = self._db.execute(
            "SELECT * FROM entries WHERE kind = 'event' AND name = ?"
            " AND state = ? AND number < ? ORDER BY number DESC LIMIT 1",
            (event_id, Phase.RAISED.value, number),
        ).fetchone()
        return _event(Entry(*row)) if row is not None else None

    def _insert(self, *row: float | str) -> None:
        self._db.execute(
            "INSERT INTO entries (time, kind, name, plan, state, attempt, reason, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        self._written += 1
        if self._written % PRUNE_EVERY == 0:
            self._prune()

    def _prune(self) -> None:
        """Drop the oldest entries, but nothing of a plan that is not over."""
        self._db.execute(
            "DELETE FROM entries WHERE number <= (SELECT max(number) FROM entries) - ?"
            " AND (plan = '' OR plan IN (SELECT plan FROM finished))",
            (self._keep,),
        )


def _plan_fields(plan: ActionPlan) -> dict[str, Any]:
    return {
        "event": plan.event_id,
        "reason": plan.reason,
        "actions": [
            {
                "id": each.action_id,
                "executor": each.executor_id,
                "kind": each.kind,
                "args": each.args.hex(),
                "stage": each.stage,
                "deadline_s": each.deadline_s,
                "undo": None if each.undo is None else each.undo.hex(),
            }
            for each in plan.actions
        ],
    }


def _plan(plan_id: str, body: str) -> ActionPlan:
    fields = json.loads(body)
    actions = tuple(
        Action(
            each["id"],
            each["executor"],
            each["kind"],
            bytes.fromhex(each["args"]),
            each["stage"],
            each["deadline_s"],
            None if each["undo"] is None else bytes.fromhex(each["undo"]),
        )
        for each in fields["actions"]
    )
    return ActionPlan(plan_id, actions, fields["event"], fields["reason"])


def _note(entry: Entry) -> Note:
    if entry.kind == "action":
        state: PlanState | ActionState = ActionState(entry.state)
        action_id = entry.name
    else:
        state, action_id = PlanState(entry.state), ""
    plan = _plan(entry.plan_id, entry.body) if entry.body else None
    return Note(entry.time, entry.plan_id, state, action_id, entry.attempt, entry.reason, plan)


def _event(entry: Entry) -> EventNotification:
    properties = tuple(Property(*each) for each in json.loads(entry.body))
    return EventNotification(entry.name, entry.reason, properties, Phase(entry.state), entry.time)
