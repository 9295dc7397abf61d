"""Random loads and deaths, reports in any order: gateways as they are needed, and no flapping."""

from __future__ import annotations

import json
import os
import random
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.autonomic.analyze.gateway_events import FLEET
from evenflow.autonomic.plan.elastic import Limits
from evenflow.domain.channels import Gone
from evenflow.mobile.gateway.naming import parent_of
from evenflow.mobile.poa.fleet import Demand, Member, OperationRange, demand_of
from evenflow.mobile.poa.manager import PoaManager
from evenflow.mobile.poa.planner import HANDOVER
from evenflow.model.messages import Attachment, GatewayReport

LOW, HIGH = 10.0, 30.0
TICK_S = 0.5
CALM_S = 200.0
SEEDS = int(os.environ.get("EVENFLOW_TEST_FLEETS", "25"))
"""Random schedules; many more take some minutes."""


class Gateway:
    """What a gateway does about orders, and what it says."""

    def __init__(self, name: str, *, retiring: bool = False) -> None:
        self.name = name
        self.nodes: set[str] = set()
        self.draining = self.retiring = retiring
        self.outbox = 0
        """Ticks until all it has accepted is committed."""

    def report(self, awaits: set[str]) -> GatewayReport:
        return GatewayReport(
            self.name, (f"quic://{self.name}:1",), len(self.nodes), 10_000, self.draining, (),
            self.retiring, tuple(sorted(awaits)),
        )  # fmt: skip


class World:
    """Gateways, nodes, and a PoA-Manager that hears of them late."""

    def __init__(self, rng: random.Random, least: int, most: int, operators: int) -> None:
        self.rng = rng
        self.least, self.most = least, most
        self.now = 100.0
        self.gateways: dict[str, Gateway] = {}
        self.folders: set[str] = set()
        """Gateways that were started by others and have not ended well."""
        self.dead: dict[str, float] = {}
        """Operators' gateways that are dead, and when they are started again."""
        self.at: dict[str, str] = {}
        self.connections: dict[str, int] = {}
        self.queues: dict[str, list[tuple[float, Any]]] = {}
        self.busy: tuple[float, Any] | None = None
        """The order of the plan under way, and when it arrives."""
        self.steps: list[tuple[float, str, str]] = []
        self.calm = False
        self.manager = PoaManager({"mobile_nodes": (LOW, HIGH)})
        made = self.manager.planners
        fleet = made["elastic-gateways"](
            least=least, most=most, full_s=5.0, idle_s=8.0, cooldown_s=10.0
        )
        even = made["poa"](rest_s=3.0, pace_per_s=0.0)
        self.planners: dict[str, Any] = {FLEET: fleet, "gateways": even}
        for number in range(operators):
            self.gateways[f"g{number}"] = Gateway(f"g{number}")

    # -- what the manager hears --------------------------------------------------------------------

    def tell(self, gateway: str, message: Any) -> None:
        late = 0.0 if self.calm else self.rng.choice([0.0, 0.0, 0.5, 2.0])
        queue = self.queues.setdefault(gateway, [])
        queue.append((max([self.now + late, *(when for when, _ in queue[-1:])]), message))

    def hear(self) -> None:
        names = list(self.queues)
        self.rng.shuffle(names)
        for name in names:
            queue = self.queues[name]
            while queue and queue[0][0] <= self.now:
                self.manager.handle(queue.pop(0)[1], self.now)

    @property
    def properties(self) -> dict[str, dict[str, float]]:
        heard = self.manager.view.gateways
        return {
            name: {"cpu": 10.0, "mobile_outbox_items": float(one.outbox)}
            for name, one in self.gateways.items()
            if name in heard
        }

    # -- nodes and gateways ------------------------------------------------------------------------

    def attach(self, node: str, gateway: str) -> None:
        self.leave(node)
        number = self.connections[node] = self.connections.get(node, 0) + 1
        self.at[node] = gateway
        self.gateways[gateway].nodes.add(node)
        self.gateways[gateway].outbox = 3
        self.tell(gateway, Attachment(gateway, node, number, True, "{}", 0.0))

    def leave(self, node: str) -> None:
        before = self.at.pop(node, "")
        if before in self.gateways:
            self.gateways[before].nodes.discard(node)
            number = self.connections[node]
            self.tell(before, Attachment(before, node, number, False, "{}", 0.0))

    def takers(self) -> list[str]:
        return [name for name, one in self.gateways.items() if not one.draining]

    def remove(self, name: str) -> None:
        gone = self.gateways.pop(name)
        for node in gone.nodes:
            self.tell(name, Gone(Attachment, (name, node)))
            self.at.pop(node)
        self.tell(name, Gone(GatewayReport, (name,)))
        for node in sorted(gone.nodes):
            if takers := self.takers():
                self.attach(node, self.rng.choice(takers))

    def kill(self) -> None:
        name = self.rng.choice(sorted(self.gateways))
        if len(self.gateways) > 1:
            self.remove(name)
            if not parent_of(name):
                self.dead[name] = self.now + self.rng.choice([3.0, 30.0])

    def change_load(self) -> None:
        for _ in range(self.rng.choice([1, 10, 60])):
            if self.rng.random() < 0.5 and self.at:
                self.leave(self.rng.choice(sorted(self.at)))
            elif takers := self.takers():
                self.attach(f"n{self.rng.randrange(150)}", self.rng.choice(takers))

    # -- plans -------------------------------------------------------------------------------------

    def obey(self, order: Any) -> None:
        """What the executor of a gateway does; what it refuses fails the plan."""
        event_id, action = order
        args, name = json.loads(action.args), action.executor_id
        gateway = self.gateways.get(name)
        if gateway is None:
            self.manager.plan_failed(event_id, name, self.now)
        elif action.kind == "mobile.start":
            self.start(args["name"], retiring=args["retiring"])
        elif action.kind == "mobile.drain":
            gateway.draining, gateway.retiring = args["on"], args["retire"]
        elif action.kind == "mobile.stop":
            if not gateway.retiring or gateway.nodes or gateway.outbox:
                self.manager.plan_failed(event_id, name, self.now)
                return
            self.folders.discard(name)
            self.remove(name)
        elif action.kind == HANDOVER:
            target = args["addresses"][0].removeprefix("quic://").removesuffix(":1")
            for node in args["nodes"]:
                if self.at.get(node) == name and target in self.takers():
                    self.attach(node, target)

    def start(self, name: str, *, retiring: bool) -> None:
        if name in self.gateways:
            return  # it is not heard yet
        self.gateways[name] = Gateway(name, retiring=retiring)
        self.folders.add(name)

    def ask(self) -> None:
        for event in self.manager.events(self.properties, self.planners.__getitem__, self.now):
            rule = next(one for one in self.manager.rules if one.event == event.event_id)
            if rule.planner == FLEET and self.busy is not None:
                continue  # plans run one after the other
            known = SimpleNamespace(event=event, time=self.now, properties=self.properties)
            plan = self.planners[rule.planner].analyze_load(known)
            for action in plan.actions if plan else ():
                if rule.planner != FLEET:
                    self.obey((event.event_id, action))
                    continue
                self.check_step(action)
                late = 1.0 if self.calm else self.rng.choice([0.0, 1.0, 3.0])
                self.busy = (self.now + late, (event.event_id, action))

    def check_step(self, action: Any) -> None:
        self.steps.append((self.now, action.kind, action.args.decode()))
        view = {post.name: post for post in self.manager.view.posts()}
        size = sum(not one.retiring for one in self.manager.view.gateways.values())
        serving = [post for post in view.values() if not post.draining]
        if action.kind == "mobile.stop":
            assert not view[action.executor_id].nodes, "it has nodes"
            assert parent_of(action.executor_id), "an operator's is not stopped"
        elif action.kind == "mobile.drain" and b'"retire":true' in action.args:
            assert len(serving) > self.least, "never below the least"
            assert parent_of(action.executor_id)
        elif b'"retiring":true' not in action.args:
            assert size < self.most, "never above the most"

    # -- time --------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / TICK_S)):
            self.now += TICK_S
            for name in [name for name, when in self.dead.items() if when <= self.now]:
                del self.dead[name]
                self.gateways[name] = Gateway(name)
            for name, one in self.gateways.items():
                one.outbox = max(0, one.outbox - 1)
                mine = {child for child in self.folders if parent_of(child) == name}
                self.tell(name, one.report(mine - self.gateways.keys()))
            self.hear()
            if self.busy is not None and self.busy[0] <= self.now:
                (_, order), self.busy = self.busy, None
                self.obey(order)
            self.ask()

    def rest(self) -> None:
        """Nobody comes, goes or dies any more; whoever is nowhere finds a gateway."""
        self.calm = True
        self.dead = dict.fromkeys(self.dead, self.now)
        self.run(CALM_S)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_many_as_are_needed_and_no_flapping(seed: int) -> None:
    """`check_step` looks at every step."""
    rng = random.Random(seed)
    operators = rng.randint(1, 2)
    most = operators + rng.randint(0, 3)
    least = rng.randint(1, most)
    world = World(rng, least, most, operators)
    for _ in range(60):
        choice = rng.random()
        if choice < 0.06:
            world.kill()
        elif choice < 0.5:
            world.change_load()
        else:
            world.run(rng.choice([1.0, 5.0, 20.0]))
    world.rest()
    before = list(world.steps)
    world.run(CALM_S)
    assert world.steps == before, "at quiet the number is stable"
    members = [
        Member(name, len(one.nodes), float(len(one.nodes)), one.draining, one.retiring)
        for name, one in world.gateways.items()
    ]
    assert not [one for one in members if one.retiring], "who shall end has ended"
    assert least <= len(members) <= world.most
    demand = demand_of(members, OperationRange(LOW, HIGH), Limits(least, most))
    assert demand is not Demand.FULL or len(members) == world.most
    elastic = [one for one in members if one.parent]
    assert demand is not Demand.IDLE or len(members) == least or not elastic
