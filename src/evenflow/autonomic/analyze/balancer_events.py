"""The events that a balancer raises itself, each for one topic that it balances.

The others come from the operator's file. Every topic has a rule for each of these, which asks the
topic's planner; the operator may add rules of their own for them.
"""

from __future__ import annotations

from enum import Enum


class BalancerEvent(Enum):
    """What a balancer notices of a topic."""

    IMBALANCE = "imbalance"
    """Loads are uneven, and not only for a moment."""
    NODE_JOINED = "node-joined"
    NODE_LEAVING = "node-leaving"
    """A node wants to give everything away, or no longer does."""
    NODE_DIED = "node-died"
    """A node is gone; what it had was taken over."""
    HANDOVER_FAILED = "handover-failed"
    """A move of a plan came to nothing."""
    BALANCER_RECOVERED = "balancer-recovered"
    """A new balancer found that the membership had changed while there was none."""

    def of(self, topic: str) -> str:
        """The id of the event for a topic."""
        return f"{self.value}-{topic}"

    def is_id(self, event_id: str) -> bool:
        """Whether an id is that of this event, for whatever topic."""
        return event_id.startswith(f"{self.value}-")


MEMBERSHIP = frozenset(BalancerEvent) - {BalancerEvent.IMBALANCE}
"""Those that change who takes part; they cannot wait for a second look."""


def is_membership(event_id: str) -> bool:
    """Whether an event is one of those, for whatever topic."""
    return any(event.is_id(event_id) for event in MEMBERSHIP)
