"""The PoA-Manager among simulated clients and gateways: it hears the domain, its plans arrive.

Everything else is the simulated mobile edge with all its faults. Orders may be lost with the
gateway they are for; what came of them the manager sees from attachments alone.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from evenflow.autonomic.analyze.gateway_events import FLEET
from evenflow.mobile.gateway import events
from evenflow.mobile.poa.fleet_planner import FleetPlanner
from evenflow.mobile.poa.manager import PoaManager
from evenflow.mobile.poa.planner import ALTERNATIVES, GatewayPlanner
from evenflow.model.messages import Attachment, GatewayReport
from evenflow.testing.invariants import Violation
from evenflow.testing.virtual_time import Process

if TYPE_CHECKING:
    from evenflow.autonomic.execute.actions import Action
    from evenflow.testing.mobile.cluster import MobileCluster

LOOK_S = 0.25


class SimManager(Process):
    """The PoA-Manager, and the loop that asks it."""

    def __init__(self, cluster: MobileCluster, **settings: Any) -> None:
        Process.__init__(self, "poa")
        self.cluster = cluster
        self._settings = settings
        self.moved: dict[str, float] = {}
        """When each node was last told to go."""
        self.orders = 0
        cluster.domain.join(self, self._take, (GatewayReport, Attachment))
        self.start()

    def start(self) -> None:
        """Start it: it knows nothing, and hears everything from the domain."""
        self.life += 1
        self.alive = True
        self.manager = PoaManager()
        planner = self.manager.planners["poa"](**self._settings)
        assert isinstance(planner, GatewayPlanner)
        self.planner = planner
        self.cluster.time.later(LOOK_S, self._look, self)

    def kill(self) -> None:
        """``kill -9`` of the balancer that has it."""
        self.alive = self.stopped = False

    def _take(self, message: Any) -> None:
        self.manager.handle(message, self.cluster.now)

    @property
    def _properties(self) -> dict[str, dict[str, float]]:
        return {name: {} for name in self.manager.view.gateways}

    def _planner_at(self, place: str) -> GatewayPlanner | FleetPlanner:
        fleet = self.manager.planners["elastic-gateways"]()
        assert isinstance(fleet, FleetPlanner)
        return fleet if place == FLEET else self.planner

    def _look(self) -> None:
        now = self.cluster.now
        for event in self.manager.events(self._properties, self._planner_at, now):
            asked = SimpleNamespace(event=event, time=now, properties=self._properties)
            plan = self.planner.analyze_load(asked)  # type: ignore[arg-type]
            for action in plan.actions if plan else ():
                self._order(action)
        self.cluster.time.later(LOOK_S, self._look, self)

    def _order(self, action: Action) -> None:
        args = json.loads(action.args)
        gateway = self.cluster.gateways[action.executor_id]
        if action.kind == ALTERNATIVES:
            event: Any = events.AlternativesOrder(tuple(args["addresses"]))
        else:
            self._check(action.executor_id, args["nodes"])
            self.orders += 1
            event = events.HandoverOrder(
                f"poa/{self.orders}/1",
                tuple(args["nodes"]),
                tuple(args["addresses"]),
                args["within_s"],
                args["make_before_break"],
                args["pace_per_s"],
            )
        if gateway.alive:
            self.cluster.time.later(
                self.cluster.time.latency(), lambda: gateway.tell(event), gateway
            )

    def _check(self, giver: str, nodes: list[str]) -> None:
        """Nobody is told to go again before it has rested, unless its gateway drains."""
        now, rest = self.cluster.now, self.planner.settings.evening.rest_s
        held = next(one for one in self.manager.view.posts() if one.name == giver)
        for node in nodes:
            if not held.draining and now - held.nodes[node] < rest:
                raise Violation(f"{node} goes after {now - held.nodes[node]:.1f} s")
            self.moved[node] = now
