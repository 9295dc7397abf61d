"""What letters speak of: brokers, shelves, messages, and what is written on a shelf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from evenflow.errors import OverlayError
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList

_home = lru_cache(1 << 16)(geographic_hash)

LONGEST_PAYLOAD = 4 << 20
"""Octets a published message may have."""


@dataclass(frozen=True, slots=True)
class Member:
    """A broker, as others know it."""

    name: str
    coordinate: Coordinate
    address: str
    """``host:port`` that brokers and clients connect to."""
    incarnation: int
    """Grows with every start of the broker, and when it was taken for dead and is not."""
    alive: bool = True


@dataclass(frozen=True, slots=True)
class Shelf:
    """A topic at a coordinate."""

    topic: str
    coordinate: Coordinate

    @property
    def home(self) -> Coordinate:
        """The topic's home coordinate."""
        return _home(self.topic)

    @property
    def at_home(self) -> bool:
        """Whether this is the shelf that keeps the topic's delegate list."""
        return self.coordinate == self.home


@dataclass(frozen=True, slots=True)
class Message:
    """A published message as it is kept."""

    time: int
    """When the store took it, in nanoseconds; no two messages of a topic share one."""
    publisher: int
    """Who published it."""
    sequence: int
    """The publisher's own count, from 1."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class Position:
    """How far a publisher's messages are stored."""

    publisher: int
    sequence: int
    """Its newest stored message."""
    time: int
    """When that was stored."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A term of a shelf and the first time it speaks for."""

    term: int
    start: int


@dataclass(frozen=True, slots=True)
class Label:
    """What is written on a shelf besides its messages; both copies have the same."""

    revision: int
    """Counts the changes of the label within a term."""
    level: int
    """Resilience level of the topic."""
    version: int
    """Ticket of the newest move in the list, 0 before the first."""
    delegates: DelegateList
    """Who is responsible when, as far as this shelf was told. At home: the truth."""
    ticket: int = 0
    """Not 0: a move with this ticket is under way, and nothing new is taken."""
    ticket_term: int = 0
    """Term of the home shelf that ordered it."""
    floor: int = 0
    """All before this time has expired."""
    inherited: int = 0
    """Octets that the topic had elsewhere when it came to this delegate."""

    def __post_init__(self) -> None:
        if self.level not in (1, 2, 3):
            raise OverlayError(f"resilience level {self.level}: choose 1, 2 or 3")
