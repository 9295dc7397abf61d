"""Bounded loads as a companion of a balancer's loop.

It hears the reports of bridges and their tables of arcs, and raises an event
(:class:`~evenflow.autonomic.analyze.bridge_events.BridgeEvent`) when two looks in a row found a
bridge above the bound that can be helped, and the last plan was made a while ago. The planner in
the place ``bridges`` answers it. The operator's rules may ask it for events of their own, on the
properties of bridges::

    [events.crowded]
    expression = "bridge_devices > 4000.0"
    duration_s = 10.0

    [[rules]]
    event = "crowded"
    planner = "bridges"

It holds nothing that it could not hear again, so any balancer goes on where another one ended.
A bridge that comes or goes needs no plan: the ring gives it its share by itself, or shares out what
it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenflow.autonomic.analyze.bridge_events import PLACE, BridgeEvent
from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.plan.planning import Place, Rule
from evenflow.bridge.balancing.planner import BoundedPlanner, BoundedSettings, Planned
from evenflow.bridge.balancing.view import BridgeView
from evenflow.domain.channels import ARCS, BRIDGES, Gone
from evenflow.model.messages import ArcTable, BridgeReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.plan.planning import MakePlanner, Planner

PLANNER: Final = "bounded-loads"
LISTEN_S: Final = 2.0
"""How long it listens before it tells of anything: every bridge has reported by then."""
LOOK_S: Final = 1.0
"""The time between two looks."""
RETRY_S: Final = 5.0
"""After a plan that failed."""


class RingManager:
    """Keeps bridges within a bound above the mean, beside a balancer of slices."""

    channels = (BRIDGES, ARCS)
    places: Mapping[str, Place] = {PLACE: Place(PLANNER)}
    rules = tuple(Rule(event.value, PLACE) for event in BridgeEvent)

    def __init__(self) -> None:
        self.view = BridgeView()
        self._planned = Planned()
        self._usual = BoundedPlanner(self.view, self._planned, BoundedSettings())
        self._listening_until: float | None = None
        self._next_look = 0.0
        self._suspected = False
        """Whether the last look found a bridge above the bound."""

    @property
    def planners(self) -> Mapping[str, MakePlanner]:
        """Who makes its planner."""
        return {PLANNER: self._made}

    def _made(
        self, *, factor: float = 1.1, by: str = "devices", pause_s: float = 10.0
    ) -> BoundedPlanner:
        """Make a planner by the settings of ``[planners.bridges]``."""
        return BoundedPlanner(self.view, self._planned, BoundedSettings(factor, by, pause_s))

    def handle(self, message: Any, now: float) -> None:
        """Take in what a bridge tells, or that one is not heard any more."""
        if self._listening_until is None:
            self._listening_until = now + LISTEN_S
        match message:
            case BridgeReport():
                self.view.on_report(message)
            case ArcTable():
                self.view.on_table(message)
            case Gone() if message.message_type is BridgeReport:
                self.view.on_gone(message.key[0])

    def events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],
        now: float,
    ) -> list[EventNotification]:
        """Tell that bridges are uneven, at the second look."""
        if self._listening_until is None or now < max(self._listening_until, self._next_look):
            return []
        self._next_look = now + LOOK_S
        at_work = planner_at(PLACE)
        planner = at_work if isinstance(at_work, BoundedPlanner) else self._usual
        if now < self._planned.at + planner.settings.pause_s:
            self._suspected = False
            return []
        before, self._suspected = self._suspected, bool(planner.gifts(properties))
        if not (before and self._suspected):
            return []
        return [self._event(now)]

    def _event(self, now: float) -> EventNotification:
        seen = tuple(
            Property(f"bridge_devices {name}", float(report.devices), now)
            for name, report in sorted(self.view.bridges.items())
        )
        return EventNotification(BridgeEvent.UNEVEN.value, PLACE, seen, Phase.RAISED, now)

    def plan_failed(self, event_id: str, source_id: str, now: float) -> None:  # noqa: ARG002
        """Another bridge is asked, a little later."""
        if event_id in {event.value for event in BridgeEvent}:
            self._planned.failures += 1
            self._planned.at = float("-inf")
            self._next_look = now + RETRY_S
