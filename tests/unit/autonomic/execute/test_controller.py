"""The controller: order, acknowledgements, deadlines, rollback, and going on after a crash."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.execute.controller import UNDO_TRIES, Controller, Instruction, Note
from evenflow.autonomic.execute.states import ActionState, PlanState
from evenflow.errors import PlanError
from evenflow.model.messages import ActionOrder, ActionOutcome


def action(name: str, stage: int = 0, *, undo: bytes | None = b"undo") -> Action:
    return Action(name, f"node-{name}", "do", b"do", stage, 10.0, undo)


def orders(instructions: list[Instruction]) -> list[tuple[str, bool]]:
    return [(each.action_id, each.undo) for each in instructions if isinstance(each, ActionOrder)]


def answers(instructions: list[Instruction], *, ok: bool = True) -> list[ActionOutcome]:
    return [
        ActionOutcome(each.plan_id, each.action_id, each.attempt, ok, "" if ok else "no")
        for each in instructions
        if isinstance(each, ActionOrder)
    ]


def plan_states(instructions: list[Instruction]) -> list[PlanState]:
    return [
        each.state
        for each in instructions
        if isinstance(each, Note) and isinstance(each.state, PlanState)
    ]


def test_stages_follow_one_another_and_a_stage_runs_side_by_side() -> None:
    controller = Controller()
    first = controller.submit(
        ActionPlan((action("a"), action("b"), action("c", 1)), plan_id="p"), 0.0
    )
    assert plan_states(first) == [PlanState.WAITING, PlanState.RUNNING]
    assert orders(first) == [("a", False), ("b", False)]
    to_a, to_b = answers(first)
    assert orders(controller.handle(to_a, 1.0)) == []
    then = controller.handle(to_b, 2.0)
    assert orders(then) == [("c", False)]
    assert plan_states(controller.handle(answers(then)[0], 3.0)) == [PlanState.DONE]
    assert controller.idle


def test_plans_run_in_order() -> None:
    controller = Controller()
    first = controller.submit(ActionPlan((action("a"),), plan_id="p"), 0.0)
    second = controller.submit(ActionPlan((action("b"),), plan_id="q"), 0.0)
    assert plan_states(second) == [PlanState.WAITING]
    then = controller.handle(answers(first)[0], 1.0)
    assert plan_states(then) == [PlanState.DONE, PlanState.RUNNING]
    assert orders(then) == [("b", False)]


def test_a_refused_action_rolls_the_plan_back_last_stage_first() -> None:
    controller = Controller()
    plan = ActionPlan((action("a"), action("b", 1), action("c", 2), action("d", 2)), plan_id="p")
    (to_a,) = answers(controller.submit(plan, 0.0))
    (to_b,) = answers(controller.handle(to_a, 1.0))
    stage = controller.handle(to_b, 2.0)
    refusal, agreement = answers(stage, ok=False)[0], answers(stage)[1]
    (note,) = controller.handle(refusal, 3.0)
    assert isinstance(note, Note)
    assert note.reason == "no"
    back = controller.handle(agreement, 4.0)
    assert plan_states(back) == [PlanState.ROLLING_BACK]
    assert orders(back) == [("d", True)]
    back = controller.handle(answers(back)[0], 5.0)
    assert orders(back) == [("b", True)]
    back = controller.handle(answers(back)[0], 6.0)
    assert orders(back) == [("a", True)]
    assert plan_states(controller.handle(answers(back)[0], 7.0)) == [PlanState.ROLLED_BACK]


def test_orders_are_repeated_and_an_overdue_one_is_undone() -> None:
    controller = Controller(resend_s=4.0)
    controller.submit(ActionPlan((action("a"),), plan_id="p"), 0.0)
    assert controller.get_timer() == 4.0
    assert orders(controller.handle_timer(3.0)) == []
    assert orders(controller.handle_timer(4.0)) == [("a", False)]
    assert orders(controller.handle_timer(8.0)) == [("a", False)]
    assert controller.get_timer() == 10.0
    overdue = controller.handle_timer(10.0)
    assert plan_states(overdue) == [PlanState.ROLLING_BACK]
    assert orders(overdue) == [("a", True)]


def test_what_cannot_be_undone_is_kept_and_what_will_not_is_stuck() -> None:
    controller = Controller()
    plan = ActionPlan((action("a", undo=None), action("b", 1), action("c", 2)), plan_id="p")
    (to_a,) = answers(controller.submit(plan, 0.0))
    (to_b,) = answers(controller.handle(to_a, 0.0))
    (refusal,) = answers(controller.handle(to_b, 0.0), ok=False)
    back = controller.handle(refusal, 0.0)
    for _ in range(UNDO_TRIES - 1):
        back = controller.handle(answers(back, ok=False)[0], 0.0)
        assert orders(back) == [("b", True)]
    end = controller.handle(answers(back, ok=False)[0], 0.0)
    states = [(note.action_id, note.state) for note in end if isinstance(note, Note)]
    assert states == [
        ("b", ActionState.STUCK),
        ("a", ActionState.KEPT),
        ("", PlanState.BROKEN),
    ]


def test_late_double_and_foreign_answers_are_ignored() -> None:
    controller = Controller()
    plan = ActionPlan((action("a"), action("b", 1)), plan_id="p")
    (to_a,) = answers(controller.submit(plan, 0.0))
    (to_b,) = answers(controller.handle(to_a, 0.0))
    for foreign in (
        to_a,
        ActionOutcome("other", "b", to_b.attempt, ok=True),
        ActionOutcome("p", "nobody", 1, ok=True),
        ActionOutcome("p", "b", to_b.attempt + 1, ok=True),
    ):
        assert controller.handle(foreign, 0.0) == []
    assert controller.ignored == 4


def test_too_many_plans_and_two_of_one_id_are_refused() -> None:
    controller = Controller(capacity=2)
    controller.submit(ActionPlan((action("a"),), plan_id="p"), 0.0)
    with pytest.raises(PlanError, match="new id"):
        controller.submit(ActionPlan((action("a"),), plan_id="p"), 0.0)
    controller.submit(ActionPlan((action("a"),), plan_id="q"), 0.0)
    with pytest.raises(PlanError, match="wait already"):
        controller.submit(ActionPlan((action("a"),), plan_id="r"), 0.0)


class World:
    """Executors that keep their promises, a network that does not, a controller that crashes."""

    def __init__(self, seed: int, plans: list[ActionPlan], crash_after: int) -> None:
        self.random = Random(seed)
        self.plans = plans
        self.done: set[tuple[str, str]] = set()
        self.seen: dict[tuple[str, str], int] = {}
        self.refusing = {
            (plan.plan_id, each.action_id)
            for plan in plans
            for each in plan.actions
            if self.random.random() < 0.15
        }
        self.mute_until = {
            (plan.plan_id, each.action_id): self.random.choice((0.0, 0.0, 0.0, 15.0))
            for plan in plans
            for each in plan.actions
        }
        self.notes: list[Note] = []
        self.left = crash_after
        self.crashes = 0
        self.queue: list[tuple[float, int, ActionOrder | ActionOutcome]] = []
        self.number = count()
        self.now = 0.0
        self.controller = Controller()

    def run(self) -> None:
        waiting = list(self.plans)
        while waiting:
            self.perform(self.controller.submit(waiting.pop(0), self.now))
        while not self.controller.idle:
            timer = self.controller.get_timer()
            if self.queue and (timer is None or self.queue[0][0] <= timer):
                self.now, _, message = heappop(self.queue)
                self.deliver(message)
            else:
                assert timer is not None
                self.now = max(self.now, timer)
                self.perform(self.controller.handle_timer(self.now))

    def deliver(self, message: ActionOrder | ActionOutcome) -> None:
        if isinstance(message, ActionOrder):
            self.execute(message)
        else:
            self.perform(self.controller.handle(message, self.now))

    def perform(self, instructions: list[Instruction]) -> None:
        for each in instructions:
            if self.left == 0 and self.crashes == 0:
                self.crashes += 1
                self.controller = Controller()
                self.perform(self.controller.resume(self.notes, self.now))
                return
            self.left -= 1
            if isinstance(each, Note):
                self.notes.append(each)
            else:
                self.check_order(each)
                self.send(each)

    def check_order(self, order: ActionOrder) -> None:
        """An action begins only when all earlier stages are done, and ends after all later ones."""
        plan = next(plan for plan in self.plans if plan.plan_id == order.plan_id)
        stage = next(a.stage for a in plan.actions if a.action_id == order.action_id)
        for other in plan.actions:
            is_done = (plan.plan_id, other.action_id) in self.done
            if not order.undo and other.stage < stage:
                assert is_done, (order, other)
            if order.undo and other.stage > stage and other.undo is not None:
                assert not is_done, (order, other)

    def send(self, message: ActionOrder | ActionOutcome) -> None:
        if self.random.random() < 0.15:
            return
        for _ in range(self.random.choice((1, 1, 1, 2))):
            delay = self.random.choice((0.01, 0.1, 0.5, 3.0))
            heappush(self.queue, (self.now + delay, next(self.number), message))

    def execute(self, order: ActionOrder) -> None:
        key = (order.plan_id, order.action_id)
        if order.attempt < self.seen.get(key, 0) or self.now < self.mute_until[key]:
            return
        self.seen[key] = order.attempt
        ok = order.undo or key not in self.refusing
        if ok and order.undo:
            self.done.discard(key)
        elif ok:
            self.done.add(key)
        self.send(ActionOutcome(order.plan_id, order.action_id, order.attempt, ok))


def random_plans(random: Random) -> list[ActionPlan]:
    return [
        ActionPlan(
            tuple(
                action(f"a{index}", random.randrange(3), undo=random.choice((b"u", b"u", None)))
                for index in range(random.randrange(5))
            ),
            plan_id=f"plan-{number}",
        )
        for number in range(random.randint(1, 3))
    ]


@given(st.integers(0, 1_000_000), st.integers(0, 60))
def test_every_plan_is_done_or_undone_wherever_the_controller_dies(
    seed: int, crash_after: int
) -> None:
    plans = random_plans(Random(seed))
    world = World(seed, plans, crash_after)
    world.run()
    ends = {
        note.plan_id: note.state
        for note in world.notes
        if isinstance(note.state, PlanState) and note.state.final
    }
    submitted = {note.plan_id for note in world.notes if note.plan is not None}
    assert set(ends) == submitted
    for plan in plans:
        done = [each for each in plan.actions if (plan.plan_id, each.action_id) in world.done]
        if ends.get(plan.plan_id) is PlanState.DONE:
            assert done == list(plan.actions)
        elif ends.get(plan.plan_id) is PlanState.ROLLED_BACK:
            assert all(each.undo is None for each in done)


def test_a_crash_at_every_single_moment() -> None:
    for crash_after, seed in product(range(40), range(5)):
        plan = ActionPlan((action("a"), action("b"), action("c", 1), action("d", 2)), plan_id="p")
        world = World(seed, [plan], crash_after)
        world.run()
        last = world.notes[-1].state if world.notes else PlanState.DONE
        assert isinstance(last, PlanState)
        assert last.final
        if last is not PlanState.BROKEN:
            assert len(world.done) in {0, 4}
