"""The executor of ``move-slices``: a topic's balancer carries out the moves of a plan.

A move is acknowledged when its session has made the taker the owner, and refused when the session
was cancelled. Whether something has been done already is read from the owners, not remembered, so
the same order given again, also to a new balancer after a crash, does no harm:

================  ====================================  ==========================================
order             when                                  then
================  ====================================  ==========================================
any               nodes or slices in another session    wait; the order's deadline is the bound
do                all slices at the taker               done already
do                a slice at neither of the two         refused: the plan is out of date
undo              nothing left to give back             nothing was done, or it is undone already
undo              who should get them back is leaving   nobody can have them back: they stay
                  or gone
otherwise                                               begin a session for what is left
================  ====================================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.executors import outcome_of
from evenflow.errors import DecodeError, MoveRefused
from evenflow.model.messages import ActionOutcome
from evenflow.slices.balancer.planner import decoded
from evenflow.slices.balancer.receipts import DONE

if TYPE_CHECKING:
    from evenflow.model.messages import ActionOrder
    from evenflow.model.plan import Move
    from evenflow.slices.balancer.core import BalancerCore


@dataclass(slots=True)
class _Job:
    order: ActionOrder
    move: Move
    until: float
    """When it has not begun by then, it shall not."""
    term: int = 0
    """Of the session, 0 before it begins."""


class SliceMover:
    """Moves the slices of one topic."""

    def __init__(self, balancer: BalancerCore) -> None:
        self._balancer = balancer
        self._jobs: dict[tuple[str, str], _Job] = {}
        self._outcomes: list[ActionOutcome] = []

    def order(self, order: ActionOrder, now: float) -> None:
        """Take an order; a repeated one changes nothing, a newer attempt replaces the older."""
        key = (order.plan_id, order.action_id)
        known = self._jobs.get(key)
        if known is not None and order.attempt <= known.order.attempt:
            return
        try:
            self._jobs[key] = _Job(order, decoded(order.args), now + order.deadline_s)
        except DecodeError as error:
            self._outcomes.append(outcome_of(order, ok=False, reason=str(error)))

    def poll(self, now: float) -> list[ActionOutcome]:
        """Begin what can begin; returns what is over."""
        outcomes, self._outcomes = self._outcomes, []
        for key, job in list(self._jobs.items()):
            outcome = self._go_on(job, now)
            if outcome is not None:
                del self._jobs[key]
                outcomes.append(outcome)
        return outcomes

    def _go_on(self, job: _Job, now: float) -> ActionOutcome | None:
        if job.term:
            outcome = self._balancer.outcome(job.term)
            return outcome_of(job.order, ok=outcome == DONE, reason=outcome) if outcome else None
        if now >= job.until:
            return outcome_of(job.order, ok=False, reason="it could not begin in time")
        if self._balancer.is_busy(job.move):
            return None
        left, settled = self._left_to_give(job) if job.order.undo else self._left_to_move(job)
        if settled:
            return outcome_of(job.order, ok=True, reason=settled)
        try:
            move = replace(job.move, slices=left)
            order = job.order
            job.term = self._balancer.begin_move(move, order.reason, now, plan=order.plan_id)
        except MoveRefused as error:
            return outcome_of(job.order, ok=False, reason=error.reason)
        return None

    def _left_to_move(self, job: _Job) -> tuple[tuple[int, ...], str]:
        """Slices that are not at the taker; when there are none, the order is carried out."""
        left = tuple(s for s in job.move.slices if self._owner(s) != job.move.taker)
        return left, "" if left else DONE

    def _left_to_give(self, job: _Job) -> tuple[tuple[int, ...], str]:
        """Slices to give back; when that is nothing, or nobody can have them, why that is fine."""
        left = tuple(s for s in job.move.slices if self._owner(s) == job.move.giver)
        if not left:
            return left, "nothing to give back"
        taker = self._balancer.nodes.get(job.move.taker)
        if taker is None:
            return left, f"{job.move.taker} is gone"
        return left, f"{job.move.taker} is leaving" if taker.leaving else ""

    def _owner(self, slice_id: int) -> str:
        of = self._balancer.owners.of
        return of[slice_id] if slice_id < len(of) else ""
