"""A connection over TLS 1.3 and TCP, at either end: for where UDP is blocked.

asyncio's own TLS keeps a buffer of 256 KiB for each connection (measured: 278 KiB, so 10,000 would
take 2.7 GiB). Here a connection has OpenSSL's state machine on two memory buffers that are empty
between calls, and all of them share one buffer to receive into.

TCP has no keep-alive that a NAT respects, so the client sends `Ping` after a silence, and both
sides take a long silence for the end. A side that does not read does not listen for silence either.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from evenflow.mobile.link.frames import Bye, Ping
from evenflow.mobile.link.framing import BadFrame, encode
from evenflow.mobile.link.session import FAREWELL_S, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from evenflow.mobile.link.connection import Counts, Credentials, Frame, Limits, Trust

CHUNK: Final = 1 << 16
_RECEIVED: Final = bytearray(CHUNK)
"""Where the event loop puts what it receives; emptied before it receives again."""


class TlsSession(Session, asyncio.BufferedProtocol):
    """A connection over TLS.

    Args:
        context: Keys and trust.
        server_name: The name the server must have; None at the server.
        on_ready: Called when the handshake is over.
        on_gone: Called when the connection is.
        decoder: What the other side may send.
        limits: How much is held, and how long is waited.
        counts: The books of the listener that it belongs to.
    """

    transport = "tls"

    def __init__(
        self,
        context: ssl.SSLContext,
        server_name: str | None,
        on_ready: Callable[[TlsSession], None],
        on_gone: Callable[[TlsSession], None],
        decoder: msgspec.msgpack.Decoder[Frame],
        limits: Limits,
        counts: Counts,
    ) -> None:
        super().__init__(decoder, limits, counts)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )
        self._is_client = server_name is not None
        self._on_ready = on_ready
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._tcp: asyncio.Transport | None = None
        self._shaken = False
        self._peer: tuple[Any, ...] = ("?", 0)
        self._heard = self._said = self._loop.time()
        self._timer: asyncio.Handle = self._loop.call_later(limits.handshake_s, self._on_timer)

    # -- called by asyncio -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The TCP connection is there."""
        self._tcp = cast("asyncio.Transport", transport)
        self._tcp.set_write_buffer_limits(high=self._limits.unsent_bytes)
        self._peer = self._tcp.get_extra_info("peername") or ("?", 0)
        self._shake()

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's signature
        """Return where to put what is received."""
        return _RECEIVED

    def buffer_updated(self, nbytes: int) -> None:
        """Something was received."""
        self._heard = self._loop.time()
        self._incoming.write(memoryview(_RECEIVED)[:nbytes])
        if self._shaken or self._shake():
            self._decrypt()
        self._push()

    def eof_received(self) -> bool:
        """The other side ends the TCP connection."""
        self.end("the connection was ended")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The TCP connection is over."""
        self._tcp = None
        self._timer.cancel()
        self.end(str(exc) if exc else "the connection was ended")
        self._on_gone(self)

    def resume_writing(self) -> None:
        """There is room again."""
        self.room()

    # -- TLS ---------------------------------------------------------------------------------------

    def _shake(self) -> bool:
        """Go on with the handshake; return whether it is over."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._push()
            return False
        except (ssl.SSLError, ssl.CertificateError) as error:
            self._push()  # the alert
            self.end(_in_words(error))
            self._abort()
            return False
        self._shaken = True
        self._push()
        self._timer.cancel()
        self._timer = self._loop.call_soon(self._on_timer)
        self._on_ready(self)
        return True

    def _decrypt(self) -> None:
        try:
            while data := self._tls.read(CHUNK):
                self.came(data)
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            if not self.over:
                self.refuse(BadFrame(f"records that cannot be understood: {_in_words(error)}"))
            self._abort()
            return
        self.end("the connection was ended")  # close_notify
        self._abort()

    def _push(self) -> None:
        if self._tcp is not None and self._outgoing.pending and not self._tcp.is_closing():
            self._tcp.write(self._outgoing.read())

    def abort(self) -> None:
        """Give up the connection without a word."""
        self._timer.cancel()
        self.end("given up")
        if self._tcp is not None:
            self._tcp.abort()

    def _abort(self) -> None:
        if self._tcp is not None:
            self._tcp.close()
            self._loop.call_later(FAREWELL_S, self._tcp.abort)

    # -- silence -----------------------------------------------------------------------------------

    def _on_timer(self) -> None:
        """Look whether it is time to say something, or to give up."""
        now = self._loop.time()
        if self._tcp is None or self.over:
            self.end("the handshake took too long")
            return
        if not self._shaken:
            self.end("the handshake took too long")
            self._abort()
            return
        if self._paused:
            self._heard = now
        if now - self._heard >= self._limits.idle_s:
            self._counts.idle += 1
            self.end(f"nothing heard for {self._limits.idle_s:g} s")
            self._tcp.abort()
            return
        due = self._heard + self._limits.idle_s
        if self._is_client:
            if now - max(self._heard, self._said) >= self._keep_alive_s:
                self._said = now
                self._write(encode(Ping()))
            due = min(due, max(self._heard, self._said) + self._keep_alive_s)
        self._timer = self._loop.call_at(max(due, now + 0.01), self._on_timer)

    def keep_alive(self, every_s: float) -> None:
        """Show a sign of life after so many silent seconds from now on."""
        super().keep_alive(every_s)
        if self._shaken and not self.over:
            self._timer.cancel()
            self._timer = self._loop.call_soon(self._on_timer)

    # -- what a session asks -----------------------------------------------------------------------

    @property
    def peer(self) -> str:
        """Address of the other side."""
        return f"tls://{self._peer[0]}:{self._peer[1]}"

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the kernel did not take."""
        return 0 if self._tcp is None else self._tcp.get_write_buffer_size()

    def _write(self, data: bytes) -> None:
        if self._tcp is None or self._tcp.is_closing():
            return
        try:
            self._tls.write(data)
        except ssl.SSLError as error:
            self.end(_in_words(error))
            self._abort()
        self._push()

    def _pause(self) -> None:
        if self._tcp is not None:
            self._tcp.pause_reading()

    def _resume(self) -> None:
        if self._tcp is not None:
            self._heard = self._loop.time()
            self._tcp.resume_reading()

    def _finish(self, bye: Bye) -> None:
        if self._tcp is None:
            return
        if self._shaken:
            self._write(encode(bye))
        self._abort()

    async def _flushed(self, until: float) -> None:
        """TCP delivers what was written before the end."""


def _in_words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the gateway's certificate is not trusted: {error.verify_message}"
    reason: Any = getattr(error, "reason", None)
    return f"TLS: {reason or error}"


@cache
def client_context(trust: Trust) -> ssl.SSLContext:
    """Whom a mobile node trusts: the CA, and nobody else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cafile=trust.ca_file)
    return context


def server_context(credentials: Credentials) -> ssl.SSLContext:
    """What a gateway shows its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # connections are long; a ticket for each would cost more than it saves
    context.load_cert_chain(credentials.certificate_file, credentials.key_file)
    return context
