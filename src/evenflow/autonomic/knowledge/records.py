"""What the history tells: things that were done, and the story of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.states import PlanState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.autonomic.analyze.local_events import EventNotification
    from evenflow.autonomic.execute.actions import ActionPlan
    from evenflow.autonomic.execute.controller import Note


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done: by a plan, by hand, or because it had to be."""

    time: float
    """When it began, time of day."""
    cause: str
    """What led to it, in one word: ``handover``, ``takeover``."""
    what: str
    """What was done, in words."""
    why: str
    """Why, in words."""
    outcome: str
    """``done``, or why it did not happen."""
    plan_id: str = ""
    """The plan it belongs to; empty when there was none."""
    figures: Mapping[str, float | str] = field(default_factory=dict)
    """What can be counted of it."""


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
