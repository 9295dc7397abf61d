"""The history: every event, plan, action and outcome, and everything that was done.

The knowledge of MAPE-K, as far as it has to outlive a process. Two things are asked of it: after a
crash, the notes of plans that are not over (:meth:`History.unfinished`), from which a new
controller goes on; and afterwards, why something was done (:meth:`History.story`): the event, what
was seen, the plan with its reason, each action and how it ended. What was done without a plan, by
hand or because a node came or went, is there too
(:class:`~evenflow.autonomic.knowledge.records.Deed`).

Notes are written before the orders they belong to are sent. How they are kept, and what happens
when they cannot be, is the business of the :mod:`~evenflow.autonomic.knowledge.journal`. To be used
by one thread at a time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.controller import Note
from evenflow.autonomic.execute.states import ActionState, PlanState
from evenflow.autonomic.knowledge.journal import Entry, Journal
from evenflow.autonomic.knowledge.records import Deed, Story
from evenflow.closing import Closing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEED = "deed"
OF_PLANS = "kind IN ('plan', 'action')"


class History(Closing):
    """The history file.

    Args:
        path: The file; it is made if it is not there.
        keep: About how many entries are kept.
        keep_octets: About how large they may be together.
        read_only: Only to be read; it must be there.

    Raises:
        ConfigError: The file is no history, or it may not be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        keep: int = 100_000,
        keep_octets: int = 256 << 20,
        read_only: bool = False,
    ) -> None:
        self._journal = Journal(path, keep=keep, keep_octets=keep_octets, read_only=read_only)

    @property
    def failures(self) -> int:
        """Times that the disk refused an entry."""
        return self._journal.failures

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def add_event(self, event: EventNotification) -> None:
        """Write down an event."""
        seen = [[each.name, each.value, each.time] for each in event.properties]
        body = json.dumps({"seen": seen, "detail": event.detail})
        phase = event.phase.value
        self._journal.write(
            (event.time, "event", event.event_id, "", phase, 0, event.source_id, body)
        )

    def add_note(self, note: Note) -> None:
        """Write down a note of the controller."""
        kind = "action" if note.action_id else "plan"
        body = json.dumps(_plan_fields(note.plan)) if note.plan is not None else ""
        name, state = note.action_id or note.plan_id, note.state.value
        self._journal.write(
            (note.time, kind, name, note.plan_id, state, note.attempt, note.reason, body)
        )

    def add_deed(self, deed: Deed) -> None:
        """Write down what was done."""
        body = json.dumps({"what": deed.what, "figures": dict(deed.figures)})
        self._journal.write(
            (deed.time, DEED, deed.cause, deed.plan_id, deed.outcome, 0, deed.why, body)
        )

    def unfinished(self) -> list[Note]:
        """The notes of all plans that are not over, in the order they were written."""
        rows = self._journal.read(
            f"SELECT * FROM entries WHERE {OF_PLANS}"  # noqa: S608 - our own text
            " AND plan NOT IN (SELECT plan FROM finished) ORDER BY number"
        )
        return [_note(Entry(*row)) for row in rows]

    def entries(self, *, limit: int = 100, kind: str = "", since: float = 0.0) -> list[Entry]:
        """The newest entries, oldest first."""
        rows = self._journal.read(
            "SELECT * FROM entries WHERE time >= ? AND (? = '' OR kind = ?)"
            " ORDER BY number DESC LIMIT ?",
            since, kind, kind, limit,
        )  # fmt: skip
        return [Entry(*row) for row in rows][::-1]

    def events(self, *, limit: int = 100) -> list[EventNotification]:
        """The newest events, oldest first."""
        return [_event(entry) for entry in self.entries(limit=limit, kind="event")]

    def deeds(self, *, limit: int = 100, since: float = 0.0, unplanned: bool = False) -> list[Deed]:
        """What was done, newest first; perhaps only what belongs to no plan."""
        rows = self._journal.read(
            "SELECT * FROM entries WHERE kind = ? AND time >= ? AND (plan = '' OR NOT ?)"
            " ORDER BY number DESC LIMIT ?",
            DEED, since, unplanned, limit,
        )  # fmt: skip
        return [_deed(Entry(*row)) for row in rows]

    def story(self, plan_id: str) -> Story | None:
        """Everything about one plan; ``None`` when it is not known."""
        rows = self._journal.read(
            f"SELECT * FROM entries WHERE plan = ? AND {OF_PLANS}"  # noqa: S608 - our own text
            " ORDER BY number",
            plan_id,
        )
        entries = [Entry(*row) for row in rows]
        notes = tuple(map(_note, entries))
        plan = next((note.plan for note in notes if note.plan is not None), None)
        if plan is None:
            return None
        return Story(self._event_before(plan.event_id, entries[0].number), plan, notes)

    def stories(self, *, limit: int = 100) -> Iterator[Story]:
        """The stories of the newest plans, newest first."""
        rows = self._journal.read(
            "SELECT plan FROM entries WHERE kind = 'plan' AND body != ''"
            " ORDER BY number DESC LIMIT ?",
            limit,
        )
        for (plan_id,) in rows:
            story = self.story(plan_id)
            if story is not None:
                yield story

    def _event_before(self, event_id: str, number: int) -> EventNotification | None:
        rows = self._journal.read(
            "SELECT * FROM entries WHERE kind = 'event' AND name = ?"
            " AND state = ? AND number < ? ORDER BY number DESC LIMIT 1",
            event_id, Phase.RAISED.value, number,
        )  # fmt: skip
        return _event(Entry(*rows[0])) if rows else None


def _plan_fields(plan: ActionPlan) -> dict[str, Any]:
    return {
        "event": plan.event_id,
        "source": plan.source_id,
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
    return ActionPlan(actions, fields["reason"], plan_id, fields["event"], fields["source"])


def _note(entry: Entry) -> Note:
    if entry.kind == "action":
        state: PlanState | ActionState = ActionState(entry.state)
        action_id = entry.name
    else:
        state, action_id = PlanState(entry.state), ""
    plan = _plan(entry.plan_id, entry.body) if entry.body else None
    return Note(entry.time, entry.plan_id, state, action_id, entry.attempt, entry.reason, plan)


def _event(entry: Entry) -> EventNotification:
    body = json.loads(entry.body)
    properties = tuple(Property(*each) for each in body["seen"])
    return EventNotification(
        entry.name, entry.reason, properties, Phase(entry.state), entry.time, body["detail"]
    )


def _deed(entry: Entry) -> Deed:
    body = json.loads(entry.body)
    return Deed(
        entry.time, entry.name, body["what"], entry.reason, entry.state, entry.plan_id,
        body["figures"],
    )  # fmt: skip
