"""One TCP connection of the overlay: frames in, frames out, bounded.

Shared by brokers and clients. A damaged stream is closed. A peer that does not take what it is sent
is closed too, when `MOST_UNSENT` octets wait for it: its letters count as lost, and are sent again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from evenflow.errors import DecodeError
from evenflow.overlay.protocol.framing import Deframer, frame
from evenflow.overlay.protocol.messages import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_UNSENT = 32 << 20

_log = logging.getLogger(__name__)


class Wire(asyncio.Protocol):
    """A connection.

    Args:
        on_message: Called with this wire and each message.
        on_lost: Called with this wire when it is gone.
        on_open: Called with this wire when it is there.
    """

    def __init__(
        self,
        on_message: Callable[[Wire, Any], None],
        on_lost: Callable[[Wire], None],
        on_open: Callable[[Wire], None] | None = None,
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

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)
        if self._on_open is not None:
            self._on_open(self)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        try:
            for octets in self._deframer.feed(data):
                self._on_message(self, LINK.decode(octets))
        except DecodeError as error:
            _log.warning("connection of %s closed: %s", self.peer or self.client or "?", error)
            self.damaged = True
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Called by asyncio."""
        self._transport = None
        self._on_lost(self)

    @property
    def open(self) -> bool:
        """Whether something can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, message: Any) -> None:
        """Send a message, or lose it when the connection is gone."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            octets = frame(LINK.encode(message))
        except DecodeError as error:
            _log.error("not sent to %s: %s", self.peer or self.client, error)
            return
        self._transport.write(octets)
        if self._transport.get_write_buffer_size() > MOST_UNSENT:
            _log.warning("%s takes nothing: connection closed", self.peer or self.client)
            self._transport.abort()

    def hold(self, *, still: bool) -> None:
        """Stop reading, or go on."""
        if self.open and self._transport is not None:
            if still:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.close()


def parse_address(text: str) -> tuple[str, int]:
    """Read ``host:port``; raise `ValueError` for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{text!r} must be HOST:PORT")
    return host, int(port)
