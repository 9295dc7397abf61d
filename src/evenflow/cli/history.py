"""``evenflow history``: what the balancer did, and why something moved.

Plans of the autonomic loop, and moves that needed none: a node joined, left or died, or somebody
asked for them by hand.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.autonomic.execute.actions import START_NODE, STOP_NODE
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.records import Deed, Story
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, number, print_table, prose
from evenflow.cli.values import INDEX, Whole
from evenflow.errors import ConfigError
from evenflow.model.ids import NodeId
from evenflow.model.ranges import ranges
from evenflow.overlay.broker import move_history
from evenflow.slices.balancer.deeds import moves_slice
from evenflow.slices.balancer.planner import MOVE_SLICES, decoded

if TYPE_CHECKING:
    from evenflow.autonomic.analyze.local_events import EventNotification
    from evenflow.autonomic.execute.actions import Action
    from evenflow.autonomic.execute.controller import Note

EXAMPLES = """\
  evenflow history              plans and moves, newest first
  evenflow history --plan ID    one plan: the event, what was seen, every step
  evenflow history --slice 17   every move of one slice, and why
  evenflow history --events     the events
  evenflow history --json --limit 10
"""
ALL = 1_000_000


@command("history", examples=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--plan", "plan_id", metavar="ID", help="tell everything about one plan")
@click.option("--slice", "slice_id", metavar="N", type=INDEX, help="list the moves of one slice")
@click.option("--events", is_flag=True, help="list events instead of plans")
@click.option("--limit", metavar="N", type=Whole(1, ALL), default=50, help="at most this many (50)")
def history(
    shared: Shared, *, as_json: bool, plan_id: str | None, slice_id: int | None, events: bool,
    limit: int,
) -> int:  # fmt: skip
    """Tell what was planned, done, and why."""
    file = shared.config().history_file
    if not file.is_file():
        raise ConfigError(
            "history.path",
            str(file),
            "there is no history here: has a balancer run with this file?",
        )
    with History(file, read_only=True) as past:
        if plan_id:
            _tell_plan(past, plan_id, as_json=as_json)
        elif events:
            _list_events(past.events(limit=limit), as_json=as_json)
        elif slice_id is not None:
            deeds = [deed for deed in past.deeds(limit=ALL) if moves_slice(deed, slice_id)]
            _list([], deeds[:limit], as_json=as_json)
        else:
            unplanned = past.deeds(limit=limit, unplanned=True)
            _list(list(past.stories(limit=limit)), unplanned, as_json=as_json)
    return 0


def clock(seconds: float) -> str:
    """A time of day in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def as_row(story: Story) -> dict[str, Any]:
    """A plan as the listing shows it."""
    states = {note.action_id: note for note in story.notes if note.action_id}
    return {
        "time": clock(story.notes[0].time),
        "plan": story.plan.plan_id,
        "event": as_event(story.event) if story.event else {"event": story.plan.event_id},
        "reason": story.plan.reason,
        "outcome": story.outcome.value,
        "actions": [
            as_action(action, states.get(action.action_id)) for action in story.plan.actions
        ],
    }


def as_event(event: EventNotification) -> dict[str, Any]:
    """An event as the listing shows it."""
    return {
        "time": clock(event.time),
        "event": event.event_id,
        "source": event.source_id,
        "phase": event.phase.value,
        "seen": {each.name: each.value for each in event.properties},
    }


def as_action(action: Action, last: Note | None) -> dict[str, Any]:
    """An action with where it stands."""
    return {
        "action": action.action_id,
        "stage": action.stage,
        "does": in_words(action),
        "state": last.state.value if last else "pending",
        "said": last.reason if last else "",
    }


def as_move(deed: Deed) -> dict[str, Any]:
    """A move as the listing shows it."""
    return {
        "time": clock(deed.time),
        "plan": deed.plan_id,
        "cause": deed.cause,
        "what": deed.what,
        "why": deed.why,
        "outcome": deed.outcome,
        **deed.figures,
    }


def in_words(action: Action) -> str:
    """What an action does."""
    if action.kind == MOVE_SLICES:
        move = decoded(action.args)
        names = (NodeId(move.giver).name, NodeId(move.taker).name)
        return f"slices {ranges(sorted(move.slices))} from {names[0]} to {names[1]}"
    if action.kind == move_history.MOVE_TOPIC:
        return move_history.describe(action.args)
    if action.kind == START_NODE:
        return "start a node"
    if action.kind == STOP_NODE:
        return f"stop {NodeId(action.args.decode()).name}"
    return f"{action.kind} at {action.executor_id}"


def _list(stories: list[Story], deeds: list[Deed], *, as_json: bool) -> None:
    plans, moves = [as_row(story) for story in stories], [as_move(deed) for deed in deeds]
    if as_json:
        print(json.dumps({"plans": plans, "moves": moves}, indent=2))
        return
    if not plans and not moves:
        print("nothing has moved")
        return
    told = [(plan["time"], _plan_in_lines(plan)) for plan in plans]
    told += [(move["time"], _move_in_lines(move)) for move in moves]
    for moment, lines in sorted(told, reverse=True):
        print(f"{moment}  {lines[0]}")
        for line in lines[1:]:
            print(f"{'':22}{line}")


def _plan_in_lines(plan: dict[str, Any]) -> list[str]:
    head = f"{plan['event']['event']}: plan {plan['plan']} {plan['outcome']}"
    return [head, plan["reason"], *(f"- {action['does']}" for action in plan["actions"])]


def _move_in_lines(move: dict[str, Any]) -> list[str]:
    because = f"{move['why']} (plan {move['plan']})" if move["plan"] else move["why"]
    return [f"{move['cause']}: {move['what']}: {move['outcome']}", because]


def _tell_plan(history: History, plan_id: str, *, as_json: bool) -> None:
    story = history.story(plan_id)
    if story is None:
        raise ConfigError("--plan", plan_id, "no such plan: 'evenflow history' lists them")
    row = as_row(story)
    row["steps"] = [
        {
            "time": clock(note.time),
            "what": note.action_id or "plan",
            "state": note.state.value,
            "attempt": note.attempt,
            "said": note.reason,
        }
        for note in story.notes
    ]
    if as_json:
        print(json.dumps(row, indent=2))
        return
    event = row["event"]
    print(f"plan {row['plan']}: {row['outcome']}")
    print(f"because of {event['event']} at {event.get('source', '?')}, {event.get('time', '?')}")
    for name, value in event.get("seen", {}).items():
        print(f"  {name} = {value:,.4g}")
    print(f"reason: {row['reason']}")
    for action in row["actions"]:
        print(f"  {action['action']}: {action['does']}")
    keys = ("time", "what", "state", "attempt", "said")
    columns = (Column("time", 2), "what", "state", number("attempt", 1), prose("said"))
    print_table(columns, [[str(step[key]) for key in keys] for step in row["steps"]])


def _list_events(events: list[EventNotification], *, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "time": clock(event.time),
            "event": event.event_id,
            "source": event.source_id,
            "phase": event.phase.value,
            "seen": {each.name: each.value for each in event.properties},
            "detail": event.detail,
        }
        for event in events
    ]
    if as_json:
        print(json.dumps({"events": rows}, indent=2))
        return
    if not rows:
        print("nothing has happened")
        return
    keys = ("time", "event", "source", "phase")
    columns = (Column("time", 1), "event", "source", "phase")
    print_table(columns, [[str(row[key]) for key in keys] for row in rows])
