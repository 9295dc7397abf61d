"""The adaptive controller on a real loop: overload leads to separations, at everybody, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenflow.autonomic.analyze.qos_events import PLACE
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.plan.planning import PlanningService
from evenflow.autonomic.rates import Target
from evenflow.autonomic.rates.separations import Separations
from evenflow.config import Config, QosConfig
from evenflow.domain.channels import Gone
from evenflow.errors import UsageError
from evenflow.model.messages import ActionOrder, SeparationReport, WriterUse
from evenflow.qos.loop.companion import LISTEN_S, MOST_DOUBLINGS, RETRY_S, QosCompanion
from evenflow.qos.loop.rate_view import RateView

CONFIG = QosConfig(
    performance_ratio=0.5, levels=4, separation_most_s=1.0, period_s=0.5, calm_s=2.0, lease_s=20.0
)
FULL, EMPTY = 95, 2
"""Of a hundred."""


class Rates(Separations):
    """What is in effect in a process, which may refuse everything."""

    refuses = False

    def order(self, topic: str, separation_s: float, lease_s: float, now: float) -> None:
        if self.refuses:
            raise UsageError("it is closed")
        super().order(topic, separation_s, lease_s, now)


class Process:
    """A publisher's process: it obeys, if it hears."""

    def __init__(self, name: str, topic: str, policy: str, most_s: float) -> None:
        self.topic = topic
        self.name = name
        self.separation_s = 0.0
        self.used = EMPTY
        self.deaf = False
        self.orders = 0
        self.rates = Rates(name)
        self.rates.add(Target(topic, "publisher", policy, self._apply, lambda: 0, most_s=most_s))

    def _apply(self, separation_s: float) -> None:
        self.separation_s = separation_s


class World:
    """A loop with the controller, and processes that do what they are told."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "history.db", keep=1_000, keep_octets=1 << 20)
        self.now = 100.0
        self.processes: dict[str, Process] = {}
        self.begin(QosCompanion(CONFIG))

    def begin(self, companion: QosCompanion) -> None:
        """Another balancer leads from now on."""
        self.companion = companion
        plan = design(Config(), [companion])
        places = {name: place for name, place in plan.places.items() if name == PLACE}
        rules = [rule for rule in plan.rules if rule.planner == PLACE]
        planning = PlanningService(
            rules, places, companion.planners, self._knowledge, run=str(self.now)
        )
        self.loop = AutonomicLoop(plan.composite(), planning, self.history, {})
        self.loop.begin(self.now)
        for process in self.processes.values():
            self.loop.reported(process.name, {"fullest": 0.0}, self.now)

    def _knowledge(self, event: Any, now: float) -> Knowledge:
        return Knowledge(event, now, self.loop.properties, lambda topic: None, self.history)  # type: ignore[arg-type, return-value]

    def process(
        self, name: str, topic: str = "items", policy: str = "source", most_s: float = math.inf
    ) -> Process:
        process = self.processes[name] = Process(name, topic, policy, most_s)
        self.loop.reported(name, {"fullest": 0.0}, self.now)
        return process

    def lose(self, name: str) -> None:
        process = self.processes.pop(name)
        for kind, key in (
            (WriterUse, (process.topic, name)),
            (SeparationReport, (process.topic, name, "publisher")),
        ):
            self.companion.handle(Gone(kind, key), self.now)
        self.loop.gone(name, self.now)

    def run(self, seconds: float, *, led: bool = True) -> None:
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            for process in self.processes.values():
                process.rates.expire(self.now)
                use = (("publisher",), (process.used,), (100,), (0,), (0,))
                self.companion.handle(WriterUse(process.topic, process.name, *use), self.now)
                for report in process.rates.reports():
                    self.companion.handle(report, self.now)
            if led:
                self._turn()

    def _turn(self) -> None:
        loop, companion = self.loop, self.companion
        for event in companion.events(loop.properties, loop.planning.at, self.now):
            loop.raise_event(event)
        loop.poll(self.now)
        for event_id, source in loop.failed():
            companion.plan_failed(event_id, source, self.now)
        for order in loop.orders():
            self._obey(order)

    def _obey(self, order: ActionOrder) -> None:
        process = self.processes[order.executor_id]
        if process.deaf:
            return
        process.orders += 1
        args = json.loads(order.args)
        try:
            process.rates.order(args["topic"], args["separation_s"], args["lease_s"], self.now)
        except UsageError as error:
            outcome = outcome_of(order, ok=False, reason=str(error))
        else:
            outcome = outcome_of(order, ok=True)
        self.loop.answered(outcome, self.now)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.history.close()


def test_an_overload_thins_everywhere_and_full_rate_returns(world: World) -> None:
    first, second = world.process("p1"), world.process("p2")
    world.run(5.0)
    assert (first.orders, second.orders) == (0, 0)
    first.used = second.used = FULL
    world.run(3.0)
    assert first.separation_s == second.separation_s > 0.0
    first.used = second.used = EMPTY
    world.run(10.0)
    assert (first.separation_s, second.separation_s) == (0.0, 0.0)
    stories = list(world.history.stories(limit=10))
    assert [story.outcome.value for story in stories if story.outcome] == ["done"] * len(stories)
    assert any("level" in story.plan.reason for story in stories)


def test_who_comes_later_is_told_too(world: World) -> None:
    first = world.process("p1")
    first.used = FULL
    world.run(5.0)
    newcomer = world.process("p2")
    newcomer.used = FULL
    world.run(2.0)
    assert newcomer.separation_s == first.separation_s > 0.0


def test_a_topic_is_not_thinned_for_the_load_of_another(world: World) -> None:
    loaded, quiet = world.process("p1"), world.process("p2", "others")
    alarms = world.process("p3", "alarms", "never")
    loaded.used = alarms.used = FULL
    world.run(5.0)
    assert loaded.separation_s > 0.0
    assert (quiet.orders, alarms.orders) == (0, 0)


def test_a_separation_that_a_process_cannot_apply_is_not_told_again_and_again(world: World) -> None:
    bounded = world.process("p1", most_s=0.1)
    bounded.used = FULL
    world.run(8.0)
    assert (bounded.separation_s, bounded.orders) == (0.1, 1)


def test_the_lease_is_renewed_while_it_is_wanted_and_ends_without_a_controller(
    world: World,
) -> None:
    process = world.process("p1")
    process.used = FULL
    world.run(5.0)
    wanted = process.separation_s
    assert wanted > 0.0
    world.run(3 * CONFIG.lease_s)
    assert process.separation_s == wanted
    assert process.orders <= 9, "a separation that stays is told seldom"
    world.run(CONFIG.lease_s, led=False)
    assert process.separation_s == 0.0


def test_a_new_controller_begins_with_what_is_in_effect(world: World) -> None:
    process = world.process("p1")
    process.used = FULL
    world.run(5.0)
    before = process.separation_s
    process.used = EMPTY  # because it is thinned
    world.begin(QosCompanion(CONFIG))
    world.run(LISTEN_S + CONFIG.calm_s - 0.5)
    assert process.separation_s == before
    world.run(CONFIG.levels * CONFIG.calm_s + 1.0)
    assert process.separation_s == 0.0


def test_a_new_controller_keeps_what_does_not_return(world: World) -> None:
    kept = replace(CONFIG, returns=False)
    world.begin(QosCompanion(kept))
    process = world.process("p1")
    process.used = FULL
    world.run(5.0)
    before, process.used = process.separation_s, EMPTY
    world.begin(QosCompanion(kept))
    world.run(LISTEN_S + 5 * kept.calm_s)
    assert process.separation_s == before > 0.0


def test_what_is_in_effect_somewhere_is_taken_over_up_to_the_largest_separation(
    world: World,
) -> None:
    """Another program may have ordered anything, or say so."""
    strange, other = world.process("p1"), world.process("p2")
    strange.rates.order("items", 80_000.0, 1_000.0, world.now)
    world.run(LISTEN_S + 1.0)
    assert other.separation_s <= CONFIG.separation_most_s
    world.run(CONFIG.levels * CONFIG.calm_s + 2.0)
    assert (strange.separation_s, other.separation_s) == (0.0, 0.0)


def test_one_that_refuses_holds_up_nobody(world: World) -> None:
    refusing, other = world.process("p1"), world.process("p2", "others")
    refusing.rates.refuses = True
    refusing.used = FULL
    world.run(60.0)
    asked = refusing.orders
    for used, thinned in [(FULL, True), (EMPTY, False)] * 3:
        other.used = used
        world.run(1.0 if thinned else CONFIG.levels * 8 * CONFIG.calm_s)
        assert (other.separation_s > 0.0) is thinned
    assert asked <= 6, "it is told ever more seldom"


def test_one_that_refuses_for_a_while_is_told_again(world: World) -> None:
    process = world.process("p1")
    process.rates.refuses = True
    process.used = FULL
    world.run(30.0)
    process.rates.refuses = False
    world.run(RETRY_S * 2**MOST_DOUBLINGS)
    assert process.separation_s > 0.0


def test_one_that_stood_by_begins_with_what_is_in_effect(world: World) -> None:
    process = world.process("p1")
    process.used = FULL
    world.run(5.0)
    before = process.separation_s
    world.run(10.0, led=False)
    process.used = EMPTY
    world.run(CONFIG.calm_s - 0.5)
    assert process.separation_s == before > 0.0


def test_one_that_does_not_answer_does_not_keep_the_others_from_it(world: World) -> None:
    deaf, other = world.process("p1"), world.process("p2")
    deaf.deaf = True
    deaf.used = other.used = FULL
    world.run(2.0)
    assert other.separation_s > 0.0
    deaf.deaf = False
    world.run(15.0)
    assert deaf.separation_s == other.separation_s


def test_one_that_is_gone_is_forgotten(world: World) -> None:
    first, second = world.process("p1"), world.process("p2")
    first.used = second.used = FULL
    world.run(3.0)
    world.lose("p1")
    second.used = EMPTY
    world.run(10.0)
    assert second.separation_s == 0.0
    assert not world.companion._told or {key[0] for key in world.companion._told} == {"p2"}


def test_what_was_told_and_has_no_effect_is_told_again(world: World) -> None:
    process = world.process("p1")
    process.used = FULL
    world.run(3.0)
    process.rates.order("items", 0.0, 100.0, world.now)  # somebody else did that
    world.run(RETRY_S + 2.0)
    assert process.separation_s > 0.0


def test_every_setting_reaches_the_controller() -> None:
    changed = replace(
        CONFIG, clustered="everything", fits=False, holds=False, returns=False, tunes_ratio=True,
        tunes_levels=True, tunes_separation=True, forgetting=0.5, margin=0.1,
    )  # fmt: skip
    settings = QosCompanion(changed)._settings
    for name in ("performance_ratio", "levels", "separation_most_s", "fits", "holds", "returns",
                 "tunes_ratio", "tunes_levels", "tunes_separation", "forgetting", "margin",
                 "calm_s"):  # fmt: skip
        assert getattr(settings, name) == getattr(changed, name), name
    assert settings.clustered.value == changed.clustered


def test_nobody_is_more_than_full() -> None:
    view = RateView()
    view.handle(WriterUse("items", "p", ("a", "b"), (1 << 50, 7), (10, 0), (3, 1 << 50), (0, 10)))
    assert [use.ratio for use in view.uses("items")] == [1.0, 1.0]
