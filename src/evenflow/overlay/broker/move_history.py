"""A broker's moves in the words of the autonomic loop, for the history that all balancers share.

Every move that a broker wanted is an event (the loads it saw), a plan with one action, and how that
ended. All of it is written when it is over, so that no controller takes it for a plan of its own
that it has to go on with. A shell around `evenflow.autonomic.knowledge.history`; the wording is
pure.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.controller import Note
from evenflow.autonomic.execute.states import ActionState, PlanState

if TYPE_CHECKING:
    from evenflow.autonomic.knowledge.history import History
    from evenflow.overlay.protocol.events import LogMove

MOVE_TOPIC = "move-topic"
"""The kind of the action."""
UNEVEN = "store-imbalance"
"""The event: a broker found a better place for a topic."""
MOST_WAITING = 1_000
"""Moves that wait to be written down; more are left out, and a warning is given."""

_log = logging.getLogger(__name__)


class TopicMove(msgspec.Struct, frozen=True, rename={"start": "from"}):
    """The arguments of a ``move-topic``."""

    topic: str
    start: tuple[str, ...]
    """The brokers that it burdened."""
    to: tuple[str, ...]


def describe(args: bytes) -> str:
    """Say what a ``move-topic`` does."""
    move = msgspec.json.decode(args, type=TopicMove)
    return f"topic {move.topic} from {', '.join(move.start)} to {', '.join(move.to)}"


def as_event(broker: str, move: LogMove, now: float) -> EventNotification:
    """Return what the broker saw."""
    seen = tuple(Property(name, value, now) for name, value in move.seen)
    return EventNotification(UNEVEN, broker, seen, Phase.RAISED, now)


def as_notes(broker: str, plan_id: str, move: LogMove, now: float) -> list[Note]:
    """Return the plan and how it went."""
    seen = dict(move.seen)
    args = msgspec.json.encode(TopicMove(move.topic, move.start, move.to))
    plan = ActionPlan(
        (Action("move", broker, MOVE_TOPIC, args),),
        f"{broker} bears {_size(seen['load_before'])} (mean {_size(seen['mean_load'])}), without"
        f" {move.topic} {_size(seen['load_after'])}; the highest load that {move.topic} of"
        f" {_size(seen['topic_load'])} meets falls from {_size(seen['highest_here_before'])}"
        f" to {_size(seen['highest_there_after'])}",
        plan_id,
        UNEVEN,
    )
    ends = {"": (ActionState.DONE, PlanState.DONE), None: (ActionState.OVERDUE, PlanState.BROKEN)}
    action, outcome = ends.get(move.refusal, (ActionState.REFUSED, PlanState.ROLLED_BACK))
    said = "nobody said in time whether it was done" if move.refusal is None else move.refusal
    return [
        Note(now, plan_id, PlanState.RUNNING, plan=plan),
        Note(now, plan_id, action, "move", 1, said),
        Note(now, plan_id, outcome),
    ]


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000 or unit == "GB":
            break
        count /= 1_000
    return f"{count:.3g} {unit}"


class MoveHistory:
    """Writes a broker's moves into the history, in a thread so that the broker need not wait."""

    def __init__(self, broker: str, history: History) -> None:
        self._broker = broker
        self._history = history
        self._run = f"store-{broker}-{time.time_ns() // 1_000_000:x}"
        self._numbers = count(1)
        self._waiting: asyncio.Queue[LogMove] = asyncio.Queue(MOST_WAITING)

    def add(self, move: LogMove) -> None:
        """Have a move written down."""
        try:
            self._waiting.put_nowait(move)
        except asyncio.QueueFull:
            _log.warning("the history is too slow: a move of %s is not in it", move.topic)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.to_thread(self._write, await self._waiting.get())

    def close(self) -> None:
        """Write what waits."""
        with contextlib.suppress(asyncio.QueueEmpty):
            while True:
                self._write(self._waiting.get_nowait())

    def _write(self, move: LogMove) -> None:
        now, plan_id = time.time(), f"{self._run}-{next(self._numbers)}"
        try:
            self._history.add_event(as_event(self._broker, move, now))
            for note in as_notes(self._broker, plan_id, move, now):
                self._history.add_note(note)
        except sqlite3.Error as error:
            _log.warning("a move of %s is not in the history: %s", move.topic, error)
