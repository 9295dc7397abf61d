"""The sockets of a bridge: what is heard, what is not, and that nothing blocks."""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

import pytest

from evenflow.bridge.protocol.kinds import MOST_DATAGRAM
from evenflow.bridge.shell.udp import MOST_A_TURN, Doors, UdpPort, parse_address
from evenflow.errors import ConfigError, DomainError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.bridge.events import Received

ANY = ("127.0.0.1", 0)


@pytest.fixture
def sender() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(ANY)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        yield one


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(ANY)
        return int(one.getsockname()[1])


def heard(port: UdpPort, within_s: float = 5.0) -> list[Received]:
    ready, _, _ = select.select(port.sockets, [], [], within_s)
    return [received for one in ready for received in port.receive(one)]


def test_a_datagram_comes_with_its_source(sender: socket.socket) -> None:
    with UdpPort(Doors(ANY, None)) as port:
        sender.sendto(b"one", port.address)
        (one,) = heard(port)
        assert (one.data, one.source) == (b"one", sender.getsockname())


def test_bridges_of_a_machine_all_hear_the_group(sender: socket.socket) -> None:
    group = ("239.255.76.9", free_port())
    with UdpPort(Doors(ANY, group)) as first, UdpPort(Doors(ANY, group)) as second:
        assert first.address != second.address
        sender.sendto(b"who?", group)
        assert [one.data for one in heard(first)] == [b"who?"]
        assert [one.data for one in heard(second)] == [b"who?"]


def test_a_datagram_that_is_too_long_is_seen_as_such(sender: socket.socket) -> None:
    with UdpPort(Doors(ANY, None)) as port:
        sender.sendto(bytes(MOST_DATAGRAM), port.address)
        sender.sendto(bytes(9_000), port.address)
        lengths = [len(one.data) for _ in range(2) for one in port.receive(port.sockets[0])]
        assert lengths == [MOST_DATAGRAM, MOST_DATAGRAM + 1]


def test_a_turn_is_bounded_and_an_empty_socket_does_not_block(sender: socket.socket) -> None:
    with UdpPort(Doors(ANY, None)) as port:
        for _ in range(MOST_A_TURN + 5):
            sender.sendto(b"x", port.address)
        turns = [len(port.receive(port.sockets[0])) for _ in range(3)]
        assert turns == [MOST_A_TURN, 5, 0]


def test_what_cannot_be_sent_is_dropped_and_counted(sender: socket.socket) -> None:
    with UdpPort(Doors(ANY, None)) as port:
        port.send(b"x", sender.getsockname())
        port.send(bytes(70_000), sender.getsockname())
        port.send(b"x", ("no host", 1))
        port.send(b"x", ("127.0.0.1", 0))
        assert (port.sent, port.unsent) == (1, 3)


def test_what_cannot_be_used_is_told(sender: socket.socket) -> None:
    with pytest.raises(DomainError, match=r"udp://127\.0"):
        UdpPort(Doors(sender.getsockname(), None))
    with pytest.raises(DomainError, match="on nowhere"):
        UdpPort(Doors(ANY, ("239.255.76.9", 0), ("nowhere",)))
    with pytest.raises(DomainError, match="on lo"):
        UdpPort(Doors(ANY, ("127.0.0.1", 0)))


def test_addresses() -> None:
    assert parse_address("127.0.0.1:7600", "--listen") == ("127.0.0.1", 7600)
    assert parse_address("udp://0.0.0.0:0", "--listen") == ("0.0.0.0", 0)
    for wrong in ("", "7600", "127.0.0.1", "127.0.0.1:", "host:1", "1.2.3.4:65536", "::1:5"):
        with pytest.raises(ConfigError):
            parse_address(wrong, "--listen")
