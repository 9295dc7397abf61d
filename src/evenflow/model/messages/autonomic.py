"""What monitors and sensors of any process tell (MAPE-SDDL, section III.B)."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import F64, Bool, F64s, KeyText, Texts, U32s


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
