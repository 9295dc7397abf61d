"""States of actions and plans in execution, and the only ways from one to the next.

An action::

    PENDING --start--> RUNNING --done-----> DONE -----undo--> UNDOING --done--> UNDONE
                          |                  |                  | |
                          +--refused-> REFUSED  +--keep--> KEPT | +--refused, overdue--> STUCK
                          +--overdue-> OVERDUE --undo-----------+

``REFUSED``: the executor said that it did nothing. ``OVERDUE``: it said nothing in time, so nobody
knows what it did, and it is undone like one that is done. ``KEPT``: there is nothing to undo.
``STUCK``: it could not be undone; an operator has to look.

A plan::

    WAITING --start--> RUNNING --finish--> DONE
                          +--fail--> ROLLING_BACK --finish--> ROLLED_BACK
                                          +--fail--> BROKEN
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ActionState(Enum):
    """State of one action."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    OVERDUE = "overdue"
    UNDOING = "undoing"
    UNDONE = "undone"
    KEPT = "kept"
    STUCK = "stuck"


class Transition(Enum):
    """What can happen to an action."""

    START = "start"
    ACKNOWLEDGE = "done"
    REFUSE = "refused"
    EXPIRE = "overdue"
    UNDO = "undo"
    KEEP = "keep"


ACTION_TRANSITIONS: Mapping[tuple[ActionState, Transition], ActionState] = {
    (ActionState.PENDING, Transition.START): ActionState.RUNNING,
    (ActionState.RUNNING, Transition.ACKNOWLEDGE): ActionState.DONE,
    (ActionState.RUNNING, Transition.REFUSE): ActionState.REFUSED,
    (ActionState.RUNNING, Transition.EXPIRE): ActionState.OVERDUE,
    (ActionState.DONE, Transition.UNDO): ActionState.UNDOING,
    (ActionState.DONE, Transition.KEEP): ActionState.KEPT,
    (ActionState.OVERDUE, Transition.UNDO): ActionState.UNDOING,
    (ActionState.OVERDUE, Transition.KEEP): ActionState.KEPT,
    (ActionState.UNDOING, Transition.ACKNOWLEDGE): ActionState.UNDONE,
    (ActionState.UNDOING, Transition.REFUSE): ActionState.STUCK,
    (ActionState.UNDOING, Transition.EXPIRE): ActionState.STUCK,
}


class PlanState(Enum):
    """State of one plan."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    ROLLING_BACK = "rolling back"
    ROLLED_BACK = "rolled back"
    BROKEN = "broken"

    @property
    def final(self) -> bool:
        """Whether nothing more happens to it."""
        return self in (PlanState.DONE, PlanState.ROLLED_BACK, PlanState.BROKEN)


PLAN_TRANSITIONS: Mapping[PlanState, frozenset[PlanState]] = {
    PlanState.WAITING: frozenset({PlanState.RUNNING}),
    PlanState.RUNNING: frozenset({PlanState.DONE, PlanState.ROLLING_BACK}),
    PlanState.ROLLING_BACK: frozenset({PlanState.ROLLED_BACK, PlanState.BROKEN}),
    PlanState.DONE: frozenset(),
    PlanState.ROLLED_BACK: frozenset(),
    PlanState.BROKEN: frozenset(),
}
