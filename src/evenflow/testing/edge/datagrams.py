"""What simulated clients and doors say to one another, each in one datagram that may get lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Connect:
    """A client wants to attach; repeated until it is accepted."""

    client: str
    run: str
    connection: int


@dataclass(frozen=True, slots=True)
class Items:
    """Numbered items of a topic."""

    link: int
    topic: str
    first: int
    payloads: tuple[bytes, ...]
    begin: int
    """The first item that the client sends over this link."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Find out how far another door has accepted."""

    link: int
    other: str
    topic: str


@dataclass(frozen=True, slots=True)
class Bye:
    """The client leaves."""

    link: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """The client is let in: how far its items are accepted here."""

    door: str
    connection: int
    link: int
    """Made up by the door, for this connection alone; every datagram of the client carries it."""
    welcomed: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Safe:
    """Items up to a number are accepted."""

    link: int
    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """How far another door has accepted, and no further."""

    link: int
    door: str
    topic: str
    number: int


FromClient = Connect | Items | Settle | Bye
FromDoor = Accepted | Safe | Settled
