"""The seam between a link and those who use it: what a connection does, whatever carries it.

A link carries frames, in order, each once, for as long as it holds; there are two: QUIC, and TLS
over TCP where UDP is blocked. Both keep themselves alive, so `Ping` and `Pong` never reach who
receives.

Memory is fixed: a connection holds at most `Limits.received_bytes` that came and were not taken
(then the other side may send no more), and `Limits.unsent_bytes` that were sent and are not on
their way (then `Connection.send` waits).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from evenflow.access.names import SERVER_NAME
from evenflow.errors import LinkLost
from evenflow.mobile.link.frames import MOST_FRAME, FromGateway, FromNode

__all__ = [
    "Accept",
    "Connection",
    "Counts",
    "Credentials",
    "Frame",
    "Limits",
    "LinkLost",
    "Listener",
    "Trust",
]

Frame = FromNode | FromGateway


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a client trusts: gateways with a certificate of this CA, and nobody else."""

    ca_file: str
    """PEM file with the certificate of the CA (``evenflow keys init`` makes ``ca.pem``)."""
    server_name: str = SERVER_NAME
    """The name that must stand in the gateway's certificate."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a gateway shows its clients."""

    certificate_file: str
    """PEM file, its own certificate first."""
    key_file: str
    """PEM file with the private key of the certificate."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a link holds and how long it waits."""

    frame_bytes: int = MOST_FRAME
    """Bytes of the largest frame that is taken; a larger one ends the connection."""
    first_frame_bytes: int = 1 << 17
    """The same for the first frame, which comes from somebody unknown."""
    received_bytes: int = 1 << 16
    """Bytes that came and were not taken; one frame may go beyond it. QUIC has twice as much."""
    unsent_bytes: int = 1 << 17
    """Bytes that were sent and are not acknowledged or with the kernel; one frame may go beyond."""
    connections: int = 20_000
    """Connections of a listener; more are refused."""
    handshake_s: float = 10.0
    """Seconds that a handshake may take."""
    keep_alive_s: float = 5.0
    """Seconds of silence after which a client shows that it is there (also holds a NAT mapping)."""
    idle_s: float = 20.0
    """Seconds without a sign of life after which a connection is over."""


class Connection(Protocol):
    """A connection of a mobile node and a gateway, at either end.

    `receive` and `ended` are called by one task at a time, and so is `send`, with no `try_send`
    meanwhile.
    """

    @property
    def transport(self) -> str:
        """``quic`` or ``tls``."""

    @property
    def peer(self) -> str:
        """Address of the other side, for logs; it can change."""

    def try_send(self, frame: Frame) -> bool:
        """Send a frame if there is room now; return whether it was taken.

        Saves a task for each frame where nobody is held back, which is nearly always.
        """

    async def send(self, *frames: Frame) -> None:
        """Send frames, in order; wait while the other side takes nothing: back-pressure.

        Raises:
            LinkLost: The connection is over.
        """

    async def receive(self) -> Frame:
        """Return the next frame; never `Ping`, `Pong` or `Bye`.

        Raises:
            LinkLost: The connection is over; frames that came before its end are returned first.
        """

    async def ended(self) -> LinkLost:
        """Return by what the connection is over, once it is: for who does not receive just now."""

    async def close(self, reason: str, *, retry: bool = True) -> None:
        """Say `Bye` and end the connection; harmless when it is over already."""

    async def move(self, local_host: str = "") -> bool:
        """Go on from another port of this host, or from another of its addresses (clients).

        Returns:
            Whether the link can do so: QUIC can. If not, connect anew.
        """

    def keep_alive(self, every_s: float) -> None:
        """Show a sign of life after so many silent seconds from now on (clients)."""


Accept = Callable[[Connection], Awaitable[None]]
"""What a listener does with a new connection, in a task of its own; then the connection ends."""


@dataclass(slots=True)
class Counts:
    """What a listener has seen."""

    accepted: int = 0
    """Connections that were made."""
    refused: int = 0
    """Connections that were not: too many, or a handshake that failed or took too long."""
    open: int = 0
    """Connections now."""
    malformed: int = 0
    """Connections ended by a frame, packet or datagram that cannot be understood."""
    oversized: int = 0
    """Connections ended by a frame that is too large."""
    idle: int = 0
    """Connections ended by silence."""
    failed: int = 0
    """Connections whose `Accept` raised something that it should not."""
    migrated: int = 0
    """Times that a client's address changed under a connection."""


class Listener(Protocol):
    """A door for clients."""

    @property
    def address(self) -> str:
        """Where it listens, with the real port: ``quic://127.0.0.1:7000``."""

    @property
    def counts(self) -> Counts:
        """What it has seen."""

    async def close(self, reason: str = "the gateway ends") -> None:
        """Take no more, say `Bye` to all, and end."""
