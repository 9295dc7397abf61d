"""What travels on a connection itself: greetings, members, signs of life, and letters."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.protocol.messages.vocabulary import Member
from evenflow.overlay.space.coordinate import Coordinate


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a client, or of a broker (then with itself)."""

    member: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to a client's hello: the brokers alive, for when this one dies."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """What the sender knows of these brokers."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life."""

    digest: int
    """Of all the sender knows of members; when it differs from ours, we tell what we know."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A letter on its way over the overlay."""

    target: Coordinate
    node: str
    """Broker it is for; empty: whoever is closest to the target."""
    hops: int
    """Links it may still take."""
    origin: str
    """Broker where it entered."""
    client: int
    """Client of that broker, to whom answers go; 0: the broker itself."""
    request: int
    """The client's number for its question; answers carry the same."""
    answer: bool
    """Whether this is the way back, to the client itself."""
    body: bytes
    """The message inside, encoded; brokers on the way do not look at it."""
