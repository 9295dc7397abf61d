"""Events of other processes, as they come over the domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property

if TYPE_CHECKING:
    from evenflow.model.messages import EventNotice


def event_of(notice: EventNotice) -> EventNotification:
    """The event that a message tells of."""
    rows = zip(notice.names, notice.values, notice.times, strict=True)
    return EventNotification(
        notice.event,
        notice.source,
        tuple(Property(*row) for row in rows),
        Phase.RAISED if notice.raised else Phase.CLEARED,
        notice.time,
    )
