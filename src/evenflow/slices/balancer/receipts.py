"""Receipts: what each move did, told when it is known.

A move is over when its taker owns the slices, but only later does the taker know what had to be
replayed to close the gaps. The receipt waits for that word, for a while.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.model.messages import Receipt
from evenflow.slices.actions import Send

if TYPE_CHECKING:
    from evenflow.model.messages import Ack
    from evenflow.slices.balancer.session import Session
    from evenflow.slices.balancer.takeovers import Takeover

DONE = "done"


class Receipts:
    """The receipts of one topic's balancer."""

    def __init__(self, topic: str, wall: float, patience: float) -> None:
        """Begin with what the wall clock is ahead of ``now``, and how long to wait for a taker."""
        self._topic = topic
        self._wall = wall
        self._patience = patience
        self._waiting: dict[int, tuple[Receipt, float]] = {}

    def of_takeover(self, take: Takeover, now: float) -> None:
        """A node owns slices by order."""
        receipt = Receipt(
            self._topic, take.term, take.cause, take.giver, take.node, take.slices, DONE,
            take.started + self._wall, (now - take.started) * 1000, 0, 0, 0, take.why,
        )  # fmt: skip
        self._waiting[take.term] = (receipt, now + self._patience)

    def of_session(self, session: Session, *, merged: bool) -> list[Send]:
        """A session is over."""
        outcome = DONE if merged else session.reason or "cancelled"
        receipt = Receipt(
            self._topic, session.term, session.cause, session.giver, session.taker, session.slices,
            outcome, session.started + self._wall, (session.ended - session.started) * 1000,
            session.moved, 0, session.repeated, session.why,
        )  # fmt: skip
        if not merged:
            return [Send(receipt)]
        self._waiting[session.term] = (receipt, session.ended + self._patience)
        return []

    def settled(self, ack: Ack) -> list[Send]:
        """A taker has closed all gaps."""
        waiting = self._waiting.get(ack.term)
        if waiting is None or waiting[0].taker != ack.node:
            return []
        receipt, _ = self._waiting.pop(ack.term)
        return [Send(replace(receipt, replayed=ack.replayed))]

    def late(self, now: float) -> list[Send]:
        """Tell what has waited long enough."""
        late = [term for term, (_, until) in self._waiting.items() if now >= until]
        return [Send(self._waiting.pop(term)[0]) for term in late]
