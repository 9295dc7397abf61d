"""Who joins gets a share and who leaves is emptied, in the end, whatever fails in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.executors import CallExecutor, ExecutorHost, Surroundings
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.loop import MOST_WAITING
from evenflow.config import BalancerConfig, Config, HistoryConfig, TopicConfig
from evenflow.domain.channels import Gone
from evenflow.model.messages import EventNotice, Order, PropertyReport
from evenflow.model.plan import Move
from evenflow.slices.balancer.planner import MOVE_SLICES, encoded, mover_of
from evenflow.testing.cluster import TICK, TOPIC, SimCluster
from evenflow.testing.schedules import PATIENCE

SLICES = 12


def by_load() -> Config:
    """As it is out of the box: balanced by load, in a topic that is quiet."""
    return Config(
        topics=(TopicConfig(TOPIC, slices=SLICES),),
        balancer=BalancerConfig(analyze_s=2.0),
        history=HistoryConfig(":memory:"),
    )


def cluster(nodes: int = 2, config: Config | None = None) -> SimCluster:
    sim = SimCluster(SLICES, balancer_settings=PATIENCE, config=config)
    sim.start_balancer()
    for _ in range(nodes):
        sim.start_node()
    sim.settle()
    passes(sim, 1.0)
    return sim


def passes(
    sim: SimCluster, seconds: float, lost: Callable[[object], bool] = lambda _: False
) -> None:
    """Let time pass; some of what is sent is lost."""
    end = sim.now + seconds
    parcels = sim.network.parcels
    while sim.now < end:
        for index in reversed([i for i, each in enumerate(parcels) if lost(each.what)]):
            del parcels[index]
        if parcels:
            sim.network.deliver(0)
        else:
            sim.work()
            sim.advance(TICK)


def held(sim: SimCluster) -> list[int]:
    assert sim.balancer is not None
    return [sim.balancer.owners.of.count(node) for node in sim.nodes]


def is_order(what: object) -> bool:
    return isinstance(what, Order)


def restart(sim: SimCluster) -> None:
    sim.kill_balancer()
    sim.start_balancer()


@pytest.fixture
def restless() -> SimCluster:
    """One node that has everything, and everything has moved in the last hour."""
    sim = cluster(config=by_load())
    first, second = sim.nodes
    sim.kill_node(second)
    passes(sim, 2.0)
    sim.start_node()
    passes(sim, 2.0)
    sim.kill_node(first)
    passes(sim, 2.0)
    assert held(sim) == [SLICES]
    return sim


def test_a_node_that_joins_gets_its_share_of_slices_that_have_just_moved(
    restless: SimCluster,
) -> None:
    restless.start_node()
    passes(restless, 10.0)
    assert held(restless) == [6, 6]


def test_also_when_its_first_plan_fails(restless: SimCluster) -> None:
    restless.start_node()
    passes(restless, 8.0, lost=is_order)
    passes(restless, 60.0)
    assert held(restless) == [6, 6]


def test_also_when_there_was_no_balancer(restless: SimCluster) -> None:
    restless.kill_balancer()
    restless.start_node()
    passes(restless, 1.0)
    restless.start_balancer()
    passes(restless, 20.0)
    assert held(restless) == [6, 6]


def test_half_a_join_is_made_whole_by_the_next_balancer() -> None:
    sim = cluster()
    _, second = sim.nodes
    sim.start_node()
    passes(sim, 6.0, lost=lambda what: isinstance(what, Order) and what.node == second)
    assert held(sim) == [4, 6, 2]
    restart(sim)
    passes(sim, 30.0)
    assert held(sim) == [4, 4, 4]


class Failing:
    """A planner that fails until it is mended."""

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        raise RuntimeError("not now")

    on_new_processing_node = analyze_load


@pytest.mark.parametrize("change", ["join", "leave"])
def test_a_planner_that_fails_is_asked_again(change: str) -> None:
    sim = cluster()
    assert sim.autonomy is not None
    working = sim.autonomy.loop.planning._working
    real, working[TOPIC] = working[TOPIC], Failing()
    if change == "join":
        sim.start_node()
    else:
        next(iter(sim.nodes.values())).core.leave()
    passes(sim, 2.0)
    working[TOPIC] = real
    passes(sim, 30.0)
    assert held(sim) == ([4, 4, 4] if change == "join" else [0, 12])


def test_events_without_a_rule_never_push_a_join_out() -> None:
    sim = cluster()
    assert sim.autonomy is not None
    loop = sim.autonomy.loop
    slow = Action("a", "nobody~1", "sleep", deadline_s=5.0)
    loop.reported("nobody~1", {}, sim.now)
    waited_for = f"node-leaving-{TOPIC}"
    loop._submit(ActionPlan((slow,), plan_id="slow", event_id=waited_for), sim.now)
    sim.start_node()
    passes(sim, 1.0)
    assert [event for event, *_ in loop._waiting] == [f"node-joined-{TOPIC}"]
    for number in range(2 * MOST_WAITING):
        notice = EventNotice("a", f"noise-{number}", True, float(number), (), (), ())
        sim.autonomy.handle(notice, sim.now)
    passes(sim, 40.0)
    assert held(sim) == [4, 4, 4]


def test_a_plan_that_nobody_answers_holds_up_no_join_and_no_leave() -> None:
    sim = cluster()
    assert sim.autonomy is not None
    sim.autonomy.loop.reported("nobody~1", {}, sim.now)
    blocking = Action("a", "nobody~1", "sleep", deadline_s=60.0)
    sim.autonomy.loop._submit(ActionPlan((blocking,), plan_id="slow", event_id="hot"), sim.now)
    sim.start_node()
    passes(sim, 5.0)
    assert held(sim) == [4, 4, 4]
    next(iter(sim.nodes.values())).core.leave()
    passes(sim, 5.0)
    assert held(sim) == [0, 6, 6]
    assert not sim.autonomy.loop.idle


def test_too_many_events_leave_out_none_of_the_membership() -> None:
    sim = cluster()
    assert sim.autonomy is not None
    loop = sim.autonomy.loop
    loop.planning.answers = lambda _: True  # type: ignore[method-assign]
    for number in range(MOST_WAITING + 5):
        name = f"node-joined-{TOPIC}" if number < 3 else "noise"
        loop.raise_event(EventNotification(name, f"n{number}~1", (), Phase.RAISED, sim.now))
    assert len(loop._waiting) == MOST_WAITING
    assert [source for event, source, _ in loop._waiting if event != "noise"] == [
        "n0~1", "n1~1", "n2~1",
    ]  # fmt: skip


def test_a_move_that_could_not_begin_in_time_never_begins() -> None:
    sim = cluster(3)
    assert sim.autonomy is not None
    assert sim.balancer is not None
    one, two, three = sim.nodes
    sim.move(one, two, 1)
    to_two = lambda what: isinstance(what, Order) and what.node == two  # noqa: E731
    passes(sim, 1.0, lost=to_two)
    assert sim.balancer.sessions
    slice_id = sim.balancer.owners.owned_by(one)[-1]
    move = encoded(Move((slice_id,), one, three))
    action = Action("m", mover_of(TOPIC), MOVE_SLICES, move, deadline_s=2.0)
    sim.autonomy.loop._submit(ActionPlan((action,), plan_id="late"), sim.now)
    passes(sim, 2.5, lost=to_two)
    passes(sim, 10.0)
    assert sim.balancer.owners.of[slice_id] == one
    assert not [deed for deed in sim.balancers.history.deeds() if deed.plan_id == "late"]


def test_nothing_is_given_back_to_a_node_that_leaves() -> None:
    sim = cluster(3)
    assert sim.autonomy is not None
    assert sim.balancer is not None
    one, two, _ = sim.nodes
    slices = tuple(sim.balancer.owners.owned_by(one)[:2])
    forth, back = encoded(Move(slices, one, two)), encoded(Move(slices, two, one))
    plan = ActionPlan(
        (
            Action("a", mover_of(TOPIC), MOVE_SLICES, forth, 0, 5.0, back),
            Action("b", "nobody~1", "never", b"", 1, 2.0),
        ),
        plan_id="p",
    )
    sim.autonomy.loop.reported("nobody~1", {}, sim.now)
    sim.autonomy.loop._submit(plan, sim.now)
    passes(sim, 1.0)
    sim.nodes[one].core.leave()
    passes(sim, 20.0)
    story = sim.balancers.history.story("p")
    assert story is not None
    assert story.outcome is PlanState.ROLLED_BACK
    assert held(sim)[0] == 0


@pytest.mark.parametrize("heard", [True, False], ids=["done, answer late", "order late"])
def test_what_a_process_did_that_was_taken_for_gone_is_undone_when_it_is_back(heard: bool) -> None:
    sim = cluster()
    passes(sim, 6.0)
    assert sim.autonomy is not None
    state: list[str] = []
    host = ExecutorHost(
        Surroundings("proc~1", sim.balancers.config),
        {"set": lambda _: CallExecutor(lambda _: state.append("done"), lambda _: state.pop())},
    )
    loop = sim.autonomy.loop
    report = PropertyReport("proc~1", 0.0, ("cpu",), (1.0,), (0,))
    sim.autonomy.handle(report, sim.now)
    loop._submit(ActionPlan((Action("a", "proc~1", "set", b"1", undo=b"0"),), plan_id="p"), sim.now)
    inbox = sim.autonomy.poll(sim.now)
    outcomes = [each for order in inbox for each in host.handle(order, sim.now)] if heard else []
    sim.autonomy.handle(Gone(PropertyReport, ("proc~1",)), sim.now)
    inbox = ([] if heard else inbox) + sim.autonomy.poll(sim.now + 0.1)
    sim.autonomy.handle(report, sim.now + 0.2)
    inbox += sim.autonomy.poll(sim.now + 0.3)
    outcomes += [each for order in inbox for each in host.handle(order, sim.now)]
    for outcome in outcomes:
        sim.autonomy.handle(outcome, sim.now + 0.4)
    assert state == []
    story = sim.balancers.history.story("p")
    assert story is not None
    assert story.outcome is PlanState.ROLLED_BACK
