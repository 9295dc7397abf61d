"""What happens to a bridge, and what it does about it.

Events go into :class:`~evenflow.bridge.core.BridgeCore`, actions come out; the shell performs them
in their order. In the paper's words the shell has the *Abstract Layer*: its Receiver gives
:class:`Received`, its Sender performs :class:`Send`. *Entity Manager* and *Protocol Manager* are
parts of the core.

A device is named by its GUID (12 bytes) everywhere, an entity by the GUID and a number from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.bridge.protocol.device_types import DeviceType
    from evenflow.bridge.protocol.kinds import Role
    from evenflow.domain.agents.declaration import Value
    from evenflow.model.messages.devices import DeviceRecord

Address = tuple[str, int]
"""Host and port."""

# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Received:
    """The Receiver has a datagram, by multicast or unicast."""

    data: bytes
    source: Address


@dataclass(frozen=True, slots=True)
class SampleRead:
    """An agent reader has read a sample for its device."""

    guid: bytes
    entity: int
    values: tuple[Value, ...]
    """In the declared order of the entity's type."""
    time: int
    """When it was written: nanoseconds since 1970 by the writer's clock (the source timestamp)."""


@dataclass(frozen=True, slots=True)
class EntityMade:
    """Answer to :class:`MakeEntity`: the agent entity is there, or cannot be made."""

    guid: bytes
    entity: int
    error: str = ""
    """Why it cannot be made, for the log; empty: it is there."""


@dataclass(frozen=True, slots=True)
class RecordHeard:
    """A bridge says that it serves a device (any bridge; one's own are ignored)."""

    record: DeviceRecord


@dataclass(frozen=True, slots=True)
class RecordWithdrawn:
    """A bridge has disposed a record: it has let the device go.

    Not for records whose writer is merely not heard any more: those are what adoption needs, and
    who is there the ring says.
    """

    bridge: str
    guid: bytes


@dataclass(frozen=True, slots=True)
class RingChanged:
    """Ownership, members or isolation may have changed; the core asks its ring anew."""


@dataclass(frozen=True, slots=True)
class ItemSafe:
    """All items of a device's run up to this number are on disk, with their mark."""

    guid: bytes
    run: int
    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class ItemSettled:
    """Another bridge, or this one, has said how far it accepted; it accepts no more from before."""

    guid: bytes
    run: int
    session: int
    """That of the question."""
    topic: str
    bridge: str
    number: int


@dataclass(frozen=True, slots=True)
class Timer:
    """It is as late as :meth:`BridgeCore.deadline` said, or later."""


@dataclass(frozen=True, slots=True)
class KeysChanged:
    """Devices were given keys, or struck off."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The bridge is about to end: its devices are told to look for another."""


Event = (
    Received | SampleRead | EntityMade | RecordHeard | RecordWithdrawn | RingChanged | ItemSafe
    | ItemSettled | KeysChanged | Timer | Stop
)  # fmt: skip

# -- actions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """A datagram for the Sender."""

    data: bytes
    target: Address


@dataclass(frozen=True, slots=True)
class MakeEntity:
    """Make an agent entity, then tell (:class:`EntityMade`).

    A publisher's is a writer, a subscriber's a reader. For items there is nothing to make in DDS:
    the shell checks that the sliced topic is one that devices may publish to.
    """

    guid: bytes
    entity: int
    role: Role
    topic: str
    reliable: bool
    type: DeviceType | None
    """None for items."""


@dataclass(frozen=True, slots=True)
class DropEntity:
    """End an agent entity; also one whose :class:`EntityMade` is still to come."""

    guid: bytes
    entity: int


@dataclass(frozen=True, slots=True)
class WriteSample:
    """Write what a device has published."""

    guid: bytes
    entity: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class PublishRecord:
    """Tell the other bridges about a device of this one; replaces the former of that device."""

    record: DeviceRecord


@dataclass(frozen=True, slots=True)
class WithdrawRecord:
    """Dispose this bridge's record of a device."""

    record: DeviceRecord


@dataclass(frozen=True, slots=True)
class TakeItem:
    """Take an item towards the disk; :class:`ItemSafe` tells when it is there.

    Numbers of one device, run, session and topic follow one another. One that is accepted already
    is answered by :class:`ItemSafe` again.
    """

    guid: bytes
    name: str
    """The device's, for the item's sender."""
    run: int
    session: int
    topic: str
    number: int
    time: int
    """Microseconds since 1970 by the device's clock; 0: it has none."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class AskSettled:
    """How far has a bridge accepted a device's items?

    :class:`ItemSettled` tells. Asked again as often as the device repeats it. Before the answer
    nothing of an older session is taken any more, neither there nor here.
    """

    guid: bytes
    run: int
    session: int
    topic: str
    bridge: str
    """Who is asked; this bridge itself, too."""


Action = (
    Send | MakeEntity | DropEntity | WriteSample | PublishRecord | WithdrawRecord | TakeItem
    | AskSettled
)  # fmt: skip
