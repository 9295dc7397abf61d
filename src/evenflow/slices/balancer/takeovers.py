"""Orders to TAKE that are under way: one node owns slices because the balancer says so.

That is how a slice gets its first owner, how it is taken over from a dead one, how it goes back
after a cancelled session, and how a node is brought in line with the map. The order is repeated
until it is acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.model.messages import Order, Step
from evenflow.slices.actions import Action, Send

if TYPE_CHECKING:
    from evenflow.model.messages import Ack


@dataclass(slots=True)
class Take:
    """A takeover, a first assignment or a way back: one node owns slices by order."""

    term: int
    node: str
    slices: tuple[int, ...]
    giver: str
    cause: str
    why: str
    """The reason in words."""
    started: float
    next_order: float


class Takes:
    """What one topic's balancer has ordered to take and not heard of."""

    def __init__(self, topic: str, retry: float) -> None:
        self.open: dict[int, Take] = {}
        """By term."""
        self._topic = topic
        self._retry = retry

    def add(self, take: Take) -> None:
        """Order it from now on."""
        self.open[take.term] = take

    def answered(self, ack: Ack) -> Take | None:
        """The take that an acknowledgement ends."""
        take = self.open.get(ack.term)
        if take is None or ack.node != take.node or Step(ack.step) is not Step.TAKE:
            return None
        return self.open.pop(ack.term)

    def forget(self, node: str) -> None:
        """A node is gone."""
        for take in [take for take in self.open.values() if take.node == node]:
            del self.open[take.term]

    def concern(self, slice_id: int) -> bool:
        """Whether a slice is being taken."""
        return any(slice_id in take.slices for take in self.open.values())

    def poll(self, now: float) -> list[Action]:
        """What to order now."""
        actions: list[Action] = []
        for take in self.open.values():
            if now >= take.next_order:
                take.next_order = now + self._retry
                order = Order(self._topic, take.node, take.term, Step.TAKE, take.slices, "")
                actions.append(Send(order, to=take.node))
        return actions
