"""The bodies of datagrams, and the header they share.

A datagram is a header of 24 bytes, a body, and for a device with a key a seal of 24 bytes
(:mod:`~.keys`); all numbers are big endian::

    0  2  magic "EF"          6  12  GUID of the device (both ways)
    2  1  version, 1          18  4  session
    3  1  kind                22  2  number: of a request, or of what an item follows
    4  1  flags: 1 = sealed   24  .  body
    5  1  reserved, 0

:mod:`~.encoding` makes the bytes, :mod:`~.decoding` checks them and gives what is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.bridge.protocol.device_types import DeviceType
    from evenflow.bridge.protocol.kinds import Fault, Refusal, Role


@dataclass(frozen=True, slots=True)
class Connect:
    """A device is here, and asks the bridge that owns it for an answer."""

    name: str
    run: int
    """The life of the device's memory; a later one is larger."""
    tried: int
    """Which try this is, from 0; 255 for all later ones."""
    heartbeat_ms: int
    last_bridge: str
    """Who served it before; empty if nobody did, or it does not remember."""
    direct: bool = False
    """Whether it was sent to one bridge alone: one that does not own the device says who does."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The bridge serves the device in this session."""

    bridge: str
    echo: int
    """The counter of the CONNECT that is answered; without a key its run."""
    salt: int
    """Makes the key of the session."""
    entities: int
    """How many of the device's entities, from 0, are there: it need not set them up."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The owner does not take the device."""

    reason: Refusal
    echo: int
    floor: int
    """The run, or the counter, must be larger."""
    wait_ms: int
    """When to come again."""
    address: str = ""
    """Where the owner is: ``host:port``; only with `Refusal.ELSEWHERE`."""


@dataclass(frozen=True, slots=True)
class Create:
    """Make an entity; entities are created in the order of their numbers."""

    entity: int
    role: Role


@dataclass(frozen=True, slots=True)
class SetTopic:
    """The topic of an entity, and whether its DDS side is reliable."""

    entity: int
    reliable: bool
    topic: str


@dataclass(frozen=True, slots=True)
class SetType:
    """The type of an entity."""

    entity: int
    type: DeviceType


@dataclass(frozen=True, slots=True)
class Done:
    """The request with the number of the header is done, or failed for good."""

    fault: Fault


@dataclass(frozen=True, slots=True)
class Data:
    """A sample, in the bytes of the entity's type."""

    entity: int
    mark: int
    """From a device: its samples of this entity, counted. To a device: a checksum of the sample and
    its source time, so that what two bridges send is taken once."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a sliced topic. The header's number is how far it is from the newest safe one."""

    entity: int
    number: int
    """From 1, for each entity and run."""
    time: int
    """Microseconds since 1970; 0: the device has no clock."""
    salt: int
    """That of the session, as the bridge drew it: what was on its way to a bridge that died is not
    taken by the one that is started in its place."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class Safe:
    """All items of an entity up to this number are accepted by this bridge."""

    entity: int
    number: int


@dataclass(frozen=True, slots=True)
class Settle:
    """How far has a bridge accepted the items of an entity?"""

    entity: int
    bridge: str


@dataclass(frozen=True, slots=True)
class Settled:
    """It has accepted up to this number, and will accept no more from before."""

    entity: int
    bridge: str
    number: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The device is there, and wants to know whether its bridge is."""

    sent: int
    """Samples that it sent in this session (modulo 2^32, as are the others)."""
    received: int
    """Samples that it got in this session."""
    unsure: int
    """Samples that it sent to its former bridge, which did not say that it had them."""
    salt: int
    """That of the session: a bridge that drew another has a session that the device knows not."""
    offer: str
    """Another bridge that has just offered to serve it; empty: none."""


@dataclass(frozen=True, slots=True)
class Alive:
    """The bridge is there."""

    received: int
    """Samples that it got of the device in this session."""
    sent: int
    """Samples that it sent to the device in this session."""
    entities: int
    """How many of the device's entities, from 0, are there."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Another bridge shall serve the device."""

    bridge: str
    """Which; empty: look for one."""
    received: int = 0
    """Samples that this one got of the device in this session."""


@dataclass(frozen=True, slots=True)
class Adopt:
    """An offer: the entities are made; the header has the session to go on with."""

    bridge: str
    run: int
    salt: int
    entities: int


@dataclass(frozen=True, slots=True)
class Served:
    """Answer to an offer: this bridge serves the device, in the session of the header."""

    bridge: str
    run: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The device leaves."""

    run: int
    bridge: str
    """Who serves it now; empty: nobody."""


@dataclass(frozen=True, slots=True)
class Bye:
    """The device is gone, as far as this bridge is concerned."""


Body = (
    Connect | Accepted | Refused | Create | SetTopic | SetType | Done | Data | Item | Safe | Settle
    | Settled | Heartbeat | Alive | Moved | Adopt | Served | Goodbye | Bye
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram whose form is sound; whether its seal is right :mod:`~.keys` knows."""

    guid: bytes
    session: int
    number: int
    body: Body
    counter: int | None = None
    """Of its seal; None without one."""
