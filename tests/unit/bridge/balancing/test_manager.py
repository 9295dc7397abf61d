"""Bounded loads on a real loop, with real cores of bridges: plans arrive, arcs change hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evenflow.autonomic.analyze.bridge_events import PLACE, BridgeEvent
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import CallExecutor, ExecutorHost, Surroundings
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.plan.planning import Place, PlanningService
from evenflow.bridge.balancing.arcs_action import ARCS, arcs_executor, process_of
from evenflow.bridge.balancing.manager import LISTEN_S, RingManager
from evenflow.bridge.ring.core import Identity, RingCore, RingSettings
from evenflow.bridge.ring.events import (
    ArcsPlanned,
    DeviceReleased,
    DeviceServed,
    DrainRing,
    RingAction,
    TellRing,
)
from evenflow.bridge.ring.identifiers import GUID_BYTES
from evenflow.config import Config
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError
from evenflow.model.messages import ArcTable, BridgeReport

STEP_S = 0.1


class World:
    """Bridges that serve exactly the devices that are theirs, and the loop of a balancer."""

    def __init__(self, folder: Path, **settings: float | str) -> None:
        self.folder, self.settings = folder, settings
        self.now = 100.0
        self.cores: dict[str, RingCore] = {}
        self.hosts: dict[str, ExecutorHost] = {}
        self.at: dict[bytes, str] = {}
        self.moved = 0
        self.seen: dict[str, int] = {}
        self.reports: dict[str, BridgeReport] = {}
        self.deaf: set[str] = set()
        self.messages_s: dict[str, float] = {}
        self.history = History(folder / "history.db", keep=1_000, keep_octets=1 << 20)
        self.lead(term=1)

    def lead(self, term: int) -> None:
        """A balancer begins to lead; it knows nothing but what bridges tell it."""
        self.term = term
        self.manager = RingManager()
        plan = design(Config(), [self.manager])
        places = {PLACE: Place("bounded-loads", self.settings)}
        rules = [rule for rule in plan.rules if rule.planner in places]
        planning = PlanningService(
            rules, places, self.manager.planners, self._knowledge, run=f"{term}"
        )
        self.loop = AutonomicLoop(plan.composite(), planning, self.history, {})
        self.loop.begin(self.now)
        for name, core in self.cores.items():
            self._report_properties(name)
            self.manager.handle(core.arcs, self.now)

    def _knowledge(self, event: Any, now: float) -> Knowledge:
        known = self.loop.properties
        return Knowledge(event, now, known, lambda topic: None, self.history, self.term)  # type: ignore[arg-type, return-value]

    # -- bridges -----------------------------------------------------------------------------------

    def join(self, name: str) -> None:
        core = RingCore(Identity(name), RingSettings(), self.now - 1)
        for other in self.cores.values():
            core.handle(other.arcs, self.now)
        for report in self.reports.values():
            core.handle(report, self.now)
        self.cores[name] = core

        def post(table: ArcTable) -> None:
            self._perform(core.handle(ArcsPlanned(table), self.now))

        makers = {ARCS: arcs_executor(lambda: core.arcs, post)}
        self.hosts[name] = ExecutorHost(Surroundings(process_of(name), Config()), makers)
        self._perform(core.poll(self.now))
        self._report_properties(name)

    def _report_properties(self, name: str) -> None:
        values = {"bridge_devices": 0.0, "bridge_messages_s": self.messages_s.get(name, 0.0)}
        self.loop.reported(process_of(name), values, self.now)

    def lose(self, name: str) -> None:
        del self.cores[name], self.hosts[name], self.reports[name]
        self.loop.gone(process_of(name), self.now)
        gone = Gone(BridgeReport, (name,))
        self.manager.handle(gone, self.now)
        for core in list(self.cores.values()):
            self._perform(core.handle(gone, self.now))

    def drain(self, name: str) -> None:
        self._perform(self.cores[name].handle(DrainRing(on=True), self.now))

    def _perform(self, actions: list[RingAction]) -> None:
        for action in actions:
            if isinstance(action, TellRing):
                if isinstance(action.message, BridgeReport):
                    self.reports[action.message.bridge] = action.message
                self.manager.handle(action.message, self.now)
                for other in list(self.cores.values()):
                    if other.me.name != action.message.bridge:
                        self._perform(other.handle(action.message, self.now))

    # -- devices -----------------------------------------------------------------------------------

    def connect(self, guids: list[bytes]) -> None:
        self.at |= dict.fromkeys(guids, "")
        self.hand_over()
        self.moved = 0

    def hand_over(self) -> None:
        """Every device goes to its owner, and all agree who that is."""
        guids = list(self.at)
        agreed = {tuple(core.circle.owners(guids)) for core in self.cores.values()}
        assert len(agreed) == 1
        for guid, owner in zip(guids, agreed.pop(), strict=True):
            before = self.at[guid]
            if owner != before:
                if before in self.cores:
                    self.cores[before].handle(DeviceReleased(guid), self.now)
                self.cores[owner].handle(DeviceServed(guid), self.now)
                self.at[guid] = owner
                self.moved += 1

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.at.values())

    @property
    def unevenness(self) -> float:
        serving = [name for name, core in self.cores.items() if name in core.members]
        return max(self.counts[name] for name in serving) * len(serving) / len(self.at)

    # -- time --------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.now += STEP_S
            for core in list(self.cores.values()):
                self._perform(core.poll(self.now))
            for event in self.manager.events(self.loop.properties, self.loop.planning.at, self.now):
                self.loop.raise_event(event)
            self.loop.poll(self.now)
            for event_id, source in self.loop.failed():
                self.manager.plan_failed(event_id, source, self.now)
            for order in self.loop.orders():
                name = order.executor_id.removeprefix("bridge/")
                if name not in self.deaf:
                    for outcome in self.hosts[name].handle(order, self.now):
                        self.loop.answered(outcome, self.now)
            known = {name: core.traffic.changes for name, core in self.cores.items()}
            if known != self.seen:
                self.seen = known
                self.hand_over()

    @property
    def plans(self) -> list[str]:
        return [story.plan.reason for story in self.history.stories(limit=50)]


def devices(many: int, seed: int = 1) -> list[bytes]:
    random = Random(seed)
    return [random.randbytes(GUID_BYTES) for _ in range(many)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.history.close()


@pytest.fixture
def even(world: World) -> World:
    """Five bridges of which none is above the bound, by a plan."""
    for number in range(5):
        world.join(f"b{number}")
    world.connect(devices(3_000, 2))
    assert world.unevenness > 1.1
    world.run(LISTEN_S + 5)
    assert world.unevenness <= 1.1
    assert len(world.plans) == 1
    return world


def test_20_bridges_and_10_000_devices_are_brought_within_the_bound(world: World) -> None:
    for number in range(20):
        world.join(f"b{number}")
    world.connect(devices(10_000))
    assert world.unevenness > 1.1
    above = sum(max(0, count - 550) for count in world.counts.values())
    world.run(LISTEN_S + 5)
    assert world.unevenness <= 1.1
    assert above <= world.moved <= above * 1.05 + 5
    assert "arcs" in world.plans[0]
    moved = world.moved
    world.run(20)
    assert (world.moved, len(world.plans)) == (moved, 1), "and then it is quiet"
    events = world.history.entries(kind="event", limit=10)
    assert [entry.name for entry in events] == [BridgeEvent.UNEVEN.value]


def test_a_bridge_that_joins_gets_its_share_and_the_bound_holds_again(even: World) -> None:
    even.moved = 0
    even.join("new")
    even.run(20)
    assert even.unevenness <= 1.1
    assert 0 < even.moved <= 1.5 / 6 * 3_000


def test_when_a_bridge_dies_only_its_own_devices_move_until_the_next_plan(even: World) -> None:
    before = dict(even.at)
    even.lose("b3")
    even.hand_over()
    assert {before[guid] for guid, at in even.at.items() if at != before[guid]} == {"b3"}
    even.run(20)
    assert even.unevenness <= 1.1


def test_a_draining_bridge_is_given_nothing_and_has_nothing(even: World) -> None:
    even.drain("b2")
    even.run(30)
    assert even.counts["b2"] == 0
    assert even.unevenness <= 1.1


def test_another_balancer_goes_on_with_the_same_table(even: World) -> None:
    table, moved = even.cores["b0"].arcs, even.moved
    even.lead(term=2)
    even.run(LISTEN_S + 30)
    assert even.moved == moved
    assert even.cores["b0"].arcs == table
    even.join("new")
    even.run(30)
    newer = even.cores["b0"].arcs
    assert (newer.term, newer.number) == (2, 1)


def test_a_balancer_whose_clock_is_behind_is_heeded(even: World) -> None:
    before = even.cores["b0"].arcs
    even.lead(term=0)
    even.join("new")
    even.run(LISTEN_S + 30)
    after = even.cores["b0"].arcs
    assert (after.term, after.number) == (before.term, before.number + 1)
    assert even.unevenness <= 1.1


def test_a_bridge_that_does_not_answer_is_not_asked_again_and_again(world: World) -> None:
    for number in range(5):
        world.join(f"b{number}")
    world.connect(devices(3_000, 2))
    world.deaf = {"b0", "b1"}
    world.run(90)
    assert world.unevenness <= 1.1


def test_with_few_devices_it_is_quiet(world: World) -> None:
    for number in range(4):
        world.join(f"b{number}")
    world.connect(devices(3))
    world.run(60)
    assert len(world.plans) <= 1
    assert max(world.counts.values()) <= 1


def test_devices_that_come_unevenly_are_evened(even: World) -> None:
    mine = [guid for guid in devices(20_000, 9) if even.cores["b0"].owner(guid) == "b1"][:400]
    even.at |= dict.fromkeys(mine, "")
    even.hand_over()
    assert even.unevenness > 1.3
    even.run(30)
    assert even.unevenness <= 1.1


def test_it_evens_what_was_measured_if_the_operator_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, by="messages")
    world.messages_s = {"b0": 3_000.0, "b1": 500.0, "b2": 500.0}
    for number in range(3):
        world.join(f"b{number}")
    world.connect(devices(900))
    before = world.counts["b0"]
    world.run(LISTEN_S + 5)
    assert world.counts["b0"] < before / 2
    world.history.close()


@pytest.mark.parametrize(
    ("setting", "value"), [("factor", 0.9), ("factor", 101.0), ("by", "weight"), ("pause_s", -1.0)]
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, setting: str, value: float | str
) -> None:
    with pytest.raises(ConfigError, match=f"planners.bridges.{setting}"):
        World(tmp_path, **{setting: value})


def test_the_executor_is_one_that_acts_at_once() -> None:
    made = arcs_executor(lambda: RingCore(Identity("a"), RingSettings(), 0.0).arcs, print)
    assert isinstance(made(Surroundings("bridge/a", Config())), CallExecutor)
