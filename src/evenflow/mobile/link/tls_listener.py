"""A gateway's door for TLS over TCP.

Too many connections are turned away before anything is computed for them; too many are also those
that would take the last files of the process (:mod:`~evenflow.mobile.link.open_files`). Among those
that are half open a host that has more than another gives way to it
(:mod:`~evenflow.mobile.link.handshakes`).
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final

from evenflow.mobile.link.accepting import Door
from evenflow.mobile.link.framing import FROM_NODE
from evenflow.mobile.link.handshakes import Handshakes
from evenflow.mobile.link.open_files import files_for_connections
from evenflow.mobile.link.tls import TlsSession, server_context

if TYPE_CHECKING:
    import ssl

    from evenflow.mobile.link.address import LinkAddress
    from evenflow.mobile.link.connection import Accept, Credentials, Limits

BACKLOG: Final = 4_096
"""Connections that wait in the kernel."""
BURST: Final = 64
"""Connections taken in one turn of the loop: each has a file before it can be turned away."""


class TlsListener(Door):
    """Accepts connections over TLS.

    Args:
        credentials: What clients are shown.
        accept: What is done with a connection.
        limits: How many, how large, how long.
    """

    def __init__(self, credentials: Credentials, accept: Accept, limits: Limits) -> None:
        super().__init__(accept, limits)
        self._context = server_context(credentials)
        self._shaking: Handshakes[TlsSession] = Handshakes()
        self._server: asyncio.Server | None = None
        self._files = files_for_connections()
        self.address = ""

    async def open(self, address: LinkAddress) -> None:
        """Begin to listen."""
        opened = _bound(address)
        self.address = str(address.with_port(opened.getsockname()[1]))
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._session, sock=opened, backlog=BURST)
        opened.listen(BACKLOG)

    def _session(self) -> TlsSession:
        return _ServerSession(self, self._context)

    def lets_in(self, session: TlsSession, transport: asyncio.BaseTransport) -> bool:
        """Whether a connection may go on to its handshake."""
        host = (transport.get_extra_info("peername") or ("?",))[0]
        file = transport.get_extra_info("socket").fileno()
        if self._closing or not self._has_room(host, file):
            self.counts.refused += 1
            return False
        self._shaking.add(session, host)
        return True

    def _has_room(self, host: str, file: int) -> bool:
        if file < self._files and not self.crowded:
            return True
        former = self._shaking.give_way(host)
        if former is None:
            return False
        former.abort()
        self.on_gone(former)
        return True

    def on_ready(self, session: TlsSession) -> None:
        """A handshake is over."""
        self._shaking.remove(session)
        self.serve(session)

    def on_gone(self, session: TlsSession) -> None:
        """A connection is over."""
        if session in self._shaking:
            self._shaking.remove(session)
            self.counts.refused += 1

    @property
    def _held(self) -> int:
        return len(self._shaking)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for session in self._shaking:
            session.abort()


class _ServerSession(TlsSession):
    """The gateway's end."""

    def __init__(self, door: TlsListener, context: ssl.SSLContext) -> None:
        super().__init__(
            context, None, door.on_ready, door.on_gone, FROM_NODE, door.limits, door.counts
        )
        self._door = door

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The TCP connection is there."""
        if not self._door.lets_in(self, transport):
            self.end("too many connections")
            transport.abort()  # type: ignore[attr-defined] # a stream's transport has it
            self._timer.cancel()
            return
        super().connection_made(transport)


def _bound(address: LinkAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address.host, address.port))
    except BaseException:
        opened.close()
        raise
    return opened
