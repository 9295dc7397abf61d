"""What happens to the ring of one bridge, and what it asks for.

Besides these, the messages `BridgeReport` and `ArcTable` of other bridges are events, and `Gone`,
by which the domain says that a bridge is not heard any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.model.messages import ArcTable, BridgeReport


@dataclass(frozen=True, slots=True)
class DeviceServed:
    """This bridge serves a device from now on."""

    guid: bytes


@dataclass(frozen=True, slots=True)
class DeviceReleased:
    """This bridge serves a device no more."""

    guid: bytes


@dataclass(frozen=True, slots=True)
class ArcsPlanned:
    """A plan has a new table of arcs."""

    table: ArcTable


@dataclass(frozen=True, slots=True)
class DrainRing:
    """Take no devices, or take devices again."""

    on: bool


@dataclass(frozen=True, slots=True)
class LeaveRing:
    """This bridge ends."""


@dataclass(frozen=True, slots=True)
class TellRing:
    """Tell the domain."""

    message: BridgeReport | ArcTable


@dataclass(frozen=True, slots=True)
class RingChanged:
    """Who owns what may have changed: look at every device again."""


RingEvent = DeviceServed | DeviceReleased | ArcsPlanned | DrainRing | LeaveRing
RingAction = TellRing | RingChanged
