"""The controller: runs action plans in order, and undoes those that fail.

MAPE-SDDL's Control and Execution Service (section III.B.4); the executors
(:mod:`evenflow.autonomic.execute.executors`) are in the processes that act. Plans
run one after the other in the order they came. In a plan, the actions of one stage run side by side
and the next stage begins when all of them are done. When one is refused or overdue, those beside it
are waited for and then everything that was done is undone, the last stage first. The states and
their transitions are in :mod:`evenflow.autonomic.execute.states`.

What executors have to grant, because orders are repeated until answered and after a crash:

- an order they have carried out already is acknowledged and not carried out again;
- an order to undo what they never did is acknowledged.
- an order of an older attempt than one they have seen for that action is ignored.

**Surviving a crash.** Every transition is a :class:`Note` that the shell must write down *before*
it sends the orders that come with it. A new controller is given the notes and goes on where they
end: what was running is ordered again under a new attempt, so an answer to the old one cannot be
taken for an answer to the new.

A core: it takes messages and time and returns instructions.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.states import (
    ACTION_TRANSITIONS,
    PLAN_TRANSITIONS,
    ActionState,
    PlanState,
    Transition,
)
from evenflow.errors import PlanError
from evenflow.model.messages import ActionOrder, ActionOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.autonomic.execute.actions import Action, ActionPlan

UNDO_TRIES = 3
"""How often an order to undo is given before the action counts as stuck."""


@dataclass(frozen=True, slots=True)
class Note:
    """For the history: to be written down before the orders that come after it are sent."""

    time: float
    plan_id: str
    state: PlanState | ActionState
    action_id: str = ""
    """Empty when the note is of the plan itself."""
    attempt: int = 0
    reason: str = ""
    plan: ActionPlan | None = None
    """The plan, when it is new."""


Instruction = ActionOrder | Note


@dataclass(slots=True)
class _Task:
    action: Action
    state: ActionState = ActionState.PENDING
    attempt: int = 0
    due: float = 0.0
    resend: float = 0.0
    tries: int = 0

    @property
    def open(self) -> bool:
        """Whether an answer is awaited."""
        return self.state in (ActionState.RUNNING, ActionState.UNDOING)

    @property
    def failed(self) -> bool:
        return self.state in (ActionState.REFUSED, ActionState.OVERDUE)

    @property
    def to_undo(self) -> bool:
        return self.state in (ActionState.DONE, ActionState.OVERDUE)


@dataclass(slots=True)
class _Case:
    """A plan in execution."""

    plan: ActionPlan
    tasks: dict[str, _Task]
    state: PlanState = PlanState.WAITING

    @classmethod
    def of(cls, plan: ActionPlan) -> _Case:
        return cls(plan, {action.action_id: _Task(action) for action in plan.actions})

    def stage(self, number: int) -> list[_Task]:
        return [task for task in self.tasks.values() if task.action.stage == number]


@dataclass(slots=True)
class Controller:
    """Runs plans in order.

    Args:
        resend_s: An order that is not answered is repeated after this time.
        capacity: How many plans may wait.
    """

    resend_s: float = 1.0
    capacity: int = 100
    ignored: int = 0
    """Answers that were late, double or to nothing."""
    _cases: deque[_Case] = field(default_factory=deque)
    """The plan in execution, then those that wait."""
    _failed: list[ActionPlan] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._cases

    def carries(self, plan_id: str) -> bool:
        """Whether a plan is in execution here, or waits."""
        return any(case.plan.plan_id == plan_id for case in self._cases)

    def failed(self) -> list[ActionPlan]:
        """The plans that were rolled back or broke since the last call."""
        failed, self._failed = self._failed, []
        return failed

    def submit(self, plan: ActionPlan, now: float) -> list[Instruction]:
        """Take a plan; it is carried out when those before it are over.

        Raises:
            PlanError: Too many plans wait, or one of this id does.
        """
        if len(self._cases) >= self.capacity:
            raise PlanError(f"{self.capacity} plans wait already; let them finish first")
        if any(case.plan.plan_id == plan.plan_id for case in self._cases):
            raise PlanError(f"plan {plan.plan_id!r} is being carried out already; give it a new id")
        self._cases.append(_Case.of(plan))
        note = Note(now, plan.plan_id, PlanState.WAITING, reason=plan.reason, plan=plan)
        return [note, *self._advance(now)]

    def resume(self, notes: Iterable[Note], now: float) -> list[Instruction]:
        """Go on where the notes of an earlier controller end."""
        cases: dict[str, _Case] = {}
        for note in notes:
            if note.plan is not None:
                cases[note.plan_id] = _Case.of(note.plan)
            case = cases.get(note.plan_id)
            if case is None:
                continue
            if isinstance(note.state, PlanState):
                case.state = note.state
            elif note.action_id in case.tasks:
                task = case.tasks[note.action_id]
                task.state, task.attempt = note.state, note.attempt
        unfinished = [case for case in cases.values() if not case.state.final]
        # Plans ran in order, so at most one had begun: it comes first.
        self._cases.extend(sorted(unfinished, key=lambda c: c.state is PlanState.WAITING))
        again = [self._order(case, task, now) for case in self._cases for task in _open(case)]
        return [*(each for pair in again for each in pair), *self._advance(now)]

    def lose(self, order: ActionOrder, now: float) -> list[Instruction]:
        """The process of an executor is gone: nobody knows what it did, as when it is overdue."""
        case = self._cases[0] if self._cases else None
        task = case.tasks.get(order.action_id) if case is not None else None
        right = case is not None and case.plan.plan_id == order.plan_id
        if case is None or task is None or not right or task.attempt != order.attempt:
            return []
        if task.state is not ActionState.RUNNING:
            return []
        reason = f"the process {order.executor_id} is gone"
        return [*self._take(case, task, Transition.EXPIRE, now, reason), *self._advance(now)]

    def handle(self, answer: ActionOutcome, now: float) -> list[Instruction]:
        """An executor answered."""
        case = self._cases[0] if self._cases else None
        task = case.tasks.get(answer.action_id) if case is not None else None
        right = case is not None and case.plan.plan_id == answer.plan_id
        if case is None or task is None or not right or not task.open:
            self.ignored += 1
            return []
        if task.attempt != answer.attempt:
            self.ignored += 1
            return []
        step = Transition.ACKNOWLEDGE if answer.ok else Transition.REFUSE
        return [*self._take(case, task, step, now, answer.reason), *self._advance(now)]

    def get_timer(self) -> float | None:
        """When :meth:`handle_timer` wants to be called next."""
        if not self._cases:
            return None
        return min((min(task.due, task.resend) for task in _open(self._cases[0])), default=None)

    def handle_timer(self, now: float) -> list[Instruction]:
        """Repeat orders and find what is overdue."""
        if not self._cases:
            return []
        case = self._cases[0]
        instructions: list[Instruction] = []
        for task in list(_open(case)):
            if now >= task.due:
                instructions += self._take(case, task, Transition.EXPIRE, now, "no answer in time")
            elif now >= task.resend:
                task.resend = now + self.resend_s
                instructions.append(_order_of(case.plan, task))
        return [*instructions, *self._advance(now)]

    def _advance(self, now: float) -> list[Instruction]:
        """Do everything that can be done without waiting."""
        instructions: list[Instruction] = []
        while self._cases:
            case = self._cases[0]
            before = len(instructions)
            if case.state is PlanState.WAITING:
                instructions.append(self._enter(case, PlanState.RUNNING, now))
            elif case.state is PlanState.RUNNING:
                instructions += self._forward(case, now)
            else:
                instructions += self._backward(case, now)
            if case.state.final:
                self._cases.popleft()
            elif len(instructions) == before:
                break
        return instructions

    def _forward(self, case: _Case, now: float) -> list[Instruction]:
        """Start the first stage that is not done; turn back when something in it has failed."""
        for number in case.plan.stages:
            tasks = case.stage(number)
            if any(task.open for task in tasks):
                return []
            failed = next((task for task in tasks if task.failed), None)
            if failed is not None:
                reason = f"action {failed.action.action_id} {failed.state.value}"
                return [self._enter(case, PlanState.ROLLING_BACK, now, reason)]
            pending = [task for task in tasks if task.state is ActionState.PENDING]
            if pending:
                return [
                    each
                    for task in pending
                    for each in self._take(case, task, Transition.START, now)
                ]
        return [self._enter(case, PlanState.DONE, now)]

    def _backward(self, case: _Case, now: float) -> list[Instruction]:
        """Undo the last stage that has something to undo."""
        for number in reversed(case.plan.stages):
            tasks = case.stage(number)
            if any(task.open for task in tasks):
                return []
            instructions: list[Instruction] = []
            for task in tasks:
                if task.to_undo:
                    step = Transition.KEEP if task.action.undo is None else Transition.UNDO
                    instructions += self._take(case, task, step, now)
            if instructions:
                return instructions
        stuck = any(task.state is ActionState.STUCK for task in case.tasks.values())
        return [self._enter(case, PlanState.BROKEN if stuck else PlanState.ROLLED_BACK, now)]

    def _take(
        self, case: _Case, task: _Task, step: Transition, now: float, reason: str = ""
    ) -> list[Instruction]:
        """One transition of an action, with the order that goes with it."""
        if task.state is ActionState.UNDOING and step in (Transition.REFUSE, Transition.EXPIRE):
            task.tries += 1
            if task.tries < UNDO_TRIES:
                return list(self._order(case, task, now, reason))
        task.state = ACTION_TRANSITIONS[task.state, step]
        if task.open:
            return list(self._order(case, task, now, reason))
        return [self._note(case, task, now, reason)]

    def _order(
        self, case: _Case, task: _Task, now: float, reason: str = ""
    ) -> tuple[Instruction, Instruction]:
        """Order the task under a new attempt."""
        task.attempt += 1
        task.due = now + task.action.deadline_s
        task.resend = now + self.resend_s
        return self._note(case, task, now, reason), _order_of(case.plan, task)

    def _enter(self, case: _Case, state: PlanState, now: float, reason: str = "") -> Note:
        assert state in PLAN_TRANSITIONS[case.state], (case.state, state)
        case.state = state
        if state in (PlanState.ROLLED_BACK, PlanState.BROKEN):
            self._failed.append(case.plan)
        return Note(now, case.plan.plan_id, state, reason=reason)

    def _note(self, case: _Case, task: _Task, now: float, reason: str) -> Note:
        action_id = task.action.action_id
        return Note(now, case.plan.plan_id, task.state, action_id, task.attempt, reason)


def _open(case: _Case) -> Iterator[_Task]:
    return (task for task in case.tasks.values() if task.open)


def _order_of(plan: ActionPlan, task: _Task) -> ActionOrder:
    action = task.action
    undo = task.state is ActionState.UNDOING
    args = (action.undo or b"") if undo else action.args
    reason = "the plan is rolled back" if undo else plan.reason
    return ActionOrder(
        plan.plan_id, action.action_id, task.attempt, action.executor_id, action.kind, args, undo,
        reason, action.deadline_s,
    )  # fmt: skip
