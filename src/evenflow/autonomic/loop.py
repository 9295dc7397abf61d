"""The loop: from events to plans to orders, with everything written down.

MAPE-SDDL, section III.B. The part of a balancer that is the same whatever it balances: local events
and property reports come in; distributed events are found among them; rules choose planners; plans
run through the controller; orders go to executors, whose outcomes come back. Executors in this
process are called; the others are reached over the action plan topic
(:meth:`AutonomicLoop.orders`). Every event, plan and outcome goes to the history before anything
follows from it.

Events are looked at one after the other, each when the plan before it is over, so that a planner
always sees what is, not what was meant to be; only changes of the membership have a turn of their
own beside all others. An event that was written down already (a new
balancer is shown the newest state of all events) is not planned for a second time; only planners
are put back where its rules had put them. But while an event lasts, its planners are asked again
now and then (:meth:`AutonomicLoop.reconsider`): what was done about it may not have been enough, or
was not possible then.

A new loop first waits until its executors know the world (:meth:`AutonomicLoop.begin`), then
finishes or rolls back what the history says was under way.

Times are of the clock that never jumps; ``offset`` leads to the time of day, which the history has.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.balancer_events import is_membership
from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.autonomic.analyze.notices import event_of
from evenflow.autonomic.execute.controller import Controller, Note
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.knowledge.records import Deed
from evenflow.autonomic.plan.planning import Verb
from evenflow.errors import PlanError
from evenflow.model.messages import ActionOrder, ActionOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.autonomic.analyze.distributed_events import CompositeDetector
    from evenflow.autonomic.execute.actions import ActionPlan
    from evenflow.autonomic.execute.controller import Instruction
    from evenflow.autonomic.execute.executors import Executor
    from evenflow.autonomic.knowledge.history import History
    from evenflow.autonomic.plan.planning import Decision, PlanningService
    from evenflow.model.messages import EventNotice

_LOG = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Events that may wait for their turn; beyond it the oldest go."""
MOST_KNOWN = 10_000
"""Events and sources of which it is remembered that they have been seen."""
HEARD_WITHIN_S = 5.0
"""Within this time of its beginning a loop has heard of every process that reports."""
LOOK_S = 0.2
"""How often distributed events are looked at when nothing is heard."""


class AutonomicLoop:
    """Distributed events, planning and control of one balancer."""

    def __init__(
        self,
        composite: CompositeDetector,
        planning: PlanningService,
        history: History,
        executors: Mapping[str, Executor],
        *,
        offset: float = 0.0,
    ) -> None:
        self.planning = planning
        self.failures = 0
        """Times that a planner could not answer, or too many plans waited."""
        self.properties: dict[str, dict[str, float]] = {}
        """The newest properties of every process that reports, by its id."""
        self._composite = composite
        self._history = history
        self._executors = executors
        self._offset = offset
        self._changes, self._others = Controller(), Controller()
        """Plans for changes of the membership, and all others: a node that is told to stop by a
        plan of the one kind can leave by a plan of the other."""
        self._waiting: dict[tuple[str, str, Phase], EventNotification] = {}
        """Events that rules answer and that wait for their turn, one of each source and phase."""
        self._known = {
            (entry.name, entry.reason): entry.time
            for entry in history.entries(kind="event", limit=MOST_WAITING)
        }
        """Time of the newest note of each event and source."""
        self._lasting: dict[tuple[str, str], EventNotification] = {}
        """Events that were raised and not cleared, by event and source."""
        self._orders: list[ActionOrder] = []
        """Orders for other processes, to be sent."""
        self._awaited: dict[tuple[str, str], ActionOrder] = {}
        """The newest order of each action that another process has to answer."""
        self._owed: dict[tuple[str, str], ActionOrder] = {}
        """Orders to undo for processes that were gone; they are sent if one comes back."""
        self._failed: list[tuple[str, str]] = []
        self._begun = False
        self._all_heard_at = 0.0
        """From then on a process that does not report is not there."""
        self._next_look = 0.0

    @property
    def idle(self) -> bool:
        """Whether no plan is under way and no event waits."""
        return self._begun and not self._waiting and all(each.idle for each in self._controllers)

    def begin(self, now: float) -> None:
        """The executors know the world: go on where the history ends. Once."""
        self._begun = True
        self._all_heard_at = now + HEARD_WITHIN_S
        notes = self._history.unfinished()
        changes = {n.plan_id for n in notes if n.plan and is_membership(n.plan.event_id)}
        for controller in self._controllers:
            mine = [n for n in notes if (n.plan_id in changes) == (controller is self._changes)]
            self._perform(controller.resume(mine, now), now)

    # -- what comes in --------------------------------------------------------------------------

    def notified(self, notice: EventNotice, now: float) -> None:
        """A local event began or ended at a process."""
        event = event_of(notice)
        first = self._follow(event)
        if not self._is_new(event):
            if first:
                self.planning.restore(event, now)
            self._raise(self._composite.notified(event, now))
            return
        self._take(event)
        self._raise(self._composite.notified(event, now))

    def reported(self, source: str, values: Mapping[str, float], now: float) -> None:
        """A process reported its properties."""
        if source not in self.properties:
            self._come_back(source)
        self.properties.setdefault(source, {}).update(values)
        self._raise(self._composite.heard(source, values, now))

    def gone(self, source: str, now: float) -> None:
        """A process has left: what it was doing for a plan will not be answered any more."""
        for key in [key for key in self._lasting if key[1] == source]:
            del self._lasting[key]
        self.properties.pop(source, None)
        self._raise(self._composite.gone(source, now))
        for order in [each for each in self._awaited.values() if each.executor_id == source]:
            if order.undo:
                self._owe(order)
                self.answered(_absent(order), now)
            else:
                self._perform(self._carrying(order.plan_id).lose(order, now), now)

    def _owe(self, order: ActionOrder) -> None:
        if len(self._owed) >= MOST_WAITING:
            self._owed.pop(next(iter(self._owed)))
        self._owed[order.plan_id, order.action_id] = order

    def _come_back(self, source: str) -> None:
        """A process reports again that was gone: what it still has to undo is ordered."""
        for key in [key for key, each in self._owed.items() if each.executor_id == source]:
            self._orders.append(self._owed.pop(key))

    def answered(self, outcome: ActionOutcome, now: float) -> None:
        """An executor in another process answered."""
        order = self._awaited.get((outcome.plan_id, outcome.action_id))
        if order is not None and order.attempt == outcome.attempt:
            del self._awaited[outcome.plan_id, outcome.action_id]
        self._perform(self._carrying(outcome.plan_id).handle(outcome, now), now)

    def raise_event(self, event: EventNotification) -> None:
        """An event of the balancer's own, in the loop's time; it is raised anew while it lasts."""
        self._take(_shifted(event, self._offset))

    def _raise(self, events: Iterable[EventNotification]) -> None:
        for event in events:
            self._follow(event)
            self._take(_shifted(event, self._offset))

    def _follow(self, event: EventNotification) -> bool:
        """Keep an event in mind while it lasts; whether it is one that was not."""
        key = (event.event_id, event.source_id)
        known = self._lasting.pop(key, None) is not None
        if event.phase is not Phase.RAISED:
            return False
        self._lasting[key] = event
        return not known

    def _is_new(self, event: EventNotification) -> bool:
        return event.time != self._known.get((event.event_id, event.source_id))

    def _take(self, event: EventNotification) -> None:
        key = (event.event_id, event.source_id)
        self._known.pop(key, None)
        self._known[key] = event.time
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._history.add_event(event)
        _LOG.info("event %s %s at %s", event.event_id, event.phase.value, event.source_id)
        if self.planning.answers(event):
            self._wait(event)

    def _wait(self, event: EventNotification) -> None:
        """Let an event wait for its turn; when too many wait, one of the membership never goes."""
        key = (event.event_id, event.source_id, event.phase)
        self._waiting.pop(key, None)
        self._waiting[key] = event
        if len(self._waiting) > MOST_WAITING:
            others = (each for each in self._waiting if not is_membership(each[0]))
            oldest = next(others, next(iter(self._waiting)))
            del self._waiting[oldest]
            _LOG.warning("too many events wait: %s of %s is left out", oldest[0], oldest[1])

    # -- time -----------------------------------------------------------------------------------

    def failed(self) -> list[tuple[str, str]]:
        """Events, with their sources, whose planner or plan failed since the last call."""
        failed, self._failed = self._failed, []
        plans = [plan for controller in self._controllers for plan in controller.failed()]
        return failed + [(plan.event_id, plan.source_id) for plan in plans]

    def orders(self) -> list[ActionOrder]:
        """What has to be sent to executors in other processes; each is told once."""
        orders, self._orders = self._orders, []
        return orders

    def poll(self, now: float) -> None:
        """Do what is due; call it often."""
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            self._raise(self._composite.look(now))
        if not self._begun:
            return
        self._ask_executors(now)
        for controller in self._controllers:
            timer = controller.get_timer()
            if timer is not None and now >= timer:
                self._perform(controller.handle_timer(now), now)
        while (key := self._next()) is not None:
            self._decide(self._waiting.pop(key), now)
            self._ask_executors(now)

    @property
    def _controllers(self) -> tuple[Controller, Controller]:
        return self._changes, self._others

    def _controller_of(self, event_id: str) -> Controller:
        return self._changes if is_membership(event_id) else self._others

    def _carrying(self, plan_id: str) -> Controller:
        """The controller that carries a plan out; any other ignores what is said of it."""
        return self._changes if self._changes.carries(plan_id) else self._others

    def _next(self) -> tuple[str, str, Phase] | None:
        """The first event that waits and whose turn has come."""
        return next((key for key in self._waiting if self._controller_of(key[0]).idle), None)

    def _ask_executors(self, now: float) -> None:
        """Let the executors here go on; what an outcome leads to begins at once."""
        while outcomes := [each for one in self._executors.values() for each in one.poll(now)]:
            for outcome in outcomes:
                self._perform(self._carrying(outcome.plan_id).handle(outcome, now), now)

    def reconsider(self, now: float) -> None:
        """Ask the planners of all events that last once more; call it now and then."""
        for event in list(self._lasting.values()):
            if not self.idle:
                return
            self._carry_out(self.planning.reconsider(event, now), event, now)

    def _decide(self, event: EventNotification, now: float) -> None:
        self._carry_out(self.planning.handle(event, now), event, now)

    def _carry_out(self, decisions: list[Decision], event: EventNotification, now: float) -> None:
        for decision in decisions:
            if decision.failure:
                self.failures += 1
                self._failed.append((event.event_id, event.source_id))
                _LOG.error("event %s: %s", event.event_id, decision.failure)
            if decision.plan is not None:
                self._submit(decision.plan, now)
            elif decision.failure or decision.rule.verb is not Verb.PLAN:
                self._history.add_deed(_deed_of(decision, event, now + self._offset))

    def _submit(self, plan: ActionPlan, now: float) -> None:
        try:
            instructions = self._controller_of(plan.event_id).submit(plan, now)
        except PlanError as error:
            self.failures += 1
            self._failed.append((plan.event_id, plan.source_id))
            _LOG.error("plan %s: %s", plan.plan_id, error)
            return
        self._perform(instructions, now)

    def _perform(self, instructions: list[Instruction], now: float) -> None:
        """Write down, then order. Notes come before the orders they belong to."""
        for instruction in instructions:
            if isinstance(instruction, Note):
                self._history.add_note(replace(instruction, time=instruction.time + self._offset))
                _log(instruction)
                continue
            self._order(instruction, now)

    def _order(self, order: ActionOrder, now: float) -> None:
        executor = self._executors.get(order.executor_id)
        if executor is not None:
            executor.order(order, now)
        elif order.executor_id not in self.properties and now >= self._all_heard_at:
            if order.undo:
                self._owe(order)
            self._perform(self._carrying(order.plan_id).handle(_absent(order), now), now)
        else:
            if len(self._awaited) >= MOST_WAITING:
                self._awaited.pop(next(iter(self._awaited)))
            self._awaited[order.plan_id, order.action_id] = order
            self._orders.append(order)


def _deed_of(decision: Decision, event: EventNotification, time: float) -> Deed:
    """What a rule did besides planning, or why it could not do what it should."""
    rule = decision.rule
    settings = ", ".join(f"{name} = {value}" for name, value in rule.settings.items())
    what = {
        Verb.PLAN: f"{rule.planner}: plan",
        Verb.ADJUST: f"{rule.planner}: from now on {settings}",
        Verb.SWAP: f"{rule.planner}: from now on by {rule.by}" + (f", {settings}" * bool(settings)),
    }[rule.verb]
    why = f"{event.event_id} {event.phase.value} at {event.source_id}"
    return Deed(time, "rule", what, why, decision.failure or "done")


def _absent(order: ActionOrder) -> ActionOutcome:
    """The outcome of an order to a process that is not there: what it did is gone with it."""
    reason = f"there is no executor {order.executor_id!r}"
    return outcome_of(order, ok=order.undo, reason=reason)


def _shifted(event: EventNotification, offset: float) -> EventNotification:
    properties = tuple(replace(each, time=each.time + offset) for each in event.properties)
    return replace(event, time=event.time + offset, properties=properties)


def _log(note: Note) -> None:
    what = f" action {note.action_id}" if note.action_id else ""
    why = f": {note.reason}" if note.reason else ""
    _LOG.info("plan %s%s %s%s", note.plan_id, what, note.state.value, why)
