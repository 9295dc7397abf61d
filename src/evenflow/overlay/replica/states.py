"""The states of a shelf's copy, and what leads from one to another.

The table is the whole of it; `evenflow.overlay.replica.replica` says why and when.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What a copy is."""

    UNSURE = "unsure"
    """It may be old, or waits for its primary."""
    LEADING = "leading"
    """Primary of the newest configuration."""
    FOLLOWING = "following"
    """Takes what the primary sends."""


class Trigger(Enum):
    """What changes the state of a copy."""

    DOUBT = "doubt"
    """It hears of a newer configuration."""
    LEAD = "lead"
    """A configuration is decided in which it is primary."""
    FOLLOW = "follow"
    """The primary begins a term with it."""


TRANSITIONS: dict[State, dict[Trigger, State]] = {
    state: {
        Trigger.DOUBT: State.UNSURE,
        Trigger.LEAD: State.LEADING,
        Trigger.FOLLOW: State.FOLLOWING,
    }
    for state in State
}
