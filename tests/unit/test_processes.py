"""Ports for processes on this machine."""

from __future__ import annotations

import socket
from unittest.mock import patch

from evenflow.processes import free_ports


def test_ports_are_free_for_both_transports_and_all_different() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket(type=socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", port))
            tcp.bind(("127.0.0.1", port))


def test_a_port_that_somebody_has_for_udp_is_passed_over() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        busy = taken.getsockname()
        offered = iter([busy])
        bind = socket.socket.bind

        class Offering(socket.socket):
            """The kernel offers the busy one first."""

            def bind(self, address: tuple[str, int]) -> None:  # type: ignore[override]
                bind(self, next(offered, address) if address[1] == 0 else address)

        with patch("socket.socket", Offering):
            found = free_ports(2)
    assert busy[1] not in found
    assert len(set(found)) == 2
