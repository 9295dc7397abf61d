"""The PoA-Manager's second planner: gateways come and go, as processing nodes do.

What is to be done is decided in :mod:`evenflow.mobile.poa.fleet`; here it is looked at with what is
known of gateways, and becomes a plan of one action, carried out by a gateway:

================  ==============  ================================================================
action            given to        done when
================  ==============  ================================================================
``mobile.start``  the parent      the new gateway is heard
``mobile.drain``  the gateway     it takes no new nodes and says that it retires; or does no more
``mobile.stop``   the gateway     it has no nodes and all it accepted is committed, and it ends; it
                                  refuses when it has nodes or is not retiring
================  ==============  ================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.plan.elastic import Limits
from evenflow.errors import ConfigError
from evenflow.mobile.gateway.naming import parent_of
from evenflow.mobile.poa.evening import LOADS
from evenflow.mobile.poa.fleet import (
    Demand,
    Member,
    OperationRange,
    Patience,
    Verb,
    demand_of,
    next_step,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.autonomic.knowledge.knowledge import Knowledge
    from evenflow.mobile.poa.fleet import Step
    from evenflow.mobile.poa.view import GatewayView

    Properties = Mapping[str, Mapping[str, float]]

START: Final = "mobile.start"
DRAIN: Final = "mobile.drain"
STOP: Final = "mobile.stop"
MOST_GATEWAYS: Final = 1_000
KEY: Final = "planners.gateway-fleet"


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """What the operator can choose: ``[planners.gateway-fleet]``."""

    by: str = "nodes"
    """What a gateway carries: ``nodes``, ``items`` (a second) or ``cpu``."""
    fitting: OperationRange = field(default_factory=lambda: OperationRange(0.0, float("inf")))
    """The operation range of that property."""
    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    """How many; one at most, unless told otherwise: none is started."""
    full_s: float = 10.0
    """How long all must be above the range."""
    idle_s: float = 60.0
    """How long all must be below it."""
    deadline_s: float = 60.0
    """How long a start or a stop may take."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("full_s", self.full_s, 0.0, 86_400.0),
            ("idle_s", self.idle_s, 0.0, 86_400.0),
            ("deadline_s", self.deadline_s, 1.0, 3_600.0),
        ):
            if not least <= value <= most:
                allowed = f"must be a number from {least:g} to {most:g}"
                raise ConfigError(f"{KEY}.{name}", value, allowed)


def limits_of(least: float, most: float, cooldown_s: float) -> Limits:
    """How many gateways there may be, and the time between two changes.

    Raises:
        ConfigError: They contradict each other.
    """
    if not 0 <= least <= most <= MOST_GATEWAYS:
        raise ConfigError(
            f"{KEY}.most", most, f"must be from least ({least:g}) to {MOST_GATEWAYS}; least from 0"
        )
    if not 0 <= cooldown_s < float("inf"):
        raise ConfigError(f"{KEY}.cooldown_s", cooldown_s, "must be 0 or more")
    return Limits(int(least), int(most), cooldown_s)


def range_of(by: str, most: int, ranges: Mapping[str, tuple[float, ...]]) -> OperationRange:
    """The operation range that is declared for what gateways carry.

    Raises:
        ConfigError: Nothing is called so; or gateways shall be started, and it is not declared.
    """
    if by not in LOADS:
        raise ConfigError(f"{KEY}.by", by, f"must be one of {', '.join(LOADS)}")
    bounds = ranges.get(LOADS[by], ())
    if len(bounds) >= 2:
        return OperationRange(bounds[0], bounds[-1])
    if most > 1:
        raise ConfigError(
            f"monitor.ranges.{LOADS[by]}",
            list(bounds),
            f"declare what a gateway carries at its ease, for {KEY}: {LOADS[by]} = [LOW, HIGH]",
        )
    return OperationRange(0.0, float("inf"))


class FleetPlanner:
    """Plans that start and stop gateways, as a planner of the loop.

    Args:
        view: What is known of gateways.
        patience: How long what has lasted; kept by whoever makes planners.
        settings: What the operator chose.
    """

    def __init__(self, view: GatewayView, patience: Patience, settings: FleetSettings) -> None:
        self.settings = settings
        self._view = view
        self._patience = patience

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """Processing nodes are not its business, but the operator's rules are."""
        return self.analyze_load(knowledge)

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """One gateway more, one fewer, or nothing."""
        step = self.step(knowledge.properties, knowledge.time)
        if step is None:
            return None
        if step.verb in (Verb.START, Verb.RETIRE, Verb.TAKE_BACK):
            self._patience.changed = knowledge.time
        return ActionPlan((self._action(step),), step.reason)

    def step(self, properties: Properties, now: float) -> Step | None:
        """What is to be done next, if anything is."""
        settings, members = self.settings, self._members(properties)
        demand = demand_of(members, settings.fitting, settings.limits)
        self._patience.look(demand, now)
        cooldown = settings.limits.cooldown_s
        return next_step(
            members,
            self._view.awaited - self._view.gateways.keys() - self._view.forgotten,
            self._patience.lasting(settings.full_s, settings.idle_s, cooldown, now),
            settings.limits,
            full=demand is Demand.FULL,
            reserved=self._view.forgotten,
        )

    def _members(self, properties: Properties) -> list[Member]:
        awaited, reports = self._view.awaited, self._view.gateways
        found = []
        for post in self._view.posts():
            report, known = reports[post.name], properties.get(post.name, {})
            by_nodes = self.settings.by == "nodes"
            load = float(len(post.nodes)) if by_nodes else known.get(LOADS[self.settings.by])
            found.append(
                Member(
                    post.name,
                    max(len(post.nodes), report.nodes),
                    load,
                    post.draining,
                    report.retiring,
                    post.name in awaited or known.get("mobile_outbox_items", 1.0) > 0,
                    known.get("cpu", 0.0) if post.name in properties else None,
                )
            )
        return found

    def _action(self, step: Step) -> Action:
        args: dict[str, object] = {}
        executor, kind = step.gateway, DRAIN
        match step.verb:
            case Verb.START | Verb.REVIVE:
                executor, kind = parent_of(step.gateway), START
                args = {"name": step.gateway, "retiring": step.verb is Verb.REVIVE}
            case Verb.STOP:
                kind = STOP
            case _:
                on = step.verb is Verb.RETIRE
                args = {"on": on, "retire": on}
        encoded = msgspec.json.encode(args)
        return Action("a", executor, kind, encoded, deadline_s=self.settings.deadline_s)
