"""Events that a broker's core handles, and actions that it returns.

The shell reports events and performs actions, in order, once the store is committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import (
        Envelope,
        Heartbeat,
        Member,
        Members,
        Reach,
        Reached,
        Share,
    )


@dataclass(frozen=True, slots=True)
class Linked:
    """Event: there is a connection to another broker, which said who it is."""

    member: Member


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Event: the connection to a broker broke, or could not be made."""

    name: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """Event: a message came over a link."""

    link: str
    message: object


@dataclass(frozen=True, slots=True)
class Asked:
    """Event: a client of this broker sent a request."""

    client: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Tick:
    """Event: some time has passed."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Action: keep a connection to this broker."""

    member: Member


@dataclass(frozen=True, slots=True)
class Probe:
    """Action: try once to reach a broker that is taken for dead."""

    member: Member


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Action: end the connection to a broker that is no neighbour (any more)."""

    name: str


@dataclass(frozen=True, slots=True)
class Transmit:
    """Action: send a message over a link."""

    link: str
    message: Members | Heartbeat | Reach | Reached | Envelope | Share


@dataclass(frozen=True, slots=True)
class Reply:
    """Action: send an envelope to a client of this broker."""

    client: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class LogMove:
    """Action: write into the history that this broker had a topic moved, or wanted to."""

    topic: str
    start: tuple[str, ...]
    """The brokers that it burdened."""
    to: tuple[str, ...]
    """The brokers that it burdens now."""
    seen: tuple[tuple[str, float], ...]
    """Loads before, and as expected after, by name."""
    refusal: str | None
    """Why it was not moved; empty: it was; None: nobody said in time."""
    accepted: bool
    """Whether the other broker was ready to take it."""


Event = Linked | Unlinked | Arrived | Asked | Tick
Action = Connect | Probe | Disconnect | Transmit | Reply | LogMove
