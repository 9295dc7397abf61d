"""All cores together: from readings to moved slices, in virtual time, with a crash on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.analyze.distributed_events import CompositeDetector, Quorum
from evenflow.autonomic.analyze.local_events import (
    EventDefinition,
    EventDetector,
    EventNotification,
)
from evenflow.autonomic.execute.controller import Controller, Instruction, Note
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.monitor.monitors import MonitoringService, OperationRanges
from evenflow.autonomic.plan.planning import Place, PlanningService, Rule
from evenflow.balance import algorithm_named
from evenflow.model.messages import ActionOrder, ActionOutcome
from evenflow.model.plan import Plan
from evenflow.slices.balancer.planner import SlicePlanner, decoded
from evenflow.testing.knowledge import knowing
from evenflow.testing.sample_clusters import cluster

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_S = 2.0


class Loop:
    """Four nodes, a balancer and their world; a slice of load 1 costs 10 % of a node's CPU."""

    def __init__(self, path: Path) -> None:
        self.world = cluster({"a": [1.0] * 9, "b": [1.0] * 9, "c": [], "d": []})
        self.path = path
        self.orders: list[tuple[float, ActionOrder]] = []
        self.told: list[tuple[float, str, str]] = []
        self.monitors = {
            node: MonitoringService({"cpu": OperationRanges((30.0, 70.0))}) for node in "abcd"
        }
        overload = EventDefinition("overload", "cpu > 70", duration_s=4.0)
        self.detectors = {node: EventDetector(node, [overload], ["cpu"]) for node in "abcd"}
        self.composite = CompositeDetector(
            [Quorum("half-overloaded", ("overload",), need=2, duration_s=2.0)], ["cpu"]
        )
        self.start_balancer(0.0)

    def start_balancer(self, now: float) -> None:
        """A balancer that starts, or starts again: all it knows is in the history."""
        self.history = History(self.path)
        planner = SlicePlanner(algorithm_named("weighted"), "slices")
        self.planning = PlanningService(
            [Rule("half-overloaded", "slices")],
            {"slices": Place("weighted")},
            {"weighted": lambda: planner},
            knowing(lambda: self.world),
            run=f"{now:g}",
        )
        self.controller = Controller()
        self.perform(self.controller.resume(self.history.unfinished(), now), now)

    def step(self, now: float, load_per_slice: float = 10.0) -> None:
        for node, slices in self.world.holdings().items():
            readings = {"cpu": min(100.0, load_per_slice * len(slices))}
            for report in self.monitors[node].observe(readings, now):
                self.answer(self.composite.heard(node, {report.property: report.value}, now), now)
            for event in self.detectors[node].observe(readings, now):
                self.told.append((now, event.event_id, event.phase.value))
                self.history.add_event(event)
                self.answer(self.composite.notified(event, now), now)
        self.answer(self.composite.look(now), now)
        self.execute(now)
        self.perform(self.controller.handle_timer(now), now)

    def answer(self, events: list[EventNotification], now: float) -> None:
        for event in events:
            self.told.append((now, event.event_id, event.phase.value))
            self.history.add_event(event)
            for decision in self.planning.handle(event, now):
                if decision.plan is not None:
                    self.perform(self.controller.submit(decision.plan, now), now)

    def perform(self, instructions: list[Instruction], now: float) -> None:
        for each in instructions:
            if isinstance(each, Note):
                self.history.add_note(each)
            else:
                self.orders.append((now, each))

    def execute(self, now: float) -> None:
        """Orders are carried out a period after they were given."""
        due = [order for time, order in self.orders if time < now]
        self.orders = [(time, order) for time, order in self.orders if time >= now]
        for order in due:
            move = decoded(order.args)
            owners = {each.id: each.owner for each in self.world.slices}
            if {owners[slice_id] for slice_id in move.slices} != {move.taker}:
                self.world = Plan((move,)).applied_to(self.world, at=now)
            answer = ActionOutcome(order.plan_id, order.action_id, order.attempt, ok=True)
            self.perform(self.controller.handle(answer, now), now)


def run(loop: Loop, *, crash_at: float = -1.0) -> None:
    for step in range(30):
        now = step * PERIOD_S
        if now == crash_at:
            loop.history.close()
            loop.orders.clear()
            loop.start_balancer(now)
        loop.step(now)


@pytest.mark.parametrize("crash_at", [-1.0, *(step * PERIOD_S for step in range(12))])
def test_overload_is_found_planned_and_carried_out(tmp_path: Path, crash_at: float) -> None:
    loop = Loop(tmp_path / "history.db")
    run(loop, crash_at=crash_at)
    assert sorted(loop.world.loads().values()) == [4.0, 4.0, 5.0, 5.0]
    stories = list(loop.history.stories())
    assert len(stories) == 1
    (story,) = stories
    assert story.outcome is PlanState.DONE
    assert story.plan.event_id == "half-overloaded"
    assert story.event is not None
    assert {each.name: each.value for each in story.event.properties}["count"] == 2.0
    assert story.plan.reason == "weighted: a carries 9, its share is 4.5; afterwards 5"
    assert loop.told == [
        (4.0, "overload", "raised"),
        (4.0, "overload", "raised"),
        (6.0, "half-overloaded", "raised"),
        *loop.told[3:],
    ]
    assert {(event, phase) for _, event, phase in loop.told[3:]} == {
        ("overload", "cleared"),
        ("half-overloaded", "cleared"),
    }


def test_a_short_peak_moves_nothing(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "history.db")
    for step in range(20):
        loop.step(step * PERIOD_S, load_per_slice=10.0 if step in {3, 4, 9} else 5.0)
    assert loop.told == []
    assert list(loop.history.stories()) == []
    assert sorted(loop.world.loads().values()) == [0.0, 0.0, 9.0, 9.0]
