"""One TCP connection of the overlay: messages in, messages out, bounded.

Shared by brokers and clients. A damaged stream is closed. So is the connection of a peer that reads
too slowly, when `MOST_UNSENT` bytes wait for it: what was sent to it counts as lost and is sent
again. Of a peer that is gone with its host, or behind a broken path for good, the system tells
within two minutes, also when nothing is sent to it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any, cast

from evenflow.errors import DecodeError
from evenflow.overlay.protocol.codec import LINK
from evenflow.overlay.protocol.framing import Deframer, frame

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_UNSENT = 32 << 20
KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 3))
"""When the system asks whether the peer is there, and how often in vain, where that can be set."""

_log = logging.getLogger(__name__)


class Connection(asyncio.Protocol):
    """A connection to a broker or a client.

    Args:
        on_message: Called with this connection and each message.
        on_lost: Called with this connection when it has ended.
        on_open: Called with this connection when it is made.
    """

    def __init__(
        self,
        on_message: Callable[[Connection, Any], None],
        on_lost: Callable[[Connection], None],
        on_open: Callable[[Connection], None] | None = None,
    ) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._on_open = on_open
        self._deframer = Deframer()
        self._transport: asyncio.Transport | None = None
        self.peer = ""
        """Name of the broker at the other end, when it is one."""
        self.client = 0
        """Number of the client at the other end, when it is one."""
        self.greeted = False
        """Whether we have said who we are."""
        self.damaged = False
        """Whether what came could not be read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport (called by asyncio)."""
        self._transport = cast("asyncio.Transport", transport)
        _keep_alive(transport.get_extra_info("socket"))
        if self._on_open is not None:
            self._on_open(self)

    def data_received(self, data: bytes) -> None:
        """Read the messages in the bytes that came (called by asyncio)."""
        try:
            for content in self._deframer.feed(data):
                self._on_message(self, LINK.decode(content))
        except DecodeError as error:
            _log.warning("connection of %s closed: %s", self.peer or self.client or "?", error)
            self.damaged = True
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Report the end (called by asyncio)."""
        self._transport = None
        self._on_lost(self)

    @property
    def open(self) -> bool:
        """Whether something can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, message: Any) -> None:
        """Send a message; it is lost when the connection has ended."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            framed = frame(LINK.encode(message))
        except DecodeError as error:
            _log.error("not sent to %s: %s", self.peer or self.client, error)
            return
        self._transport.write(framed)
        if self._transport.get_write_buffer_size() > MOST_UNSENT:
            _log.warning("connection of %s closed: it reads too slowly", self.peer or self.client)
            self._transport.abort()

    def pause(self, *, paused: bool) -> None:
        """Stop reading, or go on."""
        if self.open and self._transport is not None:
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.close()


def _keep_alive(tcp: socket.socket | None) -> None:
    if tcp is None:
        return
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):
            tcp.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def parse_address(text: str) -> tuple[str, int]:
    """Read ``host:port``; raise `ValueError` for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{text!r} must be HOST:PORT")
    return host, int(port)
