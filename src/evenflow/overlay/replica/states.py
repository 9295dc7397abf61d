"""The states of a shelf's copy, and what leads from one to another.

The table is the whole of it; `evenflow.overlay.replica.replica` says why and when.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What a copy is."""

    UNSURE = "unsure"
    """It may be old: asking around."""
    PREPARING = "preparing"
    """Began a term; the secondary has not agreed."""
    LEADING = "leading"
    """Primary of a term that both agreed on."""
    YIELDING = "yielding"
    """Asked the secondary, which is closer, to begin a term."""
    FOLLOWING = "following"
    """Secondary."""


class Trigger(Enum):
    """What changes the state of a copy."""

    DOUBT = "doubt"
    """It hears that it was dead, or of a newer term."""
    BEGIN = "begin"
    """It begins a term."""
    AGREE = "agree"
    """The secondary agrees."""
    YIELD = "yield"
    """The secondary is closer and has everything."""
    FOLLOW = "follow"
    """Another begins a term with it."""


TRANSITIONS: dict[State, dict[Trigger, State]] = {
    State.UNSURE: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.BEGIN: State.PREPARING,
        Trigger.FOLLOW: State.FOLLOWING,
    },
    State.PREPARING: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.BEGIN: State.PREPARING,
        Trigger.AGREE: State.LEADING,
        Trigger.FOLLOW: State.FOLLOWING,
    },
    State.LEADING: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.BEGIN: State.PREPARING,
        Trigger.YIELD: State.YIELDING,
        Trigger.FOLLOW: State.FOLLOWING,
    },
    State.YIELDING: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.BEGIN: State.PREPARING,
        Trigger.FOLLOW: State.FOLLOWING,
    },
    State.FOLLOWING: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.BEGIN: State.PREPARING,
        Trigger.FOLLOW: State.FOLLOWING,
    },
}
