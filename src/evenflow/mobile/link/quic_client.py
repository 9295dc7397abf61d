"""A client's connection over QUIC, and its socket, which can be exchanged for another.

The socket is connected, so that the kernel says when nobody listens at the gateway's port: a
gateway whose process died is noticed at once and not after the idle time. One such answer can be
forged or come from a restart, so several in a row count, with nothing heard between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Final

from qh3.quic import events
from qh3.quic.connection import QuicConnectionError

from evenflow.errors import LinkLost
from evenflow.mobile.link.connection import Counts
from evenflow.mobile.link.frames import Pong
from evenflow.mobile.link.framing import FROM_GATEWAY, encode
from evenflow.mobile.link.quic import STREAM, QuicSession
from evenflow.mobile.link.quic_state import QuicState, client_configuration

if TYPE_CHECKING:
    from typing import Any

    from evenflow.mobile.link.connection import Limits, Trust
    from evenflow.mobile.link.frames import Bye
    from evenflow.mobile.link.paths import Host

MOST_REFUSED: Final = 3
"""So often the kernel may say that nobody is there."""
BURST: Final = 64
"""Datagrams read in one turn of the loop."""


class QuicClient(QuicSession):
    """A connection to a gateway over QUIC."""

    def __init__(self, gateway: Host, trust: Trust, limits: Limits) -> None:
        state = QuicState(configuration=client_configuration(trust, limits))
        super().__init__(state, FROM_GATEWAY, limits, Counts())
        self._gateway = gateway
        self._socket: socket.socket | None = None
        self._refused = 0
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._alive: asyncio.TimerHandle | None = None

    async def connect(self, local_host: str = "") -> None:
        """Make the connection; raise `LinkLost`."""
        self._take_socket(local_host)
        self.state.connect(self._gateway, now=self._loop.time())
        self.flush()
        await self._ready
        self.check()
        self.state.send_stream_data(STREAM, encode(Pong()))
        self._flush_soon()
        self._show_life()

    # -- the socket --------------------------------------------------------------------------------

    def _take_socket(self, local_host: str) -> None:
        family = socket.AF_INET6 if ":" in self._gateway[0] else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_DGRAM)
        try:
            opened.settimeout(0)
            if local_host:
                opened.bind((local_host, 0))
            opened.connect(self._gateway)
        except OSError as error:
            opened.close()
            raise LinkLost(f"no socket to {self.peer}: {error}") from None
        self._drop_socket()
        self._socket = opened
        self._loop.add_reader(opened, self._on_readable, opened)

    def _drop_socket(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    @property
    def address(self) -> Host:
        """Where the gateway is."""
        return self._gateway

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(data)
        except BlockingIOError:
            return  # lost, as a datagram can be; QUIC sends it again
        except OSError as error:
            self._on_refused(error)

    def _on_readable(self, readable: socket.socket) -> None:
        for _ in range(BURST):
            if readable is not self._socket:
                return
            try:
                data = readable.recv(65_535)
            except BlockingIOError:
                break
            except OSError as error:
                self._on_refused(error)
                break
            self._refused = 0
            self.datagram(data, self._gateway)
        self.flush()

    def _on_refused(self, error: OSError) -> None:
        if isinstance(error, ConnectionRefusedError):
            self._refused += 1
            if self._refused >= MOST_REFUSED and not self.over:
                self.end("nobody listens there")
                self.drop()
        # No route, no network: a dead spot. QUIC waits, up to the idle time.

    # -- events ------------------------------------------------------------------------------------

    def _on_event(self, event: Any) -> None:
        if isinstance(event, events.HandshakeCompleted) and not self._ready.done():
            self._ready.set_result(None)
        else:
            super()._on_event(event)

    def end(self, reason: str, *, retry: bool = True, said: bool = False) -> None:
        """The connection is over; the socket goes when goodbye is said."""
        super().end(reason, retry=retry, said=said)
        if not self._ready.done():
            self._ready.set_result(None)
        if self._alive is not None:
            self._alive.cancel()
            self._alive = None

    def _on_closed(self, event: events.ConnectionTerminated) -> None:
        super()._on_closed(event)
        self.drop()

    def _finish(self, bye: Bye) -> None:
        super()._finish(bye)
        self.drop()

    def drop(self) -> None:
        """Give up socket and timers; nothing is sent any more."""
        self._drop_socket()
        self._on_terminated()
        if self._alive is not None:
            self._alive.cancel()
            self._alive = None

    def _arm(self) -> None:
        if self._socket is not None:
            super()._arm()

    # -- moving and staying alive ------------------------------------------------------------------

    async def move(self, local_host: str = "") -> bool:
        """Go on from another port, or from another address of this host."""
        self.check()
        self._take_socket(local_host)
        with contextlib.suppress(
            QuicConnectionError, ValueError
        ):  # no spare id: the old one serves
            self.state.change_connection_id()  # who watches both paths cannot tell it is us
        self.state.send_ping(0)
        self.flush()
        return True

    def keep_alive(self, every_s: float) -> None:
        """Show a sign of life after so many silent seconds from now on."""
        super().keep_alive(every_s)
        self._show_life()

    def _show_life(self) -> None:
        if self._alive is not None:
            self._alive.cancel()
            self._alive = None
        if self._lost is not None:
            return
        due = self._heard + self._keep_alive_s
        now = self._loop.time()
        if now >= due:
            self.state.send_ping(0)
            self._flush_soon()
            due = now + self._keep_alive_s
        self._alive = self._loop.call_at(due, self._show_life)
