"""The devices of a bridge: one session each, with its entities.

A session is *offered* while its device has not taken it yet (adoption), *served* then, and
*released* when the device was told to go elsewhere and has not gone.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from evenflow.bridge.protocol.guid import guid_text
from evenflow.bridge.protocol.kinds import Role
from evenflow.model.messages.devices import DeviceRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.bridge.events import Address
    from evenflow.bridge.protocol.device_types import DeviceType


class Stage(Enum):
    """Of a session."""

    OFFERED = "offered"
    SERVED = "served"
    RELEASED = "released"


class Setup(Enum):
    """Of an entity: what is known of it, and whether its agent is there."""

    CREATED = "created"
    NAMED = "named"
    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


@dataclass(slots=True)
class Entity:
    """One entity of a device."""

    role: Role
    topic: str = ""
    reliable: bool = False
    type: DeviceType | None = None
    setup: Setup = Setup.CREATED
    request: int | None = None
    """The request that is answered when the agent is made."""
    mark: int | None = None
    """Of the newest sample that came from the device."""
    taken: int | None = None
    """Of items: the newest that was taken in this session; None: none was."""
    safe: int = 0
    """Of items: how far they are safe here."""


@dataclass(slots=True)
class Session:
    """A device, as this bridge serves it."""

    guid: bytes
    name: str
    run: int
    number: int
    address: Address
    heartbeat_s: float
    salt: int
    heard: float
    stage: Stage
    key: bytes | None = None
    """The device's."""
    session_key: bytes | None = None
    floor: int = 0
    """The device's largest counter."""
    counter: int = 0
    """Ours."""
    entities: list[Entity] = field(default_factory=list)
    received: int = 0
    """Samples of the device, in this session."""
    sent: int = 0
    """Samples to it."""
    sent_before: int = 0
    """As it was at the last heartbeat: what was sent by then has arrived by now, or is lost."""
    lost_up: int = 0
    """Samples of the device that did not arrive, as of its last heartbeat."""
    lost_down: int = 0
    unsure: int = 0
    """Samples that it sent to its former bridge, which did not say that it had them."""
    waiting: deque[tuple[int, int, bytes]] = field(default_factory=deque)
    """Samples for a device that has not taken the offer: entity, mark, bytes."""
    published: DeviceRecord | None = None
    """What the other bridges were told."""
    is_foreign: bool = False
    """Whether another bridge owns the device, and should offer itself."""
    tell_at: float = 0.0
    """When that one is told again."""
    tell_wait_s: float = 0.0

    @property
    def order(self) -> tuple[int, int]:
        """Of two sessions of a device the one with the larger counts."""
        return self.run, self.number

    @property
    def ready(self) -> int:
        """How many entities, from 0, are there or are being made."""
        count = 0
        for entity in self.entities:
            if entity.setup not in (Setup.MAKING, Setup.READY):
                break
            count += 1
        return count

    def record(self, bridge: str) -> DeviceRecord:
        """What another bridge needs to go on with the device: its entities that are there."""
        entities = self.entities[: self.ready]
        host, port = self.address
        return DeviceRecord(
            bridge,
            guid_text(self.guid),
            self.name,
            self.run,
            self.number,
            self.floor,
            f"{host}:{port}",
            round(self.heartbeat_s * 1000),
            tuple(int(entity.role) for entity in entities),
            tuple(int(entity.reliable) for entity in entities),
            tuple(entity.topic for entity in entities),
            tuple(str(entity.type or "") for entity in entities),
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a device that is gone."""

    run: int
    number: int
    floor: int


class Sessions:
    """All devices of a bridge, and a memory of some that are gone.

    Args:
        most_remembered: Devices that are remembered; the longest gone are forgotten.
    """

    def __init__(self, most_remembered: int) -> None:
        self._by_guid: dict[bytes, Session] = {}
        self._gone: OrderedDict[bytes, Memory] = OrderedDict()
        self._half_open: OrderedDict[bytes, None] = OrderedDict()
        self._most_remembered = most_remembered
        self.lost: Counter[str] = Counter()
        """Samples lost in sessions that are over: ``up``, ``down``, ``unsure``."""

    def __len__(self) -> int:
        return len(self._by_guid)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._by_guid.values()))

    def get(self, guid: bytes) -> Session | None:
        """The session of a device."""
        return self._by_guid.get(guid)

    def add(self, session: Session) -> None:
        """A device is served here from now on, or is offered to."""
        self._by_guid[session.guid] = session

    def doubt(self, session: Session) -> None:
        """A session began by a CONNECT: whether anybody hears the answer is not known yet."""
        self._half_open[session.guid] = None
        self._half_open.move_to_end(session.guid)

    def confirm(self, session: Session) -> None:
        """The device has repeated the salt that it was told."""
        self._half_open.pop(session.guid, None)

    @property
    def half_open(self) -> Session | None:
        """The session that is not confirmed for longest."""
        guid = next(iter(self._half_open), None)
        return None if guid is None else self._by_guid[guid]

    def remove(self, session: Session) -> None:
        """A device is not here any more."""
        del self._by_guid[session.guid]
        self._half_open.pop(session.guid, None)
        self.count_lost(session)
        if session.stage is not Stage.OFFERED:
            self.remember(session.guid, Memory(session.run, session.number, session.floor))

    def count_lost(self, session: Session) -> None:
        """A session is over: what it lost is lost for good."""
        self.lost["up"] += session.lost_up
        self.lost["down"] += session.lost_down
        self.lost["unsure"] += session.unsure

    def remember(self, guid: bytes, memory: Memory) -> None:
        """Keep what is needed to tell old datagrams of a device from new ones."""
        self._gone[guid] = memory
        self._gone.move_to_end(guid)
        if len(self._gone) > self._most_remembered:
            self._gone.popitem(last=False)

    def memory(self, guid: bytes) -> Memory | None:
        """What is remembered of a device that is gone."""
        return self._gone.get(guid)
