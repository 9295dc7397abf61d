"""Connections to nodes: kept, bounded, and never closed under who reads by them."""

from __future__ import annotations

import weakref

from evenflow.slices.consumer.connections import MOST_CLIENTS, FlightClients


class Client:
    def __init__(self, address: str) -> None:
        self.address = address


def test_a_connection_is_used_again_until_it_is_dropped() -> None:
    clients = FlightClients(Client)
    first = clients.get("a")
    assert clients.get("a") is first
    clients.drop("a")
    clients.drop("a")
    assert clients.get("a") is not first


def test_the_one_that_was_not_used_for_longest_is_let_go() -> None:
    clients = FlightClients(Client)
    kept = [weakref.ref(clients.get(f"node-{number}")) for number in range(MOST_CLIENTS)]
    clients.get("node-0")
    clients.get("one more")
    assert [number for number, one in enumerate(kept) if one() is None] == [1]


def test_who_reads_by_one_that_is_let_go_keeps_it() -> None:
    clients = FlightClients(Client)
    reading = clients.get("a")
    held = weakref.ref(reading)
    clients.drop("a")
    for number in range(MOST_CLIENTS):
        clients.get(f"node-{number}")
    assert held() is reading
