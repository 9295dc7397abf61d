"""The PoA-Manager as a companion of a balancer's loop (MAPE-SDDL, section III.B).

It hears gateways and attachments, and raises events
(:class:`~evenflow.autonomic.analyze.gateway_events.GatewayEvent`): that gateways have come, gone or
changed, at once; and that they are uneven, when two looks in a row agree. It looks only after it
has heard something. Both are answered by the planner in the place ``gateways``. What the planner in
the place ``gateway-fleet`` would do about their number is an event too: all are above their range
or below it, one has drained, one is awaited. The operator's rules may ask both planners for events
of their own, on the properties of gateways::

    [events.crowded]
    expression = "mobile_nodes > 8000.0"
    duration_s = 10.0

    [[rules]]
    event = "crowded"
    planner = "gateways"

Nodes that it finds attached when it begins count as attached long ago; it begins to plan when it
has listened for a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenflow.autonomic.analyze.gateway_events import FLEET, PLACE, GatewayEvent
from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.plan.planning import Place, Rule
from evenflow.domain.channels import ATTACHMENTS, GATEWAYS, Gone
from evenflow.mobile.poa.evening import Evening, uneven
from evenflow.mobile.poa.fleet import Patience, Verb
from evenflow.mobile.poa.fleet_planner import FleetPlanner, FleetSettings, limits_of, range_of
from evenflow.mobile.poa.planner import GatewayPlanner, Settings
from evenflow.mobile.poa.view import GatewayView
from evenflow.model.messages import Attachment, GatewayReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.plan.planning import MakePlanner, Planner
    from evenflow.mobile.poa.fleet import Step

PLANNER: Final = "poa"
FLEET_PLANNER: Final = "elastic-gateways"
LISTEN_S: Final = 1.0
"""How long it listens before it tells of anything."""
LOOK_S: Final = 1.0
"""The time between two looks at how even gateways are."""
RETRY_S: Final = 10.0
"""After a plan that failed."""
AGAIN_S: Final = 5.0
"""After this time a step that is still to be done is told again."""
LONG_AGO: Final = float("-inf")
FLEET_EVENTS: Final = {
    Verb.START: GatewayEvent.FULL,
    Verb.TAKE_BACK: GatewayEvent.FULL,
    Verb.RETIRE: GatewayEvent.IDLE,
    Verb.STOP: GatewayEvent.DRAINED,
    Verb.REVIVE: GatewayEvent.AWAITED,
}
"""The event that asks for each step of the fleet."""


class PoaManager:
    """Keeps gateways even, and as many as are needed, beside a balancer of slices.

    Args:
        ranges: The operation ranges of properties, as the operator has declared them.
    """

    def __init__(self, ranges: Mapping[str, tuple[float, ...]] | None = None) -> None:
        self.view = GatewayView()
        self._ranges = dict(ranges or {})
        self._patience = Patience()
        self._usual_fleet = FleetPlanner(self.view, self._patience, FleetSettings())
        self._asked_for: Step | None = None
        """The step of the fleet that was last told."""
        self._next_fleet_look = 0.0
        self._ask_again_at = 0.0
        self._told: dict[str, tuple[str, ...]] = {}
        self._usual = GatewayPlanner(self.view, self._told, Settings())
        self._listening_until: float | None = None
        self._changed: list[str] = []
        self._heard = False
        """Whether something was heard since the last look."""
        self._suspected = False
        """Whether the last look found gateways uneven."""
        self._next_look = 0.0
        self._quiet_until = 0.0

    channels = (GATEWAYS, ATTACHMENTS)
    places: Mapping[str, Place] = {PLACE: Place(PLANNER), FLEET: Place(FLEET_PLANNER)}
    rules = tuple(
        Rule(event.value, FLEET if event in FLEET_EVENTS.values() else PLACE)
        for event in GatewayEvent
    )

    @property
    def planners(self) -> Mapping[str, MakePlanner]:
        """Who makes its planners."""
        return {PLANNER: self._made, FLEET_PLANNER: self._fleet_made}

    def _fleet_made(
        self,
        *,
        by: str = "nodes",
        least: float = 1,
        most: float = 1,
        full_s: float = 10.0,
        idle_s: float = 60.0,
        cooldown_s: float = 60.0,
        deadline_s: float = 60.0,
    ) -> FleetPlanner:
        """Make a planner by the settings of ``[planners.gateway-fleet]``."""
        limits = limits_of(least, most, cooldown_s)
        fitting = range_of(by, limits.most, self._ranges)
        settings = FleetSettings(by, fitting, limits, full_s, idle_s, deadline_s)
        return FleetPlanner(self.view, self._patience, settings)

    def _made(
        self,
        *,
        by: str = "nodes",
        pace_per_s: float = 200.0,
        within_s: float = 10.0,
        make_before_break: bool = True,
        least_gain: float = 0.1,
        rest_s: float = 30.0,
        most_moves: float = 10_000,
    ) -> GatewayPlanner:
        """Make a planner by the settings of ``[planners.gateways]``."""
        evening = Evening(least_gain, rest_s, int(most_moves))
        settings = Settings(by, pace_per_s, within_s, bool(make_before_break), evening)
        return GatewayPlanner(self.view, self._told, settings)

    # -- what is heard -----------------------------------------------------------------------------

    def handle(self, message: Any, now: float) -> None:
        """Take in what a gateway tells, or that one is not heard any more."""
        if self._listening_until is None:
            self._listening_until = now + LISTEN_S
            self._patience.begin(now)
        match message:
            case GatewayReport():
                if self.view.on_report(message):
                    self._changed.append(message.gateway)
            case Attachment():
                listening = now < self._listening_until
                self.view.on_attachment(message, LONG_AGO if listening else now)
            case Gone() if message.message_type is Attachment:
                gateway, node = message.key
                self.view.on_attachment_gone(gateway, node, now)
            case Gone() if message.message_type is GatewayReport:
                self._told.pop(message.key[0], None)
                if self.view.on_gone(message.key[0]):
                    self._changed.append(message.key[0])
        self._heard = True

    # -- what is told ------------------------------------------------------------------------------

    def events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],
        now: float,
    ) -> list[EventNotification]:
        """Tell what there is to tell of gateways, and of how many there are."""
        if self._listening_until is None or now < self._listening_until:
            return []
        told = self._evening_events(properties, planner_at, now)
        return told + self._fleet_events(properties, planner_at, now)

    def _fleet_events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],
        now: float,
    ) -> list[EventNotification]:
        """Tell what the planner of the fleet would do; again only when it stays to be done."""
        if now < self._next_fleet_look:
            return []
        self._next_fleet_look = now + LOOK_S
        at_work = planner_at(FLEET)
        planner = at_work if isinstance(at_work, FleetPlanner) else self._usual_fleet
        step, before = planner.step(properties, now), self._asked_for
        self._asked_for = step
        if step is None or (step == before and now < self._ask_again_at):
            return []
        self._ask_again_at = now + AGAIN_S
        return [self._event(FLEET_EVENTS[step.verb], step.gateway, now)]

    def _evening_events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],
        now: float,
    ) -> list[EventNotification]:
        """Tell that gateways have changed, at once; that they are uneven, at the second look."""
        if now < self._quiet_until:
            return []
        at_work = planner_at(PLACE)
        planner = at_work if isinstance(at_work, GatewayPlanner) else self._usual
        if self._changed or (now >= self._next_look and planner.outdated(properties)):
            source = self._changed[-1] if self._changed else PLACE
            self._changed.clear()
            self._next_look = now + LOOK_S
            return [self._event(GatewayEvent.CHANGED, source, now)]
        if now < self._next_look or not (self._heard or self._suspected):
            return []
        self._next_look = now + LOOK_S
        self._heard = False
        before = self._suspected
        self._suspected = uneven(planner.posts(properties), planner.settings.evening)
        if not (before and self._suspected):
            return []
        return [self._event(GatewayEvent.UNEVEN, PLACE, now)]

    def _event(self, event: GatewayEvent, source: str, now: float) -> EventNotification:
        seen = tuple(
            Property(f"mobile_nodes {post.name}", float(len(post.nodes)), now)
            for post in self.view.posts()
        )
        return EventNotification(event.value, source, seen, Phase.RAISED, now)

    def plan_failed(self, event_id: str, source_id: str, now: float) -> None:  # noqa: ARG002
        """Whatever a plan has told the gateways may not have reached them: tell it again, later."""
        if event_id in {event.value for event in FLEET_EVENTS.values()}:
            self._next_fleet_look = now + RETRY_S
        elif event_id in {event.value for event in GatewayEvent}:
            self._told.clear()
            self._suspected = True
            self._quiet_until = now + RETRY_S
