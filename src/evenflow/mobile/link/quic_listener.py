"""A gateway's door for QUIC: one UDP socket, and the connections behind it.

Connections are found by the id that their packets carry, never by the sender's address: a client
may move. A packet of a connection that nobody knows (this process was started anew) is answered by
QUIC's *stateless reset*, so the client connects again at once; the proof in it is made of the
gateway's private key and the connection's id, so it is the same in the next life of the process.

Nobody unknown costs much. A datagram that begins no connection is dropped. Who begins waits until
those who are known are served, and a turn of the loop begins a few: what has begun is finished
before more begins, and connected clients do not notice thousands who come at once. When more than
`PROOF_ABOVE` handshakes are under way, who begins another must first prove its address
(`quic_retry`); at `MOST_HANDSHAKES` a host that has more than another gives way (`handshakes`), or
else the next ones are dropped and come again, for QUIC repeats them. All of it, half-open ones
included, is bounded by `Limits.connections`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qh3 import _hazmat
from qh3.quic import events
from qh3.quic.packet import QuicPacketType, encode_quic_retry

from evenflow.mobile.link.accepting import Door
from evenflow.mobile.link.framing import FROM_NODE
from evenflow.mobile.link.handshakes import Handshakes
from evenflow.mobile.link.paths import Host, Paths
from evenflow.mobile.link.quic import QuicSession
from evenflow.mobile.link.quic_retry import check_token, make_token
from evenflow.mobile.link.quic_state import (
    ID_BYTES,
    QuicState,
    reset_token,
    server_configuration,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.mobile.link.address import LinkAddress
    from evenflow.mobile.link.connection import Accept, Credentials, Limits

Header = tuple[Any, ...]
"""A packet's header as qh3 reads it."""
MOST_HANDSHAKES: Final = 1_000
"""About 90 KiB each: 90 MiB that clients which never finish can hold, for `Limits.handshake_s`. As
many honest ones are 2.5 s of work for a gateway (400 a second)."""
PROOF_ABOVE: Final = 400
"""Beyond so many handshakes at a time a client must prove its address first."""
LEAST_INITIAL: Final = 1_200
"""Bytes of the smallest datagram that may begin a connection (RFC 9000, 14.1)."""
LEAST_RESET: Final = 43
"""A smaller datagram is not answered by a reset (RFC 9000, 10.3)."""
BURST: Final = 256
"""Datagrams read in one turn of the loop."""
BEGIN_A_TURN: Final = 8
"""Connections begun in one turn: each costs a millisecond, and those who are known wait for it."""
MOST_WAITING: Final = 1_000
"""Datagrams of those who begin that wait for their turn; others are dropped, and come again."""
SOCKET_BYTES: Final = 8 << 20

_INITIAL: Final = int(QuicPacketType.INITIAL)
_log = logging.getLogger(__name__)


class QuicServerSession(QuicSession):
    """The gateway's end of a connection over QUIC."""

    def __init__(self, listener: QuicListener, state: QuicState, peer: Host) -> None:
        super().__init__(state, FROM_NODE, listener.limits, listener.counts)
        self._listener = listener
        self._paths = Paths(peer)
        self.ids: set[bytes] = set()
        self.begun = False
        """Whether the client has said anything: then it is somebody's to serve."""
        self._loop.call_later(listener.limits.handshake_s, self._check_begun)

    @property
    def address(self) -> Host:
        """Where the client is now."""
        return self._paths.target

    def _send(self, data: bytes) -> None:
        if self._paths.may_send(len(data), self._loop.time()):
            self._listener.send_datagram(data, self._paths.target)

    def _on_authentic(self, sender: Host, size: int) -> None:
        ping = self._paths.on_packet(sender, size, self._loop.time())
        if ping:
            self.state.send_ping(ping)

    def _on_event(self, event: Any) -> None:
        if isinstance(event, events.PingAcknowledged):
            if self._paths.on_proof(event.uid, self._loop.time()):
                self._counts.migrated += 1
        elif isinstance(event, events.ConnectionIdIssued):
            self._listener.know(event.connection_id, self)
        elif isinstance(event, events.ConnectionIdRetired):
            self._listener.forget(event.connection_id, self)
        else:
            super()._on_event(event)

    def came(self, data: bytes) -> None:
        """Bytes have come; the first ones make it a connection."""
        super().came(data)
        if not self.begun and not self.over:
            self.begun = True
            self.state.forget_handshake()
            self._listener.on_begun(self)

    def _on_terminated(self) -> None:
        super()._on_terminated()
        self._listener.on_gone(self)

    def _check_begun(self) -> None:
        if not self.begun and self.ids:
            self.end("the handshake took too long")
            self.drop()

    def drop(self) -> None:
        """Forget it without a word."""
        self._on_terminated()


class QuicListener(Door):
    """Accepts connections over QUIC.

    Args:
        address: Where to listen.
        credentials: What clients are shown.
        accept: What is done with a connection.
        limits: How many, how large, how long.
    """

    def __init__(
        self, address: LinkAddress, credentials: Credentials, accept: Accept, limits: Limits
    ) -> None:
        super().__init__(accept, limits)
        self._configuration = server_configuration(credentials, limits)
        secret = Path(credentials.key_file).read_bytes()
        self._reset_key = hashlib.sha256(b"evenflow stateless reset" + secret).digest()
        self._retry_key = os.urandom(32)
        self._by_id: dict[bytes, QuicServerSession] = {}
        self._handshakes: Handshakes[QuicServerSession] = Handshakes()
        self._waiting: deque[tuple[Header, bytes, Host]] = deque()
        self._beginning: asyncio.Handle | None = None
        self._loop = asyncio.get_running_loop()
        self._socket = _bound(address)
        self._address = address.with_port(self._socket.getsockname()[1])
        self._loop.add_reader(self._socket, self._on_readable)

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self._address)

    # -- datagrams ---------------------------------------------------------------------------------

    def _on_readable(self) -> None:
        """Serve those who are known first; then begin a few connections."""
        touched: dict[QuicServerSession, None] = {}
        for data, sender in self._arrived():
            session = self._session_of(data, sender)
            if session is not None:
                session.datagram(data, sender)
                touched[session] = None
        for session in touched:
            _answer(session)
        for _ in range(BEGIN_A_TURN):
            if not self._waiting:
                return
            self._begin_next()
        if self._beginning is None:
            self._beginning = self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._beginning = None
        self._on_readable()

    def _begin_next(self) -> None:
        """Take the datagrams of the next who begins, and answer: its client goes on meanwhile."""
        session, first_id = None, self._waiting[0][0][3]
        while self._waiting and self._waiting[0][0][3] == first_id:
            header, data, sender = self._waiting.popleft()
            session = self._by_id.get(first_id) or self._begin(header, sender)
            if session is not None:
                session.datagram(data, sender)
        if session is not None:
            _answer(session)

    def _arrived(self) -> Iterator[tuple[bytes, Host]]:
        """The datagrams that are there, up to a number."""
        for _ in range(BURST):
            try:
                data, sender = self._socket.recvfrom(65_535)
            except BlockingIOError:
                return
            except OSError as error:  # what the kernel heard about some datagram that we sent
                _log.debug("%s: %s", self.address, error)
            else:
                yield data, sender[:2]

    def _session_of(self, data: bytes, sender: Host) -> QuicServerSession | None:
        if len(data) > ID_BYTES and not data[0] & 0x80:  # a short header: id, then the rest
            session = self._by_id.get(data[1 : 1 + ID_BYTES])
            if session is None and len(data) >= LEAST_RESET:
                self._reset(data, sender)
            return session
        try:
            header = _hazmat.pull_quic_header(data, 0, ID_BYTES)
        except ValueError:
            return None
        session = self._by_id.get(header[3])
        if session is None and header[1] == _INITIAL and len(data) >= LEAST_INITIAL:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append((header, data, sender))
            else:
                self.counts.refused += 1
        return session

    def _begin(self, header: Header, sender: Host) -> QuicServerSession | None:
        version, first_id, client_id, token = header[0], header[3], header[4], header[5]
        if self._closing or version not in self._configuration.supported_versions:
            return None
        now, new_id = self._loop.time(), None
        if token:
            proven = check_token(self._retry_key, sender, token, now)
            if proven is None:
                return None
            first_id, new_id = proven
        elif len(self._handshakes) >= PROOF_ABOVE:
            self._ask_proof(version, first_id, client_id, sender, now)
            return None
        if not self._has_room(sender):
            self.counts.refused += 1
            return None
        state = QuicState(
            configuration=self._configuration,
            original_destination_connection_id=first_id,
            retry_source_connection_id=new_id,
            reset_key=self._reset_key,
        )
        session = QuicServerSession(self, state, sender)
        self._handshakes.add(session, sender[0])
        self.know(new_id or first_id, session)
        self.know(state.host_cid, session)
        return session

    def _has_room(self, sender: Host) -> bool:
        """Whether a host may begin a handshake; one that has more of them gives way to it."""
        if len(self._handshakes) < MOST_HANDSHAKES and not self.crowded:
            return True
        former = self._handshakes.give_way(sender[0])
        if former is None:
            return False
        former.end("too many handshakes of one host")
        former.drop()
        return True

    def _ask_proof(
        self, version: int, first_id: bytes, client_id: bytes, sender: Host, now: float
    ) -> None:
        """Remember nothing, and let the client come again with a token."""
        new_id = os.urandom(ID_BYTES)
        retry = encode_quic_retry(
            version=version,
            source_cid=new_id,
            destination_cid=client_id,
            original_destination_cid=first_id,
            retry_token=make_token(self._retry_key, sender, first_id, new_id, now),
        )
        self.send_datagram(retry, sender)

    def _reset(self, data: bytes, sender: Host) -> None:
        """Say that this connection is unknown here, smaller than what is answered: no echo."""
        token = reset_token(self._reset_key, data[1 : 1 + ID_BYTES])
        noise = bytearray(os.urandom(min(len(data) - 1, 60) - len(token)))
        noise[0] = noise[0] & 0x3F | 0x40
        self.send_datagram(bytes(noise) + token, sender)

    def send_datagram(self, data: bytes, address: Host) -> None:
        """Send, or drop when the kernel has no room: QUIC sends again what matters."""
        try:
            self._socket.sendto(data, address)
        except OSError as error:
            _log.debug("%s to %s: %s", self.address, address, error)

    # -- connections -------------------------------------------------------------------------------

    def know(self, connection_id: bytes, session: QuicServerSession) -> None:
        """A connection has one more id."""
        self._by_id[connection_id] = session
        session.ids.add(connection_id)

    def forget(self, connection_id: bytes, session: QuicServerSession) -> None:
        """A connection has one id less."""
        session.ids.discard(connection_id)
        self._by_id.pop(connection_id, None)

    def on_begun(self, session: QuicServerSession) -> None:
        """A client has connected and speaks."""
        self._handshakes.remove(session)
        self.serve(session)

    def on_gone(self, session: QuicServerSession) -> None:
        """A connection is over, and nothing of it is answered any more."""
        if not session.begun:
            session.begun = True
            self._handshakes.remove(session)
            self.counts.refused += 1
        for connection_id in session.ids:
            self._by_id.pop(connection_id, None)
        session.ids.clear()

    @property
    def _held(self) -> int:
        return len(self._handshakes)

    async def _close(self) -> None:
        self._waiting.clear()
        if self._beginning is not None:
            self._beginning.cancel()
        for session in {*self._by_id.values()}:
            session.end("the gateway ends")
            session.drop()
        self._loop.remove_reader(self._socket)
        self._socket.close()


def _bound(address: LinkAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_DGRAM)
    opened.settimeout(0)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        opened.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
    opened.bind((address.host, address.port))
    return opened


def _answer(session: QuicServerSession) -> None:
    if session.ids:  # else it is over, or has given way
        session.flush()
