"""The Abstract Layer of the paper: a Receiver and a Sender of datagrams.

One socket for unicast, which also sends, and one that is a member of the group in which devices
look for a bridge. The group is joined on named interfaces only, the loopback unless another is
named, and nothing that comes in by others is heard. Several bridges of a machine share the group's
port.

**Nothing blocks.** The Receiver reads what is there, at most `MOST_A_TURN` datagrams of a socket at
a time, so that other work of the loop gets its turn; what waits beyond the kernel's buffer is lost,
as datagrams are. The Sender hands a datagram to the kernel or drops and counts it: whoever needs it
repeats it.

IPv4 only.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from struct import pack
from typing import TYPE_CHECKING, Final

from evenflow.bridge.events import Received
from evenflow.bridge.protocol.kinds import MOST_DATAGRAM
from evenflow.closing import Closing
from evenflow.errors import ConfigError, DomainError
from evenflow.errors.listening import why_not_listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.bridge.events import Address

MOST_A_TURN: Final = 256
RECEIVE_BUFFER: Final = 4 << 20
"""Bytes that the kernel may hold for a socket, as far as the system grants them."""
_LINUX_MULTICAST_ALL: Final = 49
"""``IP_MULTICAST_ALL``, which Python does not name: hear groups by one's own memberships alone."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Where devices reach a bridge."""

    listen: Address = ("127.0.0.1", 7600)
    """Unicast; port 0 takes any."""
    group: Address | None = ("239.255.76.1", 7601)
    """Where devices look for a bridge; None: by unicast only."""
    interfaces: tuple[str, ...] = ("lo",)
    """Interfaces, by name or address, on which the group is heard."""
    advertised: Address | None = None
    """How devices reach the unicast address, if it is not the same."""


class UdpPort(Closing):
    """Both sockets.

    Args:
        doors: Where to listen.

    Raises:
        DomainError: An address or interface cannot be used.
    """

    def __init__(self, doors: Doors) -> None:
        self.sent = 0
        """Datagrams given to the kernel."""
        self.unsent = 0
        """Datagrams that it did not take."""
        self._sockets = [_unicast(doors.listen)]
        self._sender = self._sockets[0]
        if doors.group is not None:
            try:
                self._sockets.append(_member(doors.group, doors.interfaces))
            except DomainError:
                self.close()
                raise
        host, port = self._sender.getsockname()
        self.address: Address = doors.advertised or (host, port)
        """How devices reach it."""

    @property
    def sockets(self) -> Sequence[socket.socket]:
        """What a loop waits for."""
        return self._sockets

    def receive(self, one: socket.socket) -> list[Received]:
        """Read what a socket has."""
        received = []
        for _ in range(MOST_A_TURN):
            try:
                # One byte more than may be: so a datagram that was cut is seen as too long.
                data, source = one.recvfrom(MOST_DATAGRAM + 1)
            except BlockingIOError:
                break
            except OSError:  # what became of something sent before
                continue
            received.append(Received(data, source))
        return received

    def send(self, data: bytes, target: Address) -> None:
        """Send a datagram, or drop it."""
        try:
            socket.inet_aton(target[0])  # a name would be looked up, and that blocks
            self._sender.sendto(data, target)
        except OSError:
            self.unsent += 1
        else:
            self.sent += 1

    def close(self) -> None:
        """Close both."""
        for one in self._sockets:
            one.close()


def parse_address(text: str, option: str) -> Address:
    """``HOST:PORT`` with an IPv4 address; `ConfigError` when it is none."""
    host, found, port = text.removeprefix("udp://").rpartition(":")
    try:
        address = str(ipaddress.IPv4Address(host))
    except ValueError:
        found = ""
    if not found or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(option, text, "must be an IPv4 address and a port, as in 127.0.0.1:7600")
    return address, int(port)


def _unicast(address: Address) -> socket.socket:
    one = _open()
    try:
        one.bind(address)
    except OSError as error:
        one.close()
        raise DomainError(
            f"cannot listen at udp://{address[0]}:{address[1]}", why_not_listening(error)
        ) from None
    return one


def _member(group: Address, interfaces: Sequence[str]) -> socket.socket:
    one = _open()
    what = f"group udp://{group[0]}:{group[1]}"
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.IPPROTO_IP, _LINUX_MULTICAST_ALL, 0)
        one.bind(group)
        for interface in interfaces:
            what = f"group udp://{group[0]}:{group[1]} on {interface}"
            membership = pack("4s4si", socket.inet_aton(group[0]), *_place(interface))
            one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError as error:
        one.close()
        raise DomainError(what, str(error)) from None
    return one


def _place(interface: str) -> tuple[bytes, int]:
    """Address and index of an interface as ``ip_mreqn`` wants them: one of both is enough."""
    try:
        return ipaddress.IPv4Address(interface).packed, 0
    except ValueError:
        return bytes(4), socket.if_nametoindex(interface)


def _open() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setblocking(False)  # noqa: FBT003
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return one
