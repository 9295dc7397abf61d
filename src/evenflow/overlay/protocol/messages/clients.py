"""Letters between clients and brokers: join, publish, read, move a topic, ask how it is."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.protocol.messages.vocabulary import Message, Shelf
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList


@dataclass(frozen=True, slots=True)
class Join:
    """A client wants to publish to or read a topic."""

    shelf: Shelf
    """Where the letter goes: first home, then the delegate."""
    level: int
    """Resilience level, when the topic is new; 0: do not make it."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The topic is here."""

    level: int
    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Publish:
    """Store these, in this order."""

    shelf: Shelf
    publisher: int
    first: int
    """Sequence of the first; all before it are acknowledged."""
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """All up to this sequence are stored as the level asks."""

    publisher: int
    sequence: int
    time: int
    """When the last was stored."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """What came after this time?"""

    shelf: Shelf
    after: int
    until: int
    """Only before this time; 0: without end."""
    limit: int
    """Messages in one answer, at most."""
    wait_ms: int
    """How long to wait for the next message when there is none yet."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came, in order of time."""

    messages: tuple[Message, ...]
    cursor: int
    """Nothing is missing up to this time."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Another coordinate is responsible."""

    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Move:
    """Make another coordinate responsible for what comes; to home: the delegate retires."""

    shelf: Shelf
    """The home shelf."""
    to: Coordinate


@dataclass(frozen=True, slots=True)
class Done:
    """The move is in force."""

    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Failed:
    """What was asked cannot be done."""

    reason: str


@dataclass(frozen=True, slots=True)
class Status:
    """How are you?"""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a broker holds and knows."""

    name: str
    members: int
    """Brokers it takes for alive."""
    links: int
    shelves: int
    leading: int
    """Shelves it leads and serves."""
    settled: int
    """Of these, shelves with all the copies that their level asks for."""
    unsettled: int
    """Shelves that are neither led and settled nor rightly followed."""
    octets: int
    """Payload it keeps."""
    load: int
    """Octets it must have room for, its worst failure included (equation 4); 0: not balancing."""
