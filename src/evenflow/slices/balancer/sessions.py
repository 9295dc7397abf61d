"""The sessions that a balancer leads, and how the planned ones among them ended.

A node is in one session at a time. A session (:mod:`evenflow.slices.balancer.session`) that was
begun for a plan of the autonomic loop leaves its outcome here until the loop has asked for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.slices.actions import Send
from evenflow.slices.balancer.receipts import DONE
from evenflow.slices.balancer.session import Session, Stage

if TYPE_CHECKING:
    from evenflow.model.plan import Move
    from evenflow.slices.balancer.owners import Found


class Sessions:
    """The sessions of one topic."""

    def __init__(self, topic: str, deadline: float, retry: float) -> None:
        """Begin with how long a step may take, and when its order is repeated."""
        self.open: dict[int, Session] = {}
        """By term."""
        self._topic, self._deadline, self._retry = topic, deadline, retry
        self._outcomes: dict[int, str] = {}
        """Of planned moves by term, empty until decided; until somebody asks for them."""

    def begin(self, term: int, move: Move, why: str, now: float, *, plan: str = "") -> Session:
        """Lead a handover from its first step; of one for a plan the outcome is kept."""
        session = self.open[term] = Session(
            self._topic, term, move.giver, move.taker, move.slices, now,
            deadline=self._deadline, retry=self._retry,
            cause=f"plan {plan}" if plan else "handover", why=why,
        )  # fmt: skip
        if plan:
            self._outcomes[term] = ""
        return session

    def resume(self, term: int, found: Found, now: float) -> None:
        """Bring a session to its end that was found in the nodes' reports."""
        session = self.open[term] = Session(
            self._topic, term, found.giver, found.taker, found.slices, now,
            deadline=self._deadline, retry=self._retry, stage=Stage.CANCELLING, cause="recovered",
            why="a former balancer began it",
        )  # fmt: skip
        session.reason = "the balancer was restarted"
        if not found.taker:
            session.node_gone("", now)

    def node_gone(self, node: str, now: float) -> None:
        """A node died."""
        for session in self.open.values():
            session.node_gone(node, now)

    def poll(self, now: float) -> tuple[list[Send], list[Session]]:
        """What to order now, and the sessions that are over."""
        actions: list[Send] = []
        ended: list[Session] = []
        for term, session in list(self.open.items()):
            actions += session.poll(now)
            if session.over:
                ended.append(self.open.pop(term))
                if term in self._outcomes:
                    merged = session.stage is Stage.MERGED
                    self._outcomes[term] = DONE if merged else session.reason or "cancelled"
        return actions, ended

    def outcome(self, term: int) -> str:
        """How a planned move ended, told once; empty while it is under way."""
        outcome = self._outcomes.get(term, "the balancer began anew meanwhile")
        if outcome and term in self._outcomes:
            del self._outcomes[term]
        return outcome

    def busy(self) -> set[str]:
        """Nodes in a session."""
        return {node for session in self.open.values() for node in (session.giver, session.taker)}

    def slices(self) -> set[int]:
        """Slices in a session."""
        return {slice_id for session in self.open.values() for slice_id in session.slices}
