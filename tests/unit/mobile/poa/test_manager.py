"""The PoA-Manager on a real loop: what it hears leads to plans for gateways, and to no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenflow.autonomic.analyze.gateway_events import PLACE, GatewayEvent
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.plan.planning import Place, PlanningService
from evenflow.config import Config
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError
from evenflow.mobile.poa.manager import LISTEN_S, LOOK_S, PoaManager
from evenflow.model.messages import ActionOrder, Attachment, GatewayReport


class World:
    """A loop with the PoA-Manager, and gateways that do what they are told."""

    def __init__(self, folder: Path, **settings: float | str) -> None:
        self.manager = PoaManager()
        plan = design(Config(), [self.manager])
        places = {**self.manager.places, PLACE: Place("poa", settings)}
        rules = [rule for rule in plan.rules if rule.planner in places]
        self.history = History(folder / "history.db", keep=1_000, keep_octets=1 << 20)
        planning = PlanningService(rules, places, self.manager.planners, self._knowledge)
        self.loop = AutonomicLoop(plan.composite(), planning, self.history, {})
        self.now = 100.0
        self.at: dict[str, str] = {}
        self.connections: dict[str, int] = {}
        self.told: dict[str, tuple[str, ...]] = {}
        self.reports: dict[str, GatewayReport] = {}
        self.deaf: set[str] = set()
        self.moved: list[str] = []
        self.loop.begin(self.now)

    def _knowledge(self, event: Any, now: float) -> Knowledge:
        return Knowledge(event, now, self.loop.properties, lambda topic: None, self.history)  # type: ignore[arg-type, return-value]

    def gateway(self, name: str, *, most: int = 1_000, draining: bool = False) -> None:
        report = GatewayReport(name, (f"quic://{name}:1",), 0, most, draining, ())
        self.reports[name] = report
        self.manager.handle(report, self.now)
        self.loop.reported(name, {"mobile_nodes": 0.0}, self.now)

    def lose(self, name: str) -> None:
        self.manager.handle(Gone(GatewayReport, (name,)), self.now)
        self.loop.gone(name, self.now)

    def attach(self, node: str, gateway: str) -> None:
        before = self.at.get(node)
        number = self.connections[node] = self.connections.get(node, 0) + 1
        self.at[node] = gateway
        self.manager.handle(Attachment(gateway, node, number, True, "{}", 0.0), self.now)
        if before and before != gateway:
            gone = Attachment(before, node, number - 1, False, "{}", 0.0)
            self.manager.handle(gone, self.now)

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.1)):
            self.now += 0.1
            for event in self.manager.events(self.loop.properties, self.loop.planning.at, self.now):
                self.loop.raise_event(event)
            self.loop.poll(self.now)
            for event_id, source in self.loop.failed():
                self.manager.plan_failed(event_id, source, self.now)
            for order in self.loop.orders():
                self._obey(order)

    def _obey(self, order: ActionOrder) -> None:
        if order.executor_id in self.deaf:
            self.loop.answered(outcome_of(order, ok=False, reason="deaf"), self.now)
            return
        args = json.loads(order.args)
        if order.kind == "mobile.alternatives":
            self.told[order.executor_id] = tuple(args["addresses"])
        elif not order.undo:
            target = args["addresses"][0].removeprefix("quic://").removesuffix(":1")
            for node in args["nodes"]:
                assert self.at[node] == order.executor_id, "only its gateway can hand it over"
                self.attach(node, target)
                self.moved.append(node)
        self.loop.answered(outcome_of(order, ok=True), self.now)

    @property
    def counts(self) -> dict[str, int]:
        return {name: list(self.at.values()).count(name) for name in self.reports}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, rest_s=30.0)
    yield made
    made.history.close()


def test_a_new_gateway_gets_its_share_at_once(world: World) -> None:
    world.gateway("a")
    for number in range(600):
        world.attach(f"n{number}", "a")
    world.run(LISTEN_S + 1)
    assert not world.moved
    world.gateway("b")
    world.run(0.3)
    assert world.counts == {"a": 300, "b": 300}
    world.run(120)
    assert len(world.moved) == 300, "and nobody moves any more"
    plans = world.history.stories(limit=50)
    assert any("300 nodes from a to b" in story.plan.reason for story in plans)


def test_alternatives_are_current(world: World) -> None:
    for name in "abc":
        world.gateway(name)
    world.run(LISTEN_S + 1)
    assert world.told == {
        "a": ("quic://b:1", "quic://c:1"),
        "b": ("quic://c:1", "quic://a:1"),
        "c": ("quic://a:1", "quic://b:1"),
    }
    world.lose("b")
    world.run(1)
    assert world.told["a"] == ("quic://c:1",)
    assert world.told["c"] == ("quic://a:1",)
    plans = len(list(world.history.stories(limit=50)))
    world.run(60)
    assert len(list(world.history.stories(limit=50))) == plans, "what is told is not told again"


def test_a_drained_gateway_is_emptied_and_takes_nothing(world: World) -> None:
    for name in "abc":
        world.gateway(name)
    for number in range(90):
        world.attach(f"n{number}", "abc"[number % 3])
    world.run(LISTEN_S + 1)
    world.gateway("b", draining=True)
    world.run(0.5)
    assert world.counts == {"a": 45, "b": 0, "c": 45}
    assert "quic://b:1" not in world.told["a"] + world.told["c"]
    world.gateway("b")
    world.run(60)
    assert world.counts == {"a": 30, "b": 30, "c": 30}


def test_nobody_is_given_more_than_it_takes(world: World) -> None:
    world.gateway("a")
    for number in range(100):
        world.attach(f"n{number}", "a")
    world.run(LISTEN_S + 1)
    world.gateway("b", most=20)
    world.run(60)
    assert world.counts == {"a": 80, "b": 20}


def test_unevenness_needs_two_looks_and_nodes_that_have_rested(world: World) -> None:
    world.gateway("a")
    world.gateway("b")
    world.run(LISTEN_S + 1)
    for number in range(40):
        world.attach(f"n{number}", "a")
    world.run(10)
    assert not world.moved, "they have just come"
    world.run(25)
    assert world.counts == {"a": 20, "b": 20}
    world.attach("n1", "a")
    before = len(world.moved)
    world.run(60)
    assert len(world.moved) == before, "one more is not worth a move"


def test_a_gateway_that_refuses_is_asked_again_later(world: World) -> None:
    world.gateway("a")
    for number in range(40):
        world.attach(f"n{number}", "a")
    world.run(LISTEN_S + 1)
    world.deaf.add("a")
    world.gateway("b")
    world.run(5)
    assert not world.moved
    world.deaf.clear()
    world.run(20)
    assert world.counts == {"a": 20, "b": 20}


def test_nodes_that_are_gone_with_their_gateway_are_not_planned_for(world: World) -> None:
    for name in "ab":
        world.gateway(name)
    for number in range(20):
        world.attach(f"n{number}", "ab"[number % 2])
    world.run(LISTEN_S + 1)
    world.lose("a")
    for number in range(0, 20, 2):  # they do not come back
        world.manager.handle(Gone(Attachment, ("a", f"n{number}")), world.now)
        del world.at[f"n{number}"]
    world.gateway("a")
    world.run(60)
    assert world.counts == {"a": 5, "b": 5}


def test_nothing_is_told_while_it_listens(world: World) -> None:
    world.gateway("a")
    world.run(LISTEN_S / 2)
    assert list(world.history.stories(limit=5)) == []


def test_it_looks_only_when_it_has_heard_something(world: World) -> None:
    for name in "ab":
        world.gateway(name)
    world.run(LISTEN_S + 5 * LOOK_S)
    for _ in range(50):
        world.now += LOOK_S
        assert not world.manager.events(world.loop.properties, world.loop.planning.at, world.now)


def test_several_givers_share_the_pace_of_one_taker(tmp_path: Path) -> None:
    world = World(tmp_path, pace_per_s=100.0)
    seen: list[float] = []
    obey = world._obey

    def watch(order: ActionOrder) -> None:
        if order.kind == "mobile.handover":
            seen.append(json.loads(order.args)["pace_per_s"])
        obey(order)

    world._obey = watch  # type: ignore[method-assign]
    for name in "ab":
        world.gateway(name)
    for number in range(60):
        world.attach(f"n{number}", "ab"[number % 2])
    world.run(LISTEN_S + 1)
    world.gateway("c")
    world.run(1)
    assert seen == [50.0, 50.0]
    world.history.close()


@pytest.mark.parametrize(
    "settings", [{"by": "weight"}, {"pace_per_s": -1.0}, {"within_s": 0.0}, {"rest_s": -1.0},
                 {"least_gain": 2.0}, {"most_moves": 0}],
)  # fmt: skip
def test_settings_that_will_not_do(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"planners.gateways.{next(iter(settings))}"):
        PoaManager().planners["poa"](**settings)


def test_the_operators_rules_may_ask_for_gateways() -> None:
    """Every process that reads the rules knows the events and the place."""
    rule = {"event": GatewayEvent.UNEVEN.value, "planner": PLACE, "verb": "adjust"}
    from evenflow.config import RuleConfig  # noqa: PLC0415

    config = Config(rules=(RuleConfig(**rule, settings={"pace_per_s": 10.0}),))  # type: ignore[arg-type]
    assert any(one.event == GatewayEvent.UNEVEN.value for one in design(config).rules)
