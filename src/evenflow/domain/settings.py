"""Cyclone's own configuration, made from ours.

What is set, and why:

- *interface*: the configured one alone. The loopback interface does not call itself multicast
  capable, but is; discovery needs it.
- *multicast* for discovery only: every item has one reader, so sending it to all is waste.
- *peers*: hosts to look for by unicast where multicast does not pass. Their participants must then
  be found on the well-known ports, hence the participant index.
- *lease*: how long a silent participant is remembered.
- *receive buffer*: as much as the system grants, up to 8 MiB; a burst that does not fit is lost by
  the kernel and costs a retransmission.
- *message size*: loopback passes packets of 64 kB whole; cutting them into frames of Ethernet's
  size costs most of the time of a large batch.
- *acknowledgements* after 1 ms, where Cyclone has 10, *heartbeats* after 10 ms and *requests to
  resend* after 10 ms, where it has 100 for both: a writer learns soon that its samples have
  arrived, so that little is under way at any time (:mod:`evenflow.domain.flow`), and a loss is
  mended before anybody notices. A writer repeats its heartbeat until it is answered: who answers
  late is sent many, at 1 ms and 10 ms 20 for each sample.
- *heartbeats of writers apart* after 2 ms: Cyclone asks for an acknowledgement when a writer has
  paused for four fifths of that, and how full a plain writer is cannot be known before
  (:mod:`evenflow.qos.plain.writer`).
- *linger*: none. Cyclone would wait for each writer of its own when it is deleted, a second each;
  :meth:`Participant.close <evenflow.domain.cyclone.Participant.close>` waits once for all of them.
"""

from __future__ import annotations

import ipaddress
import socket
from enum import Enum
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from evenflow.errors import DomainError

if TYPE_CHECKING:
    from evenflow.config import DomainConfig

_LOOPBACK_SIZES: Final = (
    "<MaxMessageSize>65000B</MaxMessageSize><FragmentSize>63000B</FragmentSize>"
)
_HEARTBEATS: Final = '<HeartbeatInterval min="5ms" minsched="5ms">10ms</HeartbeatInterval>'
_PROMPT: Final = '<HeartbeatInterval min="1ms" minsched="1ms">2ms</HeartbeatInterval>'
_MOST_PARTICIPANTS: Final = 119
"""Participants of one host that can be found by unicast: as many as the ports of a domain allow."""

_FIRST_PORT, _PORTS = 7400, 250
"""The port at which participants of domain 0 are found; how many lie between two domains."""
_LENT: Final = 32_768
"""From here on Linux gives ports to programs that ask for any."""


class Apart(Enum):
    """Which set of sockets and receiving threads of a process in a domain."""

    NO = 0
    """That of everybody."""
    READERS = 1
    """Of readers that may be full, and then hold up what is received there."""
    WRITERS = 2
    """Of writers that want to know soon what is acknowledged."""


def cyclone_xml(config: DomainConfig, *, apart: Apart = Apart.NO) -> str:
    """Return the XML configuration of a domain.

    Args:
        config: The domain.
        apart: Which of several sets of sockets of the process it is for.
    """
    loopback = is_loopback(config.interface)
    kind = "address" if _is_address(config.interface) else "name"
    multicast = ' multicast="true"' if loopback else ""
    return (
        '<CycloneDDS><Domain Id="any">'
        "<General><Interfaces>"
        f"<NetworkInterface {kind}={quoteattr(config.interface)}{multicast}/>"
        "</Interfaces><AllowMulticast>spdp</AllowMulticast>"
        f"{_LOOPBACK_SIZES if loopback else ''}</General>"
        f"<Discovery><LeaseDuration>{config.participant_lease_s:g}s</LeaseDuration>"
        f"{'' if apart is Apart.NO else f'<ExternalDomainId>{config.id}</ExternalDomainId>'}"
        f"{_peers(config.peers)}</Discovery>"
        "<Internal>"
        '<SocketReceiveBufferSize max="8MiB"/>'
        f"{_PROMPT if apart is Apart.WRITERS else _HEARTBEATS}"
        "<AckDelay>1ms</AckDelay><NackDelay>10ms</NackDelay>"
        "<WriterLingerDuration>0s</WriterLingerDuration>"
        "</Internal></Domain></CycloneDDS>"
    )


def check_interface(config: DomainConfig) -> None:
    """Raise `DomainError` when this machine has no such interface: Cyclone would only say no."""
    known = [name for _, name in socket.if_nameindex()]
    if config.interface in known or _is_own_address(config.interface):
        return
    raise DomainError(
        f"domain {config.id}",
        f"this machine has no network interface {config.interface!r}:"
        f" set domain.interface to one of {', '.join(known)}, or to the address of one",
    )


def check_peers(config: DomainConfig) -> None:
    """Raise `DomainError` when a peer's name means no address: Cyclone would end the process."""
    for peer in config.peers:
        host = peer[1:].partition("]")[0] if peer.startswith("[") else peer
        name, _, port = peer.partition(":")
        try:
            socket.getaddrinfo(name if port.isdigit() else host, None)
        except (OSError, UnicodeError) as error:
            raise DomainError(
                f"domain {config.id}",
                f"domain.peers: {peer!r} means no address ({error}): mend it or take it out",
            ) from None


def why_not_entered(config: DomainConfig) -> str:
    """What to look at when Cyclone could not enter a domain, of which it gives no reason."""
    port = _FIRST_PORT + _PORTS * config.id
    if _is_free(port):
        return f"Check domain.interface = {config.interface!r} and domain.peers."
    lent = ", below 100: the system lends such high ports to any program" if port >= _LENT else ""
    return (
        f"UDP port {port}, which follows from domain.id, is used by another program: stop it, or"
        f" choose another domain.id for all processes{lent}."
    )


def _is_free(port: int) -> bool:
    """Whether a UDP port can be had, by us or together with others who are in the domain."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def is_loopback(interface: str) -> bool:
    """Whether an interface, given by name or address, stays inside this machine."""
    if _is_address(interface):
        return ipaddress.ip_address(interface).is_loopback
    return interface == "lo"


def _is_address(interface: str) -> bool:
    try:
        ipaddress.ip_address(interface)
    except ValueError:
        return False
    return True


def _is_own_address(interface: str) -> bool:
    if not _is_address(interface):
        return False
    family = socket.AF_INET6 if ":" in interface else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((interface, 0))
        except OSError:
            return False
    return True


def _peers(peers: tuple[str, ...]) -> str:
    if not peers:
        return ""
    listed = "".join(f"<Peer address={quoteattr(peer)}/>" for peer in peers)
    return (
        "<ParticipantIndex>auto</ParticipantIndex>"
        f"<MaxAutoParticipantIndex>{_MOST_PARTICIPANTS}</MaxAutoParticipantIndex>"
        f"<Peers>{listed}</Peers>"
    )
