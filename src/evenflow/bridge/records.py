"""What other bridges say about their devices, checked; of a device the newest record counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.bridge.protocol.device_types import parse_type
from evenflow.bridge.protocol.guid import parse_guid
from evenflow.bridge.protocol.kinds import (
    LONGEST_HEARTBEAT_MS,
    MOST_ENTITIES,
    MOST_RUN,
    MOST_SESSION,
    SHORTEST_HEARTBEAT_MS,
    Role,
)
from evenflow.bridge.sessions import Entity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.bridge.events import Address
    from evenflow.model.messages.devices import DeviceRecord

MOST_BRIDGES: Final = 8
"""Bridges whose records of one device are kept."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device of another bridge."""

    guid: bytes
    address: Address
    record: DeviceRecord

    @property
    def bridge(self) -> str:
        """Who serves it, or did."""
        return self.record.bridge

    @property
    def order(self) -> tuple[int, int]:
        """Of two records of a device the one with the larger counts."""
        return self.record.run, self.record.session

    def entities(self) -> list[Entity]:
        """Its entities, to be made."""
        record = self.record
        columns = zip(record.roles, record.reliable, record.topics, record.types, strict=True)
        return [
            Entity(Role(role), topic, bool(reliable), parse_type(line) if line else None)
            for role, reliable, topic, line in columns
        ]


def check(record: DeviceRecord) -> Known:
    """A record whose every field makes sense; :class:`ValueError` when one does not."""
    host, _, port = record.address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"{record.address!r} is no address")
    if not SHORTEST_HEARTBEAT_MS <= record.heartbeat_ms <= LONGEST_HEARTBEAT_MS:
        raise ValueError(f"heartbeat of {record.heartbeat_ms} ms")
    if len(record.roles) > MOST_ENTITIES:
        raise ValueError(f"{len(record.roles)} entities")
    if not (0 <= record.run <= MOST_RUN and 0 <= record.counter <= MOST_RUN):
        raise ValueError(f"run {record.run}, counter {record.counter}")
    if not 0 <= record.session <= MOST_SESSION:
        raise ValueError(f"session {record.session}")
    known = Known(parse_guid(record.guid), (host, int(port)), record)
    entities = known.entities()
    sources = [entity.topic for entity in entities if entity.role is Role.ITEMS]
    if len(set(sources)) < len(sources):
        raise ValueError("two entities for the items of one topic")
    for entity in entities:
        if not entity.topic or (entity.type is None) != (entity.role is Role.ITEMS):
            raise ValueError("an entity without topic or type")
    return known


class Records:
    """The records of devices of other bridges; of each device the newest counts.

    A device may have two for a moment, or as long as bridges do not hear one another. One that is
    withdrawn must leave the other.

    Args:
        most: Devices that are kept; of more nothing is known, and they connect anew by themselves
            when their bridge dies.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_guid: dict[bytes, dict[str, Known]] = {}

    def __len__(self) -> int:
        return len(self._by_guid)

    def __iter__(self) -> Iterator[bytes]:
        return iter(list(self._by_guid))

    def get(self, guid: bytes) -> Known | None:
        """The newest record of a device."""
        found = self._by_guid.get(guid)
        if found is None:
            return None
        if len(found) == 1:
            return next(iter(found.values()))
        return max(found.values(), key=lambda known: (known.order, known.bridge))

    def hear(self, known: Known) -> bool:
        """Keep what a bridge says of a device; False when there is no room."""
        found = self._by_guid.get(known.guid)
        if found is None:
            if len(self._by_guid) >= self._most:
                return False
            found = self._by_guid[known.guid] = {}
        if known.bridge not in found and len(found) >= MOST_BRIDGES:
            del found[min(found, key=lambda bridge: found[bridge].order)]
        found[known.bridge] = known
        return True

    def withdraw(self, bridge: str, guid: bytes) -> None:
        """A bridge has let a device go, or is given up."""
        found = self._by_guid.get(guid)
        if found is not None:
            found.pop(bridge, None)
            if not found:
                del self._by_guid[guid]
