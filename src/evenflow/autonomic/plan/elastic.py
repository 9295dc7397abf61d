"""Elasticity: how many nodes there should be, within the operator's limits.

The papers note that slices allow "an elasticity of resources" (MAPE-SDDL, section IV.A): nodes are
added when the group as a whole is overloaded and one is stopped when it is underloaded: an idle one
if there is one (under ``saver`` there soon is), else the one with the least to do, which gives its
slices away before it ends. A distributed event says when; this planner says what: one action, to
start a node or to stop one. As long as the event lasts it is asked again and again.

After each change nothing is changed again for ``cooldown_s``: a new node needs time to take load
before the next look at the group means anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.actions import START_NODE, STOP_NODE, Action, ActionPlan
from evenflow.errors import ConfigError
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.autonomic.knowledge.knowledge import Knowledge


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is known of the nodes."""

    nodes: tuple[str, ...]
    """Nodes that take part, the one with the least to do first."""
    starting: int = 0
    """How many are about to join."""
    idle: frozenset[str] = frozenset()
    """Nodes that hold no work."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator allows."""

    least: int = 1
    most: int = 8
    cooldown_s: float = 60.0

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise ConfigError("elastic.least", self.least, f"must be from 0 to most ({self.most})")
        if not 0 <= self.cooldown_s < float("inf"):
            raise ConfigError("elastic.cooldown_s", self.cooldown_s, "must be 0 or more")


@dataclass(slots=True)
class Elastic:
    """Starts a node when ``grow_on`` is raised and stops one when ``shrink_on`` is.

    Args:
        fleet: Gives what is known of the nodes at a time.
        limits: What the operator allows.
        grow_on: The event that asks for more.
        shrink_on: The event that asks for fewer.
        executor_id: Who starts and stops nodes.
        deadline_s: How long a start or stop may take.
    """

    fleet: Callable[[float], Fleet]
    limits: Limits
    grow_on: str
    shrink_on: str
    executor_id: str
    deadline_s: float = 60.0
    _changed: float | None = None

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """A node that joins is what was asked for; the rule's event alone says whether to go on."""
        return self.analyze_load(knowledge)

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """One node more, one fewer, or nothing."""
        event, now = knowledge.event, knowledge.time
        if self._changed is not None and now - self._changed < self.limits.cooldown_s:
            return None
        fleet = self.fleet(now)
        size = len(fleet.nodes) + fleet.starting
        if event.event_id == self.grow_on and size < self.limits.most:
            too_few = "1 node is too few" if size == 1 else f"{size} nodes are too few"
            return self._one(START_NODE, b"", too_few, now)
        if event.event_id == self.shrink_on and fleet.nodes and size > self.limits.least:
            node = fleet.nodes[0]
            why = "is idle" if node in fleet.idle else "has the least to do"
            reason = f"{size} nodes are too many, {NodeId(node).name} {why}"
            return self._one(STOP_NODE, node.encode(), reason, now)
        return None

    def _one(self, kind: str, args: bytes, reason: str, now: float) -> ActionPlan:
        self._changed = now
        action = Action("a", self.executor_id, kind, args, deadline_s=self.deadline_s)
        return ActionPlan((action,), reason)
