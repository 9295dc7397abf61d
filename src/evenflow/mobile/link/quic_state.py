"""The state machine of one QUIC connection: qh3's, which can also stop taking what comes.

qh3 gives the other side new credit as soon as stream data leaves its packet core, and its facade
empties the core with every datagram, so nothing would ever hold a fast sender back. Here the core
is emptied only while we are reading. When we are not, the other side may send one window more
(`Limits.received_bytes`), which the core holds, and then waits: that is QUIC's own flow control.

qh3 also acknowledges each lone packet by a datagram of its own, a millisecond later: with ``Safe``
an item would cost four. Here acknowledgements wait for what follows (`QuicState.get_timer`).
"""

from __future__ import annotations

import hmac
import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qh3._hazmat import Buffer
from qh3.quic.configuration import QuicConfiguration
from qh3.quic.connection import QuicConnection
from qh3.quic.tls_bridge import QuicTlsBridge
from qh3.tls import CipherSuite

if TYPE_CHECKING:
    from qh3.quic.events import ConnectionTerminated

    from evenflow.mobile.link.connection import Credentials, Limits, Trust

ALPN: Final = "evenflow-mobile/1"
SPARE_IDS: Final = 8
"""Connection ids that a client keeps, to take another one when it moves."""
NODE_ACK_S: Final = 0.1
"""After so long a node acknowledges what came, if nothing was sent until then."""
NODE_ACK_DELAY_MS: Final = 125
"""The longest that it takes, as gateways are told; what is lost at the end is sent again later."""
GATEWAY_ACK_S: Final = 0.019
"""A gateway says ``Safe`` before, as a rule. Nodes are told 25 ms (qh3 says so by itself)."""
ID_BYTES: Final = 8
"""Length of the connection ids that we give out."""

MAX_ACK_DELAY: Final = 0x0B
"""The transport parameter `max_ack_delay` (RFC 9000, 18.2)."""

# Every end of a connection is a warning there; we say why a connection ended, and count.
logging.getLogger("quic").setLevel(logging.ERROR)


class QuicState(QuicConnection):
    """A QUIC connection without sockets and clock, as qh3 makes it, that can stop reading.

    Args:
        reset_key: Of a server: what its proofs of a stateless reset are made with.
        arguments: As qh3 wants them.
    """

    def __init__(self, *, reset_key: bytes = b"", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._reset_key = reset_key
        self._reading = True

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to be sent, or to be acknowledged."""
        if self._core is None:
            return 0
        return int(self.get_send_buffer_size()) + int(self._core.bytes_in_flight)

    def take(self, data: bytes, sender: Any, now: float) -> bool:
        """Take a datagram; return whether the other side made it, and it is not a copy.

        The core sees one address for ever, that of the first datagram: see `paths`.
        """
        address = self._remote_addr or sender
        if not self._handshake_complete:
            self.receive_datagram(data, address, now)
            return False
        core = self._require_core()
        report = self._call_core(core.receive_datagram, data, address, now, len(data))
        self._drain_core()
        return report[2] > 0

    def datagrams_to_send(self, now: float) -> list[tuple[bytes, Any]]:
        """Return what is to be sent now; qh3 would read each packet again, for a log."""
        core, found = self._core, []
        while core is not None and (transmit := core.poll_transmit(now)) is not None:
            found.append((transmit[0], transmit[1]))
        return found

    def get_timer(self) -> float | None:
        """When to be woken; an acknowledgement waits for something that it can travel with.

        qh3 would send it alone after a millisecond. Every second packet is answered at once, and
        the other side takes a packet for lost only when the longest delay that it was told is over.
        """
        timer = None if self._core is None else self._core.get_timer()
        if timer is None:
            return None
        due = float(timer[1])
        if timer[0] != "ack_application":
            return due
        return due + (NODE_ACK_S if self._is_client else GATEWAY_ACK_S)

    @property
    def closed(self) -> ConnectionTerminated | None:
        """How the connection ended, at once; qh3's own event comes when the last echo is over."""
        return self._close_event

    def forget_handshake(self) -> None:
        """Let go of what only the handshake needed, a quarter of the memory (servers).

        A client that begins TLS anew after it has spoken ends its connection by that.
        """
        if self._handshake_complete:
            self._tls = None

    def pause(self) -> None:
        """Take nothing more from the core: the other side gets no credit."""
        self._reading = False

    def resume(self) -> None:
        """Take what the core holds, and go on."""
        self._reading = True
        if self._core is not None:
            self._drain_core()

    def _create_tls(self, remote_source_cid: bytes | None) -> QuicTlsBridge:
        """As qh3's, but for two transport parameters that it does not let us choose."""
        key, version = self._reset_key, self._version
        assert version is not None
        self._tls = _TlsBridge(
            self._configuration,
            version=version,
            local_initial_source_connection_id=self.host_cid,
            remote_initial_source_connection_id=remote_source_cid,
            original_destination_connection_id=self._original_destination_connection_id,
            retry_source_connection_id=self._retry_source_connection_id,
            stateless_reset_token=reset_token(key, self.host_cid) if key else None,
            version_change_handler=self._set_version,
        )
        return self._tls

    def _drain_core(self) -> None:
        core = self._require_core()
        if self._reading or not self._handshake_complete or core.state != "connected":
            super()._drain_core()


class _TlsBridge(QuicTlsBridge):
    """Tells gateways how long a node may take to acknowledge."""

    def serialize_transport_parameters(self) -> bytes:
        said = bytes(super().serialize_transport_parameters())
        if not self.configuration.is_client:
            return said
        delay = Buffer(capacity=8)
        delay.push_uint_var(MAX_ACK_DELAY)
        delay.push_uint_var(2)
        delay.push_uint_var(NODE_ACK_DELAY_MS)
        return said + bytes(delay.data)


@cache
def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def client_configuration(trust: Trust, limits: Limits) -> QuicConfiguration:
    """How a mobile node speaks QUIC."""
    configuration = _configuration(limits, is_client=True)
    configuration.load_verify_locations(cadata=_read(trust.ca_file))
    configuration.server_name = trust.server_name
    return configuration


def server_configuration(credentials: Credentials, limits: Limits) -> QuicConfiguration:
    """How a gateway speaks QUIC."""
    configuration = _configuration(limits, is_client=False)
    configuration.load_cert_chain(credentials.certificate_file, credentials.key_file)
    return configuration


def _configuration(limits: Limits, *, is_client: bool) -> QuicConfiguration:
    return QuicConfiguration(
        is_client=is_client,
        alpn_protocols=[ALPN],
        cipher_suites=[CipherSuite.AES_128_GCM_SHA256],
        connection_id_length=ID_BYTES,
        idle_timeout=limits.idle_s,
        max_data=limits.received_bytes,
        max_stream_data=limits.received_bytes,
        probe_datagram_size=False,
        active_connection_id_limit=SPARE_IDS if is_client else None,
    )


def reset_token(key: bytes, connection_id: bytes) -> bytes:
    """Return the proof that a connection is unknown to who has the key (RFC 9000, 10.3.2)."""
    return hmac.digest(key, connection_id, "sha256")[:16]
