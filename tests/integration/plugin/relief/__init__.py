"""A package of its own that teaches Evenflow a new way to relieve a hot node.

The planner answers an event of a node by asking that node's process to do less work for each item;
the executor there sets the application's ``effort``. Both are found by their entry points.
"""

from __future__ import annotations

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.executors import CallExecutor, Surroundings
from evenflow.autonomic.knowledge.knowledge import Knowledge


class Relief:
    """Asks the node that is hot to take it easier, once."""

    def __init__(self, *, effort: float, topic: str) -> None:
        self._effort, self._topic = effort, topic

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """One action for the process that raised the event."""
        hot = knowledge.event.source_id
        seen = {each.name: each.value for each in knowledge.event.properties}
        known = {node.name for node in knowledge.snapshot_of(self._topic).nodes}
        relieved = {
            action.executor_id
            for story in knowledge.history.stories()
            for action in story.plan.actions
        }
        if hot not in known or hot not in knowledge.properties or hot in relieved:
            return None
        action = Action("a", hot, "work-less", str(self._effort).encode(), undo=b"1.0")
        return ActionPlan((action,), f"busy at {seen['busy']:.0f} %")

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """A node that joins is not hot yet."""
        return None


def make_executor(surroundings: Surroundings) -> CallExecutor:
    """Sets the effort of the node's application."""

    def set_effort(args: bytes) -> None:
        surroundings.application.effort = float(args)

    return CallExecutor(set_effort, set_effort)
