"""Action plans: what shall be done, in which order, and how it is undone.

MAPE-SDDL's Action Plan topic (Listing 2): a plan has an id and a sequence of actions, each with an
id, the node that executes it and its arguments. Ours adds what the controller needs to run it: the
*stage* of an action (actions of one stage may run side by side, a stage begins when the one before
is done), its deadline, and the arguments that undo it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable


START_NODE = "start-node"
STOP_NODE = "stop-node"
"""The kinds of the actions that start and stop a processing node."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a plan."""

    action_id: str
    """Unique in its plan."""
    executor_id: str
    """Who executes it."""
    kind: str
    """What to do, as the executor calls it."""
    args: bytes = b""
    """Arguments, in the form that kind of action has."""
    stage: int = 0
    """Actions of one stage run side by side; stages run one after the other."""
    deadline_s: float = 10.0
    """An action that is not acknowledged in this time has failed."""
    undo: bytes | None = None
    """Arguments that undo it; ``None`` when there is nothing to undo."""


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """A sequence of actions that belong together: all of them are done or none."""

    actions: tuple[Action, ...]
    reason: str = ""
    """Why this is done, for the history and the operator."""
    plan_id: str = ""
    """Given by whoever asked for the plan; no two plans have the same."""
    event_id: str = ""
    """The event that it answers, given likewise."""
    source_id: str = ""
    """Where that event was raised."""

    def __post_init__(self) -> None:
        ids = [action.action_id for action in self.actions]
        if len(set(ids)) != len(ids):
            raise PlanError("two actions of one plan have the same id; number them")

    @property
    def stages(self) -> tuple[int, ...]:
        """The numbers of its stages, in order."""
        return tuple(sorted({action.stage for action in self.actions}))


def staged(resources: Iterable[frozenset[str]]) -> list[int]:
    """A stage for each of several actions, so that no two of one stage need the same resource.

    Each action goes into the first stage after all earlier ones that share something with it: the
    order of actions that depend on one another is kept, the others run side by side.
    """
    busy_until: dict[str, int] = {}
    stages = []
    for needed in resources:
        stage = max((busy_until.get(resource, 0) for resource in needed), default=0)
        stages.append(stage)
        busy_until.update(dict.fromkeys(needed, stage + 1))
    return stages
