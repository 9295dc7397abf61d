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
undo              who should get them back is gone      nobody can have them back: they stay
otherwise                                               begin a session for what is left
================  ====================================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow.autonomic.executor import Answer
from evenflow.errors import DecodeError, MoveRefused
from evenflow.slices.balancer.planner import decoded
from evenflow.slices.balancer.receipts import DONE

if TYPE_CHECKING:
    from evenflow.autonomic.executor import Order
    from evenflow.model.plan import Move
    from evenflow.slices.balancer.core import BalancerCore


@dataclass(slots=True)
class _Job:
    order: Order
    move: Move
    term: int = 0
    """Of the session, 0 before it begins."""


class SliceMover:
    """Moves the slices of one topic."""

    def __init__(self, balancer: BalancerCore) -> None:
        self._balancer = balancer
        self._jobs: dict[tuple[str, str], _Job] = {}
        self._answers: list[Answer] = []

    def order(self, order: Order, now: float) -> None:  # noqa: ARG002 - begins with the next poll
        """Take an order; a repeated one changes nothing, a newer attempt replaces the older."""
        key = (order.plan_id, order.action_id)
        known = self._jobs.get(key)
        if known is not None and order.attempt <= known.order.attempt:
            return
        try:
            self._jobs[key] = _Job(order, decoded(order.args))
        except DecodeError as error:
            self._answers.append(_answer(order, ok=False, reason=str(error)))

    def poll(self, now: float) -> list[Answer]:
        """Begin what can begin; returns what is over."""
        answers, self._answers = self._answers, []
        for key, job in list(self._jobs.items()):
            answer = self._go_on(job, now)
            if answer is not None:
                del self._jobs[key]
                answers.append(answer)
        return answers

    def _go_on(self, job: _Job, now: float) -> Answer | None:
        if job.term:
            outcome = self._balancer.outcome(job.term)
            return _answer(job.order, ok=outcome == DONE, reason=outcome) if outcome else None
        if self._balancer.is_busy(job.move):
            return None
        left, settled = self._left_to_give(job) if job.order.undo else self._left_to_move(job)
        if settled:
            return _answer(job.order, ok=True, reason=settled)
        try:
            move = replace(job.move, slices=left)
            order = job.order
            job.term = self._balancer.begin_move(move, order.plan_id, order.reason, now)
        except MoveRefused as error:
            return _answer(job.order, ok=False, reason=error.reason)
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
        return left, "" if job.move.taker in self._balancer.nodes else f"{job.move.taker} is gone"

    def _owner(self, slice_id: int) -> str:
        of = self._balancer.owners.of
        return of[slice_id] if slice_id < len(of) else ""


def _answer(order: Order, *, ok: bool, reason: str) -> Answer:
    return Answer(order.plan_id, order.action_id, order.attempt, ok, reason)
