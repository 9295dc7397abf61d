"""What travels on a connection itself: greetings, members, heartbeats, and envelopes."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import Member
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.values import Natural, Sendable, Text


class Hello(Sendable, frozen=True):
    """The first message of a client, or of a broker (then with itself)."""

    member: tuple[Member, ...] = ()


class Welcome(Sendable, frozen=True):
    """The answer to a client's hello: the brokers alive, for when this one dies."""

    members: tuple[Member, ...]


class Members(Sendable, frozen=True):
    """What the sender knows of these brokers."""

    members: tuple[Member, ...]


class Heartbeat(Sendable, frozen=True):
    """The sender lives."""

    digest: Natural
    """Of all the sender knows of members; when it differs from ours, we tell what we know."""
    time: Natural = 0
    """The sender's clock."""


class Reach(Sendable, frozen=True):
    """Do you hear of this broker? I do not."""

    name: Text


class Reached(Sendable, frozen=True):
    """The answer."""

    name: Text
    reached: bool


class Envelope(Sendable, frozen=True):
    """A message on its way over the overlay, with its address."""

    target: Coordinate
    node: Text
    """Broker it is for; empty: whoever is closest to the target."""
    hops: Natural
    """Links it may still take."""
    origin: Text
    """Broker where it entered."""
    client: Natural
    """Client of that broker, to whom answers go; 0: the broker itself."""
    correlation: Natural
    """The sender's number for its request; the reply carries the same."""
    reply: bool
    """Whether it is for the client itself, a reply to its request."""
    body: bytes
    """The message inside, encoded; brokers on the way do not look at it."""
    time: Natural = 0
    """The clock of the broker where it entered."""
    detour: bool = False
    """Whether it goes by way of a broker that reaches the one it is for; that one alone may."""
    disk: Natural = 0
    """The disk of the broker where it entered: what one said that has lost it is not true now."""
