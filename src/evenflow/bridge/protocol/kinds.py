"""The words of the device protocol: kinds of datagrams, roles, reasons, and the bounds of all."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

VERSION: Final = 1
MOST_DATAGRAM: Final = 1_200
"""Bytes of a datagram, with header and seal."""
MOST_ENTITIES: Final = 16
"""Entities of a device; they are numbered from 0."""
MOST_TOPIC: Final = 128
"""Bytes of a topic's name."""
MOST_BRIDGE: Final = 64
"""Bytes of a bridge's name."""
MOST_ADDRESS: Final = 72
"""Bytes of an address: ``host:port``."""
MOST_RUN: Final = 1 << 53
"""Runs and counters: microseconds since 1970 stay below it until 2255."""
MOST_SESSION: Final = (1 << 32) - 2
SHORTEST_HEARTBEAT_MS: Final = 100
LONGEST_HEARTBEAT_MS: Final = 60_000


class Kind(IntEnum):
    """What a datagram is (``>`` from the device, ``<`` from the bridge)."""

    CONNECT = 1
    """> I am here; who owns me answers. By multicast, or to an address that is known."""
    ACCEPTED = 2
    """< You are mine: this session counts."""
    REFUSED = 3
    """< You are mine, and I do not take you."""
    CREATE = 4
    """> Request: make an entity with a role."""
    SET_TOPIC = 5
    """> Request: its topic."""
    SET_TYPE = 6
    """> Request: its type; then the agent entity is made."""
    DONE = 7
    """< The request with this number is done, or failed."""
    DATA = 8
    """<> A sample; best effort."""
    ITEM = 9
    """> An item of a sliced topic; kept by the device until it is safe."""
    SAFE = 10
    """< All items up to this number are accepted here."""
    SETTLE = 11
    """> How far has that bridge accepted my items?"""
    SETTLED = 12
    """< So far, and no further."""
    HEARTBEAT = 13
    """> Are you there? What I sent and got; and who else offers to serve me."""
    ALIVE = 14
    """< I am."""
    MOVED = 15
    """< Another shall serve you: take its offer, or look for one."""
    ADOPT = 16
    """< An offer: I have your entities, go on with me by this session."""
    SERVED = 17
    """> Answer to an offer: the bridge that serves me lives."""
    GOODBYE = 18
    """> I leave, or am served by another."""
    BYE = 19
    """< Answer to it."""


DOOR: Final = frozenset(
    (
        Kind.CONNECT,
        Kind.ACCEPTED,
        Kind.REFUSED,
        Kind.ADOPT,
        Kind.SERVED,
        Kind.GOODBYE,
        Kind.BYE,
    )
)
"""Sealed with the device's key: they come before a session, or concern two. All others are sealed
with the key of the session."""

FROM_DEVICE: Final = frozenset(
    (
        Kind.CONNECT,
        Kind.CREATE,
        Kind.SET_TOPIC,
        Kind.SET_TYPE,
        Kind.DATA,
        Kind.ITEM,
        Kind.SETTLE,
        Kind.HEARTBEAT,
        Kind.SERVED,
        Kind.GOODBYE,
    )
)


class Role(IntEnum):
    """What an entity does for its device."""

    PUBLISHER = 1
    SUBSCRIBER = 2
    ITEMS = 3
    """Publishes numbered items into a sliced topic."""


class Fault(IntEnum):
    """What came of a request."""

    NONE = 0
    NO_SUCH_ENTITY = 1
    """It was not created, or the one before it was not."""
    DIFFERENT = 2
    """The entity has another role, topic or type already."""
    TOO_MANY = 3
    NOT_MADE = 4
    """DDS refuses it: no such sliced topic, another type of that name."""


class Refusal(IntEnum):
    """Why a bridge does not take a device that is its own."""

    FULL = 1
    NO_KEY = 2
    """Only devices with a key are served."""
    EARLIER = 3
    """A later run is known: go on with one above the floor that is told."""
    ELSEWHERE = 4
    """Another bridge owns the device; said only to who asked this one alone."""
    REPLAYED = 5
    """A larger counter is known: go on with one above the floor that is told."""
