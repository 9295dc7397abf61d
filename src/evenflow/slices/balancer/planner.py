"""The slice planner: a balancing algorithm as a planner of the autonomic loop.

A plan's moves become actions of the kind ``move-slices``. Moves that share a node follow one
another ("which are sequentially executed", MAPE-SDDL, section V.D); the others run side by side.
Each can be undone by moving back, except where the membership changed: what a new node has got it
keeps, and what a leaving node gave away does not go back to it.

A plan that :mod:`evenflow.balance.verify` finds a fault with is refused. When the membership
changed, ``count`` then stands in, so that a node can leave whatever algorithm is at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from evenflow.autonomic.analyze.balancer_events import is_membership
from evenflow.autonomic.execute.actions import Action, ActionPlan, staged
from evenflow.balance.count import Count
from evenflow.balance.verify import sound_plan
from evenflow.errors import DecodeError, EvenflowError, PlanError
from evenflow.model.plan import Move, Plan

if TYPE_CHECKING:
    from evenflow.autonomic.knowledge.knowledge import Knowledge
    from evenflow.balance.base import Algorithm

MOVE_SLICES = "move-slices"
"""The kind of the actions."""


def mover_of(topic: str) -> str:
    """Who carries out the moves of a topic, as plans name it."""
    return f"slices/{topic}"


@dataclass(frozen=True, slots=True)
class SlicePlanner:
    """Asks an algorithm what to move.

    Args:
        algorithm: Who decides.
        topic: What it balances.
        deadline_s: How long one move may take.
    """

    algorithm: Algorithm
    topic: str
    deadline_s: float = 30.0

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """The moves the algorithm asks for."""
        return self._plan(knowledge)

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """The moves the algorithm asks for because a node has joined."""
        return self._plan(knowledge, joined=knowledge.event.source_id)

    def _plan(self, knowledge: Knowledge, joined: str | None = None) -> ActionPlan | None:
        event = knowledge.event
        snapshot = knowledge.snapshot_of(self.topic)
        if joined is not None and all(node.name != joined for node in snapshot.nodes):
            return None  # it has left again
        changed = is_membership(event.event_id)
        try:
            plan, why = sound_plan(self.algorithm, snapshot, joined=joined), ""
        except EvenflowError as error:
            if not changed:
                raise
            plan = sound_plan(Count(), snapshot, joined=joined)
            reason = error.reason if isinstance(error, PlanError) else f"refused, {error}"
            why = f"; count stands in, because the plan was {reason}"
        if not plan:
            return None
        reason = f"{event.detail if changed else self.algorithm.name}{why}: {plan.reason}"
        return ActionPlan(self._actions(plan, undoable=not changed), reason)

    def _actions(self, plan: Plan, *, undoable: bool) -> tuple[Action, ...]:
        stages = staged(frozenset((move.giver, move.taker)) for move in plan.moves)
        return tuple(
            Action(
                f"move-{number}",
                mover_of(self.topic),
                MOVE_SLICES,
                encoded(move),
                stage,
                self.deadline_s,
                encoded(Move(move.slices, move.taker, move.giver)) if undoable else None,
            )
            for number, (move, stage) in enumerate(zip(plan.moves, stages, strict=True), start=1)
        )


def encoded(move: Move) -> bytes:
    """A move as the arguments of an action."""
    return msgspec.json.encode(Move(move.slices, str(move.giver), str(move.taker)))


def decoded(args: bytes) -> Move:
    """The move that an action's arguments mean.

    Raises:
        DecodeError: They are not those of a move.
    """
    try:
        return msgspec.json.decode(args, type=Move)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"not a move of slices: {error}", size=len(args)) from error
