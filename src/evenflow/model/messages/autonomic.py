"""What monitors and sensors of any process tell (MAPE-SDDL, section III.B)."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import F64, U32, Bool, F64s, KeyText, Octets, Text, Texts, U32s


@dataclass(frozen=True, slots=True)
class PropertyReport:
    """What the monitors of a process read (MAPE-SDDL, section III.B.1). Always the whole state."""

    source: KeyText
    """Id of the process: a node's id for a node."""
    time: F64
    """Seconds since 1970, by the source's clock."""
    names: Texts
    """The properties."""
    values: F64s
    """For each property: its newest value."""
    ranges: U32s
    """For each property: the operation range it is in, from 0."""


@dataclass(frozen=True, slots=True)
class EventNotice:
    """A local event began or ended (MAPE-SDDL, Listing 1)."""

    source: KeyText
    """Id of the process where it happened."""
    event: KeyText
    """Id of the event."""
    raised: Bool
    """Whether it began; else it ended."""
    time: F64
    """Seconds since 1970, by the source's clock."""
    names: Texts
    """The properties that were seen then."""
    values: F64s
    times: F64s
    """For each property: when it was read."""


@dataclass(frozen=True, slots=True)
class Ping:
    """A small message that is answered at once, to measure how long that takes."""

    source: Text
    """Id of the process that sends it."""
    target: Text
    """Id of the process that it is for."""
    number: U32
    """Counted by who asks; the answer carries the same."""
    answer: Bool
    """Whether this is an answer."""


@dataclass(frozen=True, slots=True)
class ActionOrder:
    """One action of a plan, to the executor that shall do or undo it (MAPE-SDDL, Listing 2).

    The controller sends it when the action's turn has come, and again until it is answered.
    """

    plan_id: Text
    action_id: Text
    attempt: U32
    """Grows each time the action is ordered anew; an older attempt than one seen is ignored."""
    executor_id: Text
    """Who executes it: a process of the domain, by the id under which it reports."""
    kind: Text
    """What to do, by the name under which executors are registered."""
    args: Octets
    """Arguments, in the form that kind of action has."""
    undo: Bool
    """Whether what was done is to be undone; ``args`` then say how."""
    reason: Text = ""
    """Why the plan is carried out, or why it is undone."""
    deadline_s: F64 = 10.0
    """What has not begun within this time shall not begin any more."""


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """What came of an order: it is done, or it is not and why."""

    plan_id: Text
    action_id: Text
    attempt: U32
    """The attempt that is answered."""
    ok: Bool
    reason: Text = ""
