"""Simulated vehicles as real clients: what they publish arrives, through dead spots and moves."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from tests.integration.mobile_stub import StubGateway

from evenflow.access.keys import init_keys
from evenflow.errors import ConfigError
from evenflow.fleet.mobile_fleet import MobileFleet
from evenflow.fleet.mobile_processes import FleetProcesses
from evenflow.fleet.tour import Tour
from evenflow.mobile.link.connection import Trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    init_keys(folder)
    return folder


def tour(keys: Path, address: str, **more: object) -> Tour:
    return Tour((address,), "token", Trust(str(keys / "ca.pem")), **more)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what changes is inside the client
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("transport", ["quic", "tls"])
def test_reports_arrive_once_through_a_dead_spot_of_all(keys: Path, transport: str) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start(f"{transport}://127.0.0.1:0")
        fleet = MobileFleet(tour(keys, address, count=10, rate_hz=20.0, first=5))
        await fleet.attach()
        assert fleet.books().gateways == {"north": 10}
        fleet.drive()
        await until(lambda: len(gateway.items.get("vehicle-014", [])) >= 3)
        await fleet.dead_spot(0.2)
        await until(lambda: len(gateway.hellos) == 20)
        await fleet.park()
        assert await fleet.flush(30)
        books = fleet.books()
        await fleet.close(1)
        await gateway.stop()
        assert books.kept == 0
        assert books.safe == books.published
        assert books.dead_spots == books.lost == 10
        assert len(books.delays_ms) > 0
        assert len(books.gaps_ms) == 10
        for items in gateway.items.values():
            numbers = [json.loads(item)["n"] for item in items]
            assert numbers == list(range(1, len(numbers) + 1))

    asyncio.run(work())


def test_addresses_change_under_the_same_connections(keys: Path) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start("quic://127.0.0.1:0")
        roaming = tour(keys, address, count=5, rate_hz=20.0, address_changes_per_min=400.0)
        fleet = MobileFleet(roaming)
        await fleet.attach()
        fleet.drive()
        await until(lambda: gateway.listener is not None and gateway.listener.counts.migrated > 2)
        await fleet.park()
        assert await fleet.flush(30)
        books = fleet.books()
        await fleet.close(1)
        await gateway.stop()
        assert books.address_changes > 2
        assert books.connections == 5
        assert books.safe == books.published

    asyncio.run(work())


def test_a_fleet_that_is_refused_says_why(keys: Path) -> None:
    nowhere = Tour(("quic://127.0.0.1:9",), "token", Trust("nowhere.pem"), count=3)
    with FleetProcesses(nowhere, 1) as fleet, pytest.raises(ConfigError, match="trust"):
        fleet.ask("attach")


def test_vehicles_are_shared_out_among_processes(keys: Path) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start("quic://127.0.0.1:0")

        def parent() -> None:
            with FleetProcesses(tour(keys, address, count=5, rate_hz=10.0), 2) as fleet:
                assert fleet.ask("attach").attached == 5
                fleet.ask("drive")
                while fleet.ask("books").published < 20:
                    pass
                fleet.ask("park")
                books = fleet.ask("flush", 30.0)
                fleet.ask("close", 1.0)
                assert (books.vehicles, books.kept) == (5, 0)

        await asyncio.to_thread(parent)
        await gateway.stop()
        assert {hello.node for hello in gateway.hellos} == {f"vehicle-00{n}" for n in range(1, 6)}

    asyncio.run(work())
