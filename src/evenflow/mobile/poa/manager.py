"""The PoA-Manager as a companion of a balancer's loop (MAPE-SDDL, section III.B).

It hears gateways and attachments, and raises two events
(:class:`~evenflow.autonomic.analyze.gateway_events.GatewayEvent`): that gateways have come, gone or
changed, at once; and that they are uneven, when two looks in a row agree. It looks only after it
has heard something. Both are answered by the planner in the place ``gateways``, which the
operator's rules may ask for events of their own too, on the properties of gateways::

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

from evenflow.autonomic.analyze.gateway_events import PLACE, GatewayEvent
from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.plan.planning import Place, Rule
from evenflow.domain.channels import ATTACHMENTS, GATEWAYS, Gone
from evenflow.mobile.poa.evening import Evening, uneven
from evenflow.mobile.poa.planner import GatewayPlanner, Settings
from evenflow.mobile.poa.view import GatewayView
from evenflow.model.messages import Attachment, GatewayReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.plan.planning import MakePlanner, Planner

PLANNER: Final = "poa"
LISTEN_S: Final = 1.0
"""How long it listens before it tells of anything."""
LOOK_S: Final = 1.0
"""The time between two looks at how even gateways are."""
RETRY_S: Final = 10.0
"""After a plan that failed."""
LONG_AGO: Final = float("-inf")


class PoaManager:
    """Keeps gateways even, beside a balancer of slices."""

    def __init__(self) -> None:
        self.view = GatewayView()
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
    places: Mapping[str, Place] = {PLACE: Place(PLANNER)}
    rules = tuple(Rule(event.value, PLACE) for event in GatewayEvent)

    @property
    def planners(self) -> Mapping[str, MakePlanner]:
        """Who makes its planner."""
        return {PLANNER: self._made}

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
        """Tell that gateways have changed, at once; that they are uneven, at the second look."""
        if self._listening_until is None or now < max(self._listening_until, self._quiet_until):
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
        if event_id in {event.value for event in GatewayEvent}:
            self._told.clear()
            self._suspected = True
            self._quiet_until = now + RETRY_S
