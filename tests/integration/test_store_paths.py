"""Real brokers, sockets and disks, with a path between two of them that can be cut.

The cut is made where a broker takes messages from its connections, so it needs no rights: what
comes from the other side is dropped, and no connection to it can be made.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.overlay.broker.broker import Broker
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes, geographic_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evenflow.overlay.protocol.connection import Connection
    from evenflow.overlay.protocol.messages import Member

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

PLACES = {
    "b0": Coordinate(0.2, 0.3), "b1": Coordinate(0.7, 0.2), "b2": Coordinate(0.5, 0.6),
    "b3": Coordinate(0.15, 0.8), "b4": Coordinate(0.85, 0.75),
}  # fmt: skip


class CuttableBroker(Broker):
    """A broker that may be deaf to others."""

    deaf_to: frozenset[str] = frozenset()

    def _on_message(self, connection: Connection, message: Any) -> None:
        if connection.peer not in self.deaf_to:
            super()._on_message(connection, message)

    def _link(self, connection: Connection, member: Member) -> None:
        if member.name in self.deaf_to:
            connection.close()
        else:
            super()._link(connection, member)


async def started(folder: Path) -> dict[str, CuttableBroker]:
    brokers: dict[str, CuttableBroker] = {}
    for name, place in PLACES.items():
        contacts = [broker.address for broker in brokers.values()][:2]
        settings = Settings(silence_s=1.0, lease_s=0.5)
        brokers[name] = CuttableBroker(
            name, place, listen="127.0.0.1:0", data=folder, contacts=contacts, settings=settings
        )
        await brokers[name].start()
    await until(lambda: all(len(b.core.members.living) == len(PLACES) for b in brokers.values()))
    return brokers


async def until(reached: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = asyncio.get_running_loop().time() + 30
    while not reached():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("both", [True, False])
def test_a_broken_path_between_the_brokers_of_a_topic_loses_and_repeats_nothing(
    tmp_path: Path, both: bool
) -> None:
    asyncio.run(cut_and_check(tmp_path, both=both))


async def cut_and_check(folder: Path, *, both: bool) -> None:
    brokers = await started(folder)
    one, other = closest_nodes(geographic_hash("meters"), PLACES, 2)
    count = 0
    async with AsyncClient([b.address for b in brokers.values()], timeout_s=40) as client:
        for _ in range(3):
            for _ in range(20):
                count += 1
                await client.publish("meters", b"%d" % count)
            brokers[one].deaf_to = frozenset({other})
            brokers[other].deaf_to = frozenset({one}) if both else frozenset()
            end = asyncio.get_running_loop().time() + 4
            while asyncio.get_running_loop().time() < end:
                count += 1
                await client.publish("meters", b"%d" % count)
                await asyncio.sleep(0.02)
            for name in (one, other):
                brokers[name].deaf_to = frozenset()
            await asyncio.sleep(1)
        found = [int(message.payload) async for message in client.read("meters")]
    for broker in brokers.values():
        await broker.close()
    assert found == list(range(1, count + 1))


class DiallingBroker(Broker):
    """A broker that counts how often it tried to reach another."""

    dialled = 0

    async def _dial(self, address: str) -> None:
        await super()._dial(address)
        self.dialled += 1


def test_a_broker_that_starts_before_its_contact_joins_it_later(tmp_path: Path) -> None:
    asyncio.run(start_the_contact_late(tmp_path))


async def start_the_contact_late(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        contact = f"127.0.0.1:{free.getsockname()[1]}"
    early = DiallingBroker(
        "b0", PLACES["b0"], listen="127.0.0.1:0", data=folder, contacts=[contact]
    )
    late = Broker("b1", PLACES["b1"], listen=contact, data=folder)
    async with early:
        await until(lambda: early.dialled > 0)
        assert set(early.core.members.living) == {"b0"}
        async with late:
            await until(lambda: all(len(b.core.members.living) == 2 for b in (early, late)))


@contextlib.contextmanager
def swallowing() -> Iterator[str]:
    """An address at which nobody answers: the system drops what asks for a connection."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        yield f"127.0.0.1:{full.getsockname()[1]}"


@contextlib.contextmanager
def standing_still() -> Iterator[str]:
    """An address at which connections are made, and nobody says a word."""
    with socket.socket() as quiet:
        quiet.bind(("127.0.0.1", 0))
        quiet.listen(64)
        yield f"127.0.0.1:{quiet.getsockname()[1]}"


def test_a_client_leaves_a_broker_that_it_cannot_reach_or_that_stands_still(
    tmp_path: Path,
) -> None:
    asyncio.run(publish_past_the_dumb(tmp_path))


async def publish_past_the_dumb(folder: Path) -> None:
    broker = Broker("b0", PLACES["b0"], listen="127.0.0.1:0", data=folder)
    with swallowing() as nowhere, standing_still() as nobody:
        async with broker, contextlib.AsyncExitStack() as clients:
            addresses = [nowhere, nobody, broker.address]
            made = [AsyncClient(addresses, timeout_s=12) for _ in range(8)]  # each begins anywhere
            for client in made:
                await clients.enter_async_context(client)
            await asyncio.gather(*(one.publish("meters", b"x", level=1) for one in made))


def test_a_broker_gives_up_a_call_that_a_path_swallows(tmp_path: Path) -> None:
    asyncio.run(dial_nowhere(tmp_path))


async def dial_nowhere(folder: Path) -> None:
    with swallowing() as nowhere:
        caller = DiallingBroker(
            "b0", PLACES["b0"], listen="127.0.0.1:0", data=folder, contacts=[nowhere],
            settings=Settings(silence_s=1.0),
        )  # fmt: skip
        async with caller:
            await until(lambda: caller.dialled > 1)
