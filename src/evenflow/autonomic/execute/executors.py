"""Executors: who carries out the actions of a plan, in the process where they act.

MAPE-SDDL's CES Executor (section III.B.4). A process that acts (a node, later a gateway, a mobile
node, a bridge) has one :class:`ExecutorHost`. Orders reach it by the id of the process; what to do
is the *kind* of the action, and executors are registered by kind, ours and those of other packages
(entry point group ``evenflow.executors``). An executor is made when the first action of its kind
comes.

The host grants what the controller (:mod:`evenflow.autonomic.execute.controller`) relies on: an
order that comes again is answered again and not carried out again, an older attempt than one it has
seen is ignored, and an executor that raises refuses its action and ends nothing else.

A core: orders and time go in, outcomes come out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.errors import EvenflowError
from evenflow.errors.telling import error_text
from evenflow.model.messages import ActionOrder, ActionOutcome
from evenflow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.config import Config

MOST_REMEMBERED = 1_000
"""Actions whose newest attempt and outcome are remembered; beyond it the oldest are forgotten."""


class Executor(Protocol):
    """Carries out the actions of one kind. What is under way goes on when it is polled."""

    def order(self, order: ActionOrder, now: float) -> None:
        """Take an order under a new attempt; an action done before is answered, not done again."""
        ...

    def poll(self, now: float) -> list[ActionOutcome]:
        """Go on with what is under way; returns what is over."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an executor can act upon in its process."""

    executor_id: str
    """Id of the process in plans."""
    config: Config
    application: Any = None
    """The node's application, where there is one."""


MakeExecutor = Callable[[Surroundings], Executor]

EXECUTORS: Registry[MakeExecutor] = Registry("executor", {}, group="evenflow.executors")
"""By the kind of action."""


def outcome_of(order: ActionOrder, *, ok: bool, reason: str = "") -> ActionOutcome:
    """The answer to an order."""
    return ActionOutcome(order.plan_id, order.action_id, order.attempt, ok, reason)


class CallExecutor:
    """An executor made of two functions that act at once.

    Args:
        do: Called with the arguments of an action; whatever it raises refuses the action.
        undo: Called with the arguments that undo one that was done here.
    """

    def __init__(self, do: Callable[[bytes], object], undo: Callable[[bytes], object]) -> None:
        self._calls = {False: do, True: undo}
        self._done: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._outcomes: list[ActionOutcome] = []

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002 - it acts at once
        """Do or undo it, unless that has been done."""
        action = (order.plan_id, order.action_id)
        if order.undo == (action in self._done):
            self._calls[order.undo](order.args)
            if order.undo:
                del self._done[action]
            else:
                self._done[action] = None
            while len(self._done) > MOST_REMEMBERED:
                self._done.popitem(last=False)
        self._outcomes.append(outcome_of(order, ok=True))

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """What was done since the last call."""
        outcomes, self._outcomes = self._outcomes, []
        return outcomes


@dataclass(slots=True)
class _Attempt:
    """The newest attempt of an action."""

    number: int
    kind: str
    outcome: ActionOutcome | None = None


class ExecutorHost:
    """The executors of one process.

    Args:
        surroundings: What they can act upon.
        makers: Who makes them, by the kind of action; by default everything that is registered.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        makers: Registry[MakeExecutor] | Mapping[str, MakeExecutor] = EXECUTORS,
    ) -> None:
        self._surroundings = surroundings
        self._makers = makers if isinstance(makers, Registry) else Registry("executor", makers)
        self._executors: dict[str, Executor] = {}
        self._newest: OrderedDict[tuple[str, str], _Attempt] = OrderedDict()
        """By plan and action."""

    def handle(self, order: ActionOrder, now: float) -> list[ActionOutcome]:
        """Take an order; returns what can be answered at once."""
        newest = self._newest.get((order.plan_id, order.action_id))
        if newest is not None and order.attempt <= newest.number:
            again = newest.outcome if order.attempt == newest.number else None
            return [again] if again is not None else []
        self._begin(order)
        try:
            self._executor(order.kind).order(order, now)
        except Exception as error:  # noqa: BLE001 - an executor of others may raise anything
            return self._settled([outcome_of(order, ok=False, reason=_said(error))])
        return self.poll(now)

    def poll(self, now: float) -> list[ActionOutcome]:
        """Go on with what is under way; returns what is over."""
        outcomes: list[ActionOutcome] = []
        for kind, executor in list(self._executors.items()):
            try:
                outcomes += executor.poll(now)
            except Exception as error:  # noqa: BLE001
                del self._executors[kind]  # made anew by the next order
                outcomes += self._refused(kind, _said(error))
        return self._settled(outcomes)

    def _executor(self, kind: str) -> Executor:
        if kind not in self._executors:
            self._executors[kind] = self._makers.get(kind)(self._surroundings)
        return self._executors[kind]

    def _begin(self, order: ActionOrder) -> None:
        action = (order.plan_id, order.action_id)
        self._newest[action] = _Attempt(order.attempt, order.kind)
        self._newest.move_to_end(action)
        while len(self._newest) > MOST_REMEMBERED:
            self._newest.popitem(last=False)

    def _settled(self, outcomes: list[ActionOutcome]) -> list[ActionOutcome]:
        """Remember outcomes, to repeat them; those of replaced attempts go no further."""
        told = []
        for outcome in outcomes:
            newest = self._newest.get((outcome.plan_id, outcome.action_id))
            if newest is not None and newest.number == outcome.attempt:
                newest.outcome = outcome
                told.append(outcome)
        return told

    def _refused(self, kind: str, reason: str) -> list[ActionOutcome]:
        """Every action of a kind that is under way is over: its executor failed."""
        return [
            ActionOutcome(plan_id, action_id, attempt.number, ok=False, reason=reason)
            for (plan_id, action_id), attempt in self._newest.items()
            if attempt.kind == kind and attempt.outcome is None
        ]


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, EvenflowError) else error_text(error)
