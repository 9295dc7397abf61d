"""From an event to moved slices, on a simulated cluster with the real cores and a real history.

The heart is the death of the balancer: at every step of a running plan, and at every note it
writes, before and after. The next one must finish the plan or roll it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from evenflow.autonomic.analyze.distributed_events import CompositeDetector
from evenflow.autonomic.execute.actions import START_NODE, STOP_NODE, Action, ActionPlan
from evenflow.autonomic.execute.controller import Controller, Note
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.knowledge.records import Deed, Story
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.plan.planning import Place, PlanningService, Rule, Verb
from evenflow.balance import Algorithm, algorithm_named
from evenflow.config import (
    BalancerConfig,
    Config,
    EventConfig,
    HistoryConfig,
    NodeConfig,
    PlannerConfig,
    RuleConfig,
    TopicConfig,
)
from evenflow.domain.channels import Gone
from evenflow.model.messages import EventNotice, PropertyReport
from evenflow.model.plan import Move
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.balancer.planner import MOVE_SLICES, SlicePlanner, encoded
from evenflow.testing.balancer import WALL
from evenflow.testing.cluster import TICK, TOPIC, SimCluster
from evenflow.testing.knowledge import knowing

if TYPE_CHECKING:
    from pathlib import Path


THOROUGH = settings().max_examples >= 80
"""Whether this is the full run."""
SLICES = 8
QUICK = BalancerSettings(settle=0.5, deadline=1.0, silence=3.0, join_after=0.0)
SQUEEZED = EventConfig("squeezed", "cpu > 70")
RULE = RuleConfig("squeezed", TOPIC)


class Crash(BaseException):
    """The balancer dies here."""


class World:
    """A simulated cluster whose balancer has an autonomic loop."""

    def __init__(self, folder: Path, nodes: int = 4, **tables: object) -> None:
        self.config = Config(
            topics=(TopicConfig(TOPIC, slices=SLICES),),
            balancer=BalancerConfig(algorithm="count", analyze_s=0.0),
            history=HistoryConfig(str(folder / "history.db")),
            **{"events": (SQUEEZED,), "rules": (RULE,), **tables},  # type: ignore[arg-type]
        )
        self.first = 0
        self.cluster = SimCluster(SLICES, balancer_settings=QUICK, config=self.config)
        self.start()
        self.nodes = [self.cluster.start_node() for _ in range(nodes)]
        self.cluster.settle()
        self.until(self.idle)
        self.first = len(self.stories())
        """Plans of the beginning, when the nodes joined."""

    @property
    def loop(self) -> SliceAutonomy:
        """That of the balancer that runs now."""
        assert self.cluster.autonomy is not None
        return self.cluster.autonomy

    def idle(self) -> bool:
        return self.cluster.autonomy is not None and self.cluster.autonomy.loop.idle

    def start(self) -> None:
        """A new balancer process, with what the configuration says now."""
        self.cluster.balancers.config = self.config
        self.cluster.start_balancer()

    def kill(self) -> None:
        """The balancer process dies."""
        self.cluster.kill_balancer()

    def step(self) -> None:
        """One parcel arrives, or a moment passes."""
        if self.cluster.network.parcels:
            self.cluster.network.deliver(0)
        else:
            self.cluster.work()
            self.cluster.advance(TICK)

    def until(self, reached: object, steps: int = 5_000) -> None:
        """Let everything take its course."""
        assert callable(reached)
        for _ in range(steps):
            if reached():
                return
            self.step()
        pytest.fail("not reached")

    def unbalance(self, count: int = 2) -> None:
        """An operator moves so many slices from the outer nodes to the inner ones; each has two."""
        one, two, three, four = self.nodes
        for giver, taker in ((one, two), (four, three)):
            self.cluster.move(giver, taker, count)
        self.until(lambda: self.counts() == [2 - count, 2 + count, 2 + count, 2 - count])

    def counts(self) -> list[int]:
        """How many slices each node owns."""
        balancer = self.cluster.balancer
        return [balancer.owners.of.count(node) if balancer else 0 for node in self.nodes]

    def squeeze(self, *, raised: bool = True, at: float = 1.0) -> None:
        """The first node tells of its event."""
        notice = EventNotice(
            self.nodes[0], "squeezed", raised, WALL + at, ("cpu",), (99.0,), (1.0,)
        )
        self.loop.handle(notice, self.cluster.now)

    def stories(self) -> list[Story]:
        """The plans since the beginning, newest first."""
        with History(self.config.history_file) as history:
            stories = list(history.stories())
        return stories[: len(stories) - self.first]

    def deeds(self) -> list[Deed]:
        """Everything that was moved, oldest first."""
        with History(self.config.history_file) as history:
            return history.deeds()[::-1]

    def over(self) -> bool:
        stories = self.stories()
        return bool(stories) and all(story.outcome.final for story in stories)

    def check(self) -> None:
        """Nothing is lost or repeated, every slice has its owner, the plan is done or undone."""
        self.cluster.settle()
        for story in self.stories():
            assert story.outcome in (PlanState.DONE, PlanState.ROLLED_BACK), story.notes[-1]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_an_event_leads_to_a_plan_that_is_done_and_told(world: World) -> None:
    world.unbalance()
    world.squeeze()
    world.until(world.over)
    [story] = world.stories()
    assert story.outcome is PlanState.DONE
    assert story.event is not None
    assert (story.event.event_id, story.event.source_id) == ("squeezed", world.nodes[0])
    assert story.event.time == WALL + 1.0
    assert story.plan.reason.startswith("count: ")
    assert world.counts() == [2, 2, 2, 2]
    cause = f"plan {story.plan.plan_id}"
    world.until(lambda: cause in {receipt.cause for receipt in world.cluster.receipts})
    world.check()


def test_everything_that_moves_is_in_the_history_with_its_reason(world: World) -> None:
    late = world.cluster.start_node()
    world.until(lambda: late in {deed.figures.get("to") for deed in world.deeds()})
    first, joined = world.deeds()[0], world.deeds()[-1]
    assert (first.cause, first.why) == ("assign", "nobody had them")
    assert (joined.cause, joined.why) == ("plan", "node-5 joined: even number of slices")
    assert joined.figures["to"] == late
    world.cluster.kill_node(late)
    world.until(lambda: world.deeds()[-1].cause == "takeover")
    assert world.deeds()[-1].why == "node-5 died or was cut off"
    before = len(world.deeds())
    world.unbalance(1)
    world.until(lambda: len(world.deeds()) >= before + 2)
    assert {deed.why for deed in world.deeds()[before:]} == {"asked for by hand"}
    world.squeeze()
    world.until(lambda: world.over() and world.stories()[0].plan.event_id == "squeezed")
    story = world.stories()[0]
    world.until(lambda: story.plan.plan_id in {deed.plan_id for deed in world.deeds()})
    told = [deed for deed in world.deeds() if deed.plan_id == story.plan.plan_id]
    assert {deed.why for deed in told} == {"count: even number of slices"}
    assert {deed.outcome for deed in world.deeds()} == {"done"}


def test_a_new_balancer_knows_when_slices_moved(world: World) -> None:
    world.unbalance(1)
    world.until(lambda: [d.why for d in world.deeds()].count("asked for by hand") == 2)
    old = world.cluster.balancer
    assert old is not None
    moved = [s for s, giver in enumerate(old.owners.came_from) if giver]
    assert len(moved) == 2
    world.kill()
    world.start()
    balancer = world.cluster.balancer
    assert balancer is not None
    world.until(world.idle)
    assert balancer.owners.came_from == old.owners.came_from
    for slice_id in moved:
        assert balancer.owners.moved_at[slice_id] == pytest.approx(
            old.owners.moved_at[slice_id], abs=1.0
        )


def test_a_disk_in_trouble_does_not_stop_the_loop(world: World) -> None:
    world.unbalance()
    history = world.loop._history
    history._journal.read("PRAGMA query_only = ON")
    world.squeeze()
    world.until(lambda: world.counts() == [2, 2, 2, 2])
    assert history.failures > 0
    assert world.stories() == []
    history._journal.read("PRAGMA query_only = OFF")
    world.squeeze(raised=False, at=9.0)
    assert [story.outcome for story in world.stories()] == [PlanState.DONE]
    world.check()


class Restless:
    """A planner that never has enough; it moves nothing."""

    def __init__(self) -> None:
        self.asked = 0

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        self.asked += 1
        return None

    on_new_processing_node = analyze_load


def test_an_event_that_lasts_is_reconsidered_until_it_is_over(tmp_path: Path) -> None:
    planner = Restless()
    composite = CompositeDetector([], ["cpu"])
    rules = [Rule("squeezed", "p"), Rule("squeezed", "p", Verb.ADJUST)]
    planning = PlanningService(
        rules, {"p": Place("restless")}, {"restless": lambda: planner}, knowing()
    )
    with History(tmp_path / "history.db") as history:
        loop = AutonomicLoop(composite, planning, history, {})
        loop.begin(0.0)
        for source in ("a", "b"):
            loop.notified(EventNotice(source, "squeezed", True, 1.0, (), (), ()), 1.0)
        loop.poll(1.0)
        assert planner.asked == 2
        loop.reconsider(2.0)
        assert planner.asked == 4
        loop.gone("b", 3.0)
        loop.reconsider(3.0)
        assert planner.asked == 5
        loop.notified(EventNotice("a", "squeezed", False, 4.0, (), (), ()), 4.0)
        loop.reconsider(4.0)
        assert planner.asked == 5
        assert len(history.entries(kind="event")) == 3


def test_a_lasting_event_shown_to_a_new_balancer_is_reconsidered_too(world: World) -> None:
    world.squeeze()
    world.step()
    assert world.stories() == []
    world.kill()
    world.start()
    world.until(world.idle)
    world.squeeze()
    world.unbalance()
    assert world.stories() == []
    world.loop.loop.reconsider(world.cluster.now)
    world.until(world.over)
    assert world.counts() == [2, 2, 2, 2]


def test_an_overloaded_group_grows_up_to_its_limit_and_an_idle_one_shrinks(tmp_path: Path) -> None:
    fleet = {"grow_on": "all-hot", "shrink_on": "all-cold", "least": 2, "most": 4, "cooldown_s": 0}
    world = World(
        tmp_path,
        nodes=2,
        events=(
            EventConfig("all-hot", "min_cpu > 70", group="all"),
            EventConfig("all-cold", "max_cpu < 10", group="all"),
        ),
        planners=(PlannerConfig("fleet", "elastic", fleet),),
        rules=(RuleConfig("all-hot", "fleet"), RuleConfig("all-cold", "fleet")),
        node=NodeConfig(app="evenflow.apps:discard"),
    )
    for percent, count in ((99.0, 4), (1.0, 2)):
        for _ in range(6):
            for node in list(world.cluster.nodes):
                report = PropertyReport(node, WALL, ("cpu",), (percent,), (0,))
                world.loop.handle(report, world.cluster.now)
            world.loop.loop.reconsider(world.cluster.now)
            for _ in range(200):
                world.step()
        assert len(world.cluster.nodes) == count
    assert {story.plan.actions[0].kind for story in world.stories()} >= {START_NODE, STOP_NODE}
    world.check()


def test_a_rule_that_cannot_be_followed_is_told_and_nothing_else_suffers(tmp_path: Path) -> None:
    faulty = RuleConfig("squeezed", TOPIC, verb="adjust", settings={"colour": "red"})
    world = World(tmp_path, rules=(faulty, RULE))
    world.unbalance()
    world.squeeze()
    world.until(world.over)
    assert world.counts() == [2, 2, 2, 2]
    [told] = [deed for deed in world.deeds() if deed.cause == "rule"]
    assert told.what == "items: from now on colour = red"
    assert "colour" in told.outcome
    assert told.outcome != "done"


def test_a_rule_swaps_the_algorithm_while_running_also_for_joins(tmp_path: Path) -> None:
    swap = RuleConfig("squeezed", TOPIC, verb="swap", by="weighted", settings={"tolerance": 0.2})
    back = RuleConfig("squeezed", TOPIC, verb="swap", phase="cleared", by="count")
    world = World(tmp_path, rules=(swap, back))

    def algorithm() -> Algorithm:
        planner = world.loop.loop.planning.at(TOPIC)
        assert isinstance(planner, SlicePlanner)
        return planner.algorithm

    assert algorithm().name == "count"
    world.squeeze()
    world.step()
    assert algorithm() == algorithm_named("weighted", tolerance=0.2)
    [swapped] = [deed for deed in world.deeds() if deed.cause == "rule"]
    assert swapped.what == "items: from now on by weighted, topic = items, tolerance = 0.2"
    assert swapped.why == f"squeezed raised at {world.nodes[0]}"
    world.kill()
    world.start()
    assert algorithm().name == "count"
    world.until(world.idle)
    world.squeeze()  # a new balancer is shown the events that last
    world.step()
    assert algorithm().name == "weighted"
    world.squeeze(raised=False, at=2.0)
    world.until(lambda: algorithm().name == "count")


def test_an_event_that_calls_for_nothing_is_told_and_nothing_moves(world: World) -> None:
    world.squeeze()
    world.step()
    with History(world.config.history_file) as history:
        [event] = history.entries(kind="event")
    assert (event.name, event.state) == ("squeezed", "raised")
    assert world.stories() == []


def test_count_leaves_alone_what_an_operator_moved(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.config = Config(
        topics=world.config.topics,
        balancer=BalancerConfig(analyze_s=0.1),
        history=world.config.history,
    )
    world.unbalance(1)
    world.kill()
    world.start()
    for _ in range(400):
        world.step()
    assert world.counts() == [1, 3, 3, 1]
    assert world.stories() == []


def test_uneven_loads_seen_twice_raise_an_imbalance_and_are_evened(tmp_path: Path) -> None:
    settle = {"settle_s": 0.0}
    world = World(tmp_path, planners=(PlannerConfig(TOPIC, "weighted", settle),))
    world.config = Config(
        topics=world.config.topics,
        balancer=BalancerConfig(analyze_s=1.0),
        history=world.config.history,
        planners=world.config.planners,
    )
    world.kill()
    world.start()
    balancer = world.cluster.balancer
    assert balancer is not None
    world.until(lambda: balancer.settled)
    heavy = balancer.owners.owned_by(world.nodes[0])
    world.until(lambda: _pressed(world, heavy), steps=20_000)
    [story, *_] = world.stories()
    assert story.event is not None
    assert story.event.event_id == f"imbalance-{TOPIC}"
    seen = {each.name: each.value for each in story.event.properties}
    assert seen["max_over_mean"] > 1.05
    assert story.outcome is PlanState.DONE
    assert {balancer.owners.of[s] for s in heavy} > {world.nodes[0]}
    world.check()


def test_a_silent_topic_is_left_as_it_is(tmp_path: Path) -> None:
    settle = {"settle_s": 0.0, "return_s": 0.0}
    world = World(tmp_path, planners=(PlannerConfig(TOPIC, "weighted", settle),))
    world.unbalance(1)
    world.config = Config(
        topics=world.config.topics,
        balancer=BalancerConfig(analyze_s=0.5),
        history=world.config.history,
        planners=world.config.planners,
    )
    world.kill()
    world.start()
    end = world.cluster.now + 20.0
    world.until(lambda: world.cluster.now > end, steps=100_000)
    assert world.counts() == [1, 3, 3, 1]
    assert world.stories() == []


def _pressed(world: World, heavy: list[int]) -> bool:
    """Give the heavy slices work now and then; whether a plan is over."""
    if not world.cluster.network.parcels:
        for slice_id in heavy:
            world.cluster.publish(next(iter(world.cluster.publishers)), slice_id)
    return world.over()


def test_a_node_that_dies_in_a_plan_rolls_it_back(world: World) -> None:
    world.unbalance()
    world.squeeze()
    world.until(lambda: bool(world.stories()))
    world.cluster.kill_node(world.nodes[0])
    world.until(lambda: world.idle() and world.over())
    story = world.stories()[-1]
    assert story.plan.event_id == "squeezed"
    assert story.outcome is PlanState.ROLLED_BACK
    world.check()


def test_the_balancer_may_die_at_any_step_of_a_plan(tmp_path: Path) -> None:
    outcomes = set()
    for steps in range(0, 1_000, 1 if THOROUGH else 3):
        folder = tmp_path / str(steps)
        world = World(folder)
        world.unbalance()
        world.squeeze()
        world.until(lambda world=world: bool(world.stories()))
        for _ in range(steps):
            world.step()
        if world.over():
            assert steps > 10
            break
        world.kill()
        for _ in range(steps % 7):
            world.step()
        world.start()
        world.until(world.over)
        world.check()
        outcomes.add(world.stories()[0].outcome)
    assert PlanState.DONE in outcomes


@pytest.mark.parametrize("written", [True, False], ids=["after", "before"])
def test_the_balancer_may_die_at_any_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    add_note = History.add_note
    for number in range(1, 100):
        world = World(tmp_path / str(number))
        world.unbalance()
        left = [number]

        def crash(history: History, note: Note, left: list[int] = left) -> None:
            left[0] -= 1
            if written or left[0]:
                add_note(history, note)
            if not left[0]:
                raise Crash

        world.squeeze()
        with monkeypatch.context() as patched:
            patched.setattr(History, "add_note", crash)
            try:
                world.until(world.over)
            except Crash:
                world.kill()
            else:
                assert number > 5
                return
        world.start()
        world.squeeze()  # the newest state of all events is shown to a new balancer
        world.until(world.idle)
        world.check()
    pytest.fail("the plan never ended")


def test_an_event_known_from_the_history_has_no_consequences_again(world: World) -> None:
    world.unbalance()
    world.squeeze()
    world.until(world.over)
    world.kill()
    world.start()
    world.until(world.idle)
    world.squeeze()
    world.step()
    assert len(world.stories()) == 1
    with History(world.config.history_file) as history:
        assert len(history.entries(kind="event")) == 1


def test_a_plan_for_an_executor_that_is_no_more_is_rolled_back_and_told(world: World) -> None:
    world.kill()
    move = encoded(Move((1,), "a", "b"))
    action = Action("move-1", "no-such-topic", MOVE_SLICES, move, undo=move)
    plan = ActionPlan((action,), "a test", "old-1", "squeezed")
    with History(world.config.history_file) as history:
        for instruction in Controller().submit(plan, 1.0):
            if isinstance(instruction, Note):
                history.add_note(instruction)
    world.start()
    world.until(world.over)
    [story] = world.stories()
    assert story.outcome is PlanState.ROLLED_BACK
    assert any("no executor 'no-such-topic'" in note.reason for note in story.notes)


def test_a_quorum_of_nodes_is_an_event(tmp_path: Path) -> None:
    both = EventConfig("both", events=("squeezed",), need=2)
    world = World(tmp_path, events=(SQUEEZED, both), rules=(RuleConfig("both", TOPIC),))
    world.unbalance()
    world.squeeze()
    for number, node in enumerate(world.nodes[:2]):
        world.loop.handle(PropertyReport(node, WALL, ("cpu",), (99.0,), (2,)), world.cluster.now)
        notice = EventNotice(node, "squeezed", True, WALL + 2 + number, (), (), ())
        world.loop.handle(notice, world.cluster.now)
    world.until(world.over)
    [story] = world.stories()
    assert story.plan.event_id == "both"
    world.loop.handle(Gone(PropertyReport, (world.nodes[1],)), world.cluster.now)
    with History(world.config.history_file) as history:
        assert history.entries(kind="event")[-1].state == "cleared"
