"""A gateway's door for TLS over TCP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from evenflow.mobile.link.accepting import Door
from evenflow.mobile.link.framing import FROM_NODE
from evenflow.mobile.link.tls import TlsSession, server_context

if TYPE_CHECKING:
    from evenflow.mobile.link.address import LinkAddress
    from evenflow.mobile.link.connection import Accept, Credentials, Limits

BACKLOG = 4_096


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
        self._shaking: set[TlsSession] = set()
        self._server: asyncio.Server | None = None
        self.address = ""

    async def open(self, address: LinkAddress) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._session, address.host, address.port, backlog=BACKLOG
        )
        self.address = str(address.with_port(self._server.sockets[0].getsockname()[1]))

    def _session(self) -> TlsSession:
        session = _ServerSession(
            self._context, None, self._on_ready, self._on_gone, FROM_NODE, self.limits, self.counts
        )
        session.refused = self.crowded or self._closing
        self._shaking.add(session)
        return session

    def _on_ready(self, session: TlsSession) -> None:
        self._shaking.discard(session)
        self.serve(session)

    def _on_gone(self, session: TlsSession) -> None:
        if session in self._shaking:
            self._shaking.discard(session)
            self.counts.refused += 1

    @property
    def _held(self) -> int:
        return len(self._shaking)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for session in list(self._shaking):
            session.abort()


class _ServerSession(TlsSession):
    """The gateway's end; too many are turned away before anything is computed for them."""

    refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.refused:
            self.end("too many connections")
            transport.abort()  # type: ignore[attr-defined] # a stream's transport has it
            self._timer.cancel()
            return
        super().connection_made(transport)
