"""Carrying out a handover: the executor of a node's orders (the CES Executor of the paper).

Make-before-break: the node reaches the next gateway while it uses the old one. It greets it in a
moment in which nothing is on its way to the old one, if there is such a moment soon, and switches
when it is welcomed. From then on it sends nothing to the old gateway, and waits until that has said
that everything is safe; only then it goes on at the next, in order, and leaves. Break-before-make,
as in the paper: the node leaves at once, and what the old gateway may have accepted is settled
through the next. Either way the handover is over when nothing is held up by the old gateway any
more: the node is *usable* at the next. A handover that cannot be carried out leaves the node where
it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.mobile.client.events import Moved
from evenflow.mobile.link.frames import Outcome

if TYPE_CHECKING:
    from evenflow.mobile.client.attaching import Session
    from evenflow.mobile.link.frames import Handover


@dataclass(slots=True)
class Move:
    """A handover under way."""

    order: str
    addresses: tuple[str, ...]
    origin: str
    """Gateway that is left."""
    started: float
    expires: float
    """Until then the next gateway must have welcomed the node."""
    in_flight: int
    """Items that the old gateway had not made safe when it began."""
    left: dict[str, int]
    """For each topic: how far the old gateway has accepted, as far as the node knows."""
    gap_s: float = 0.0
    welcomed: bool = False
    """Whether the next gateway has taken the node."""


class Executor:
    """At most one handover at a time, and the outcome that is to be told."""

    def __init__(self) -> None:
        self.move: Move | None = None
        self.untold: Outcome | None = None
        """The outcome of the last one, until it is sent."""
        self.done = self.failed = 0

    def begin(self, order: Handover, old: Session, in_flight: int, now: float) -> None:
        """Begin to carry out an order: leave this gateway."""
        expires = now + order.within_s
        self.move = Move(
            order.order, order.addresses, old.gateway, now, expires, in_flight, old.accepted
        )

    def refuse(self, order: Handover, reason: str) -> Outcome:
        """Return the outcome of an order that is not begun."""
        self.failed += 1
        return Outcome(order.order, ok=False, reason=reason, milliseconds=0.0, in_flight=0)

    def end(self, target: str, reason: str, now: float) -> Moved:
        """The handover is over: it failed if there is a reason."""
        move = self.move
        assert move is not None
        self.move = None
        took = (now - move.started) * 1_000
        ok = not reason
        self.done += ok
        self.failed += not ok
        left = dict(move.left)
        self.untold = Outcome(move.order, ok, reason[:1_000], took, move.in_flight, left)
        return Moved(move.order, move.origin, target, ok, reason, took, move.in_flight, move.gap_s)
