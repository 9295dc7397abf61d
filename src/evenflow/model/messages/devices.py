"""What bridges tell one another about devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from evenflow.model.wire import KeyText, Kind, Number, Text, Texts, U8s

SessionNumber = Annotated[int, Kind("uint32", most=(1 << 32) - 2)]
"""One below the largest: there is always a next one to offer."""


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A bridge serves a device. Withdrawn when it does not any more.

    It holds all that another bridge needs to go on with the device: whoever owns it after this one
    makes the entities from the record and offers itself. Of two records of a device the larger
    ``(run, session)`` counts.
    """

    bridge: KeyText
    guid: KeyText
    """24 hexadecimal digits."""
    name: Text
    run: Number
    """The life of the device's memory: a later one is larger."""
    session: SessionNumber
    """Counted up by the device at every connect and adoption."""
    counter: Number
    """With a key: the device's datagrams up to this counter are old; 0 without."""
    address: Text
    """Where the device is reached: ``host:port``."""
    heartbeat_ms: Number
    roles: U8s
    """For each entity, from 0: publisher, subscriber or items (``evenflow.bridge.protocol``)."""
    reliable: U8s
    """For each entity: whether its DDS side is reliable."""
    topics: Texts
    """For each entity: the name of its topic."""
    types: Texts
    """For each entity: its type in one line; empty for items."""
