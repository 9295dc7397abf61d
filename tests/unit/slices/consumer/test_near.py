"""A socket file beside a node's address: found when somebody listens there, else not."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import flight

from evenflow.model.ids import NOWHERE
from evenflow.slices.consumer import near
from evenflow.slices.consumer.ticket import HELD, Range, encode_ticket
from evenflow.slices.node.serving.directory import Directory
from evenflow.slices.node.serving.flight_server import FlightServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS = "grpc://127.0.0.1:4711"


@pytest.fixture(autouse=True)
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # The path of a socket may not be as long as pytest's folders are.
    with tempfile.TemporaryDirectory(prefix="near-", dir=near.PARENT) as name:
        monkeypatch.setattr(near, "PARENT", Path(name))
        yield Path(name)


@pytest.fixture
def server() -> Iterator[FlightServer]:
    server = FlightServer(
        "fleet",
        "127.0.0.1",
        0,
        select=lambda _: [],
        count=lambda *_: [],
        since=lambda *_: pytest.fail("not asked"),
        held=lambda _: 7,
        directory=Directory(),
        tell=lambda _: None,
    )
    yield server
    server.shutdown()


def listening(file: Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(file))
    found.listen()
    return found


def test_an_address_without_a_file_has_no_short_way() -> None:
    assert near.near_location(ADDRESS) is None
    assert near.prepared_file(ADDRESS) is not None
    assert near.near_location(ADDRESS) is None


def test_what_is_no_address_has_none() -> None:
    assert near.near_location("grpc://127.0.0.1:no-port") is None
    assert near.near_location("") is None


def test_files_of_two_ports_and_two_addresses_differ() -> None:
    near.prepared_file(ADDRESS)
    addresses = [ADDRESS, "grpc://127.0.0.1:4712", "grpc://127.0.0.2:4711", "grpc://[::1]:4711"]
    assert len({near.socket_file(address) for address in addresses}) == len(addresses)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_is_open_to_others_is_not_used(mode: int) -> None:
    file = near.prepared_file(ADDRESS)
    assert file is not None
    file.parent.chmod(mode)
    assert near.socket_file(ADDRESS) is None
    assert near.prepared_file(ADDRESS) is None


def test_a_link_to_a_folder_is_not_used(parent: Path) -> None:
    file = near.prepared_file(ADDRESS)
    assert file is not None
    file.parent.rename(parent / "elsewhere")
    file.parent.symlink_to(parent / "elsewhere")
    assert near.prepared_file(ADDRESS) is None


def test_the_file_of_a_killed_node_is_passed_over_and_removed_by_the_next() -> None:
    file = near.prepared_file(ADDRESS)
    assert file is not None
    listening(file).close()
    assert file.exists()
    assert near.near_location(ADDRESS) is None
    assert near.prepared_file("grpc://127.0.0.1:4712") is not None
    assert not file.exists()


def test_a_node_answers_at_its_address_and_at_its_file(server: FlightServer) -> None:
    found = near.near_location(server.address)
    assert found is not None
    assert found.startswith(near.SCHEME)
    action = flight.Action(HELD, encode_ticket("fleet", Range((), NOWHERE, NOWHERE, {})))
    for place in (server.address, found):
        with flight.FlightClient(place) as client:
            [told] = client.do_action(action)
        assert told.body.to_pybytes() == b"7"


def test_a_node_that_has_ended_leaves_no_file(server: FlightServer, parent: Path) -> None:
    assert list(parent.glob("*/*.sock"))
    server.shutdown()
    assert not list(parent.glob("*/*.sock"))
    assert near.near_location(server.address) is None
