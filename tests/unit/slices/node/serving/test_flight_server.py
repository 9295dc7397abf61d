"""Where a serving node listens."""

from __future__ import annotations

import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from pyarrow import flight
from tests.unit.slices.node.alone import sample_of

from evenflow.errors import DomainError
from evenflow.model.ids import NOWHERE
from evenflow.slices.consumer.ticket import Range, encode_ticket
from evenflow.slices.node.serving import flight_server
from evenflow.slices.node.serving.flight_server import FlightServer, address_of


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert address_of(address) == address


def test_a_name_is_looked_up() -> None:
    [loopback] = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.address == "127.0.0.1" for one in addresses)
    ]
    assert address_of(loopback) == "127.0.0.1"


def test_an_interface_without_address_says_what_to_set() -> None:
    with pytest.raises(DomainError, match=r"set domain\.interface"):
        address_of("no-such-interface")


@pytest.fixture
def server() -> FlightServer:
    """A service with 50 samples of a megabyte, more than any connection holds."""
    samples = (sample_of({0: (n, 1)}, serial=n, payload=bytes(1 << 20)) for n in range(1, 51))
    batches = [batch for sample in samples for batch in sample.batches()]
    nothing: Any = SimpleNamespace()
    return FlightServer(
        "items",
        "lo",
        0,
        select=lambda _: batches,
        count=nothing,
        since=nothing,
        held=nothing,
        directory=nothing,
        tell=nothing,
    )


def reading(server: FlightServer) -> Any:
    ticket = encode_ticket("items", Range((0,), NOWHERE, NOWHERE, {}))
    return flight.FlightClient(server.address).do_get(flight.Ticket(ticket))


def test_a_reader_that_stands_still_does_not_hold_up_a_node_that_leaves(
    server: FlightServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight_server, "FINISH_S", 0.2)
    stands_still = reading(server)
    stands_still.read_chunk()
    leaving = Thread(target=server.leave, daemon=True)
    leaving.start()
    leaving.join(10.0)
    assert not leaving.is_alive()
    with pytest.raises(flight.FlightError):
        for _ in stands_still:
            pass


def test_a_reader_may_finish_what_it_reads_from_a_node_that_leaves(server: FlightServer) -> None:
    slow = reading(server)
    first = slow.read_chunk().data.num_rows
    leaving = Thread(target=server.leave, daemon=True)
    leaving.start()
    time.sleep(0.2)
    assert first + sum(chunk.data.num_rows for chunk in slow) == 50
    leaving.join(10.0)
    assert not leaving.is_alive()
