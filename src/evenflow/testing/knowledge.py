"""What a planner is told, made up for a test: an event, and a snapshot for every topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.model.snapshot import LoadSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable


def knowing(
    snapshot: Callable[[], LoadSnapshot] | None = None,
) -> Callable[[EventNotification, float], Knowledge]:
    """Makes the knowledge of an event; an empty history, and the same snapshot for every topic."""
    history = History(Path(":memory:"))
    make = snapshot or (lambda: LoadSnapshot(0.0, (), ()))

    def knowledge(event: EventNotification, now: float) -> Knowledge:
        return Knowledge(event, now, {}, lambda _topic: make(), history)

    return knowledge


def asked(
    snapshot: LoadSnapshot, event_id: str = "overload", source: str = "a", detail: str = ""
) -> Knowledge:
    """The knowledge of one event over one snapshot."""
    event = EventNotification(event_id, source, (), Phase.RAISED, 0.0, detail)
    return knowing(lambda: snapshot)(event, 0.0)
