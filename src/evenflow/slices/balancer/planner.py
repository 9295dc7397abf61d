"""The slice planner: a balancing algorithm as a planner of the autonomic loop.

The one place in the loop that knows what a slice is. A plan's moves become actions of the kind
``move-slices``; each can be undone by moving back. Moves that share a node follow one another
("which are sequentially executed", MAPE-SDDL, section V.D); the others run side by side.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from evenflow.autonomic.actions import Action, ActionPlan, staged
from evenflow.balance import ALGORITHMS, algorithm_named
from evenflow.balance.verify import sound_plan
from evenflow.errors import DecodeError
from evenflow.model.plan import Move, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.autonomic.events import EventNotification
    from evenflow.balance.base import Algorithm
    from evenflow.model.snapshot import LoadSnapshot

MOVE_SLICES = "move-slices"
"""The kind of the actions."""
NODE_JOINED = "node-joined"
"""The event that a processing node has joined; its source is the node."""


@dataclass(slots=True)
class SlicePlanner:
    """Asks an algorithm what to move.

    Args:
        algorithm: Who decides.
        snapshot: What is known: gives the newest load snapshot.
        executor_id: Who carries the moves out (the balancer).
        run: Distinguishes the plans of this run from those of others.
        deadline_s: How long one move may take.
        numbers: Numbers for the plans.
    """

    algorithm: Algorithm
    snapshot: Callable[[], LoadSnapshot]
    executor_id: str
    run: str
    deadline_s: float = 30.0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def plan(self, event: EventNotification, now: float) -> ActionPlan | None:  # noqa: ARG002
        """The moves the algorithm asks for; a plan with faults is refused, not sent."""
        snapshot = self.snapshot()
        joined = event.source_id if event.event_id == NODE_JOINED else None
        plan = sound_plan(self.algorithm, snapshot, joined=joined)
        if not plan:
            return None
        plan_id = f"{self.run}-{next(self.numbers)}"
        reason = f"{self.algorithm.name}: {plan.reason}"
        actions = self._actions(plan)
        return ActionPlan(plan_id, actions, event.event_id, reason)

    def _actions(self, plan: Plan) -> tuple[Action, ...]:
        stages = staged(frozenset((move.giver, move.taker)) for move in plan.moves)
        return tuple(
            Action(
                f"move-{number}",
                self.executor_id,
                MOVE_SLICES,
                encoded(move),
                stage,
                self.deadline_s,
                encoded(Move(move.slices, move.taker, move.giver)),
            )
            for number, (move, stage) in enumerate(zip(plan.moves, stages, strict=True), start=1)
        )


def encoded(move: Move) -> bytes:
    """A move as the arguments of an action."""
    fields = {"slices": move.slices, "giver": move.giver, "taker": move.taker}
    return json.dumps(fields, separators=(",", ":")).encode()


def decoded(args: bytes) -> Move:
    """The move that an action's arguments mean.

    Raises:
        DecodeError: They are not those of a move.
    """
    try:
        fields = json.loads(args)
        return Move(tuple(map(int, fields["slices"])), str(fields["giver"]), str(fields["taker"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(f"not a move of slices: {error}", size=len(args)) from error


def slice_planners(
    snapshot: Callable[[], LoadSnapshot], executor_id: str, run: str, deadline_s: float = 30.0
) -> dict[str, Callable[..., SlicePlanner]]:
    """A maker of slice planners for every balancing algorithm, by its name.

    All of them number their plans from the same count, so that swapping one for another never gives
    two plans the same id.
    """
    numbers = count(1)

    def maker(name: str) -> Callable[..., SlicePlanner]:
        def make(**settings: float) -> SlicePlanner:
            algorithm = algorithm_named(name, **settings)
            return SlicePlanner(algorithm, snapshot, executor_id, run, deadline_s, numbers)

        return make

    return {name: maker(name) for name in ALGORITHMS}
