"""A mobile client over real links, and as a real process that is killed while it publishes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.mobile_stub import StubGateway

from evenflow.access.keys import init_keys
from evenflow.errors import GatewayTimeout
from evenflow.mobile import Patience, connect, connect_async
from evenflow.mobile.client.disk import ClientDisk

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes

DOCS = Path(__file__).parents[2] / "docs" / "mobile.md"
NOBODY = "tls://127.0.0.1:1"
PUBLISHER = f"""
import sys
from evenflow.mobile import connect
client = connect({NOBODY!r}, node="car-7", token="t", trust=sys.executable, outbox=sys.argv[1],
                 timeout_s=0)
number = client.stats.kept
while True:
    client.publish(b"%d" % number)
    number += 1
    print(number, flush=True)
"""


def test_what_was_published_with_an_outbox_survives_kill_9(tmp_path: Path) -> None:
    promised = 0
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        wanted = promised + 50
        for line in child.stdout:
            promised = int(line)
            if promised >= wanted:
                break
        child.kill()
        # It may have published, and said so, until the moment of its death.
        promised = max([promised, *map(int, child.stdout.read().split())])
        child.stdout.close()
        child.wait()
        disk = ClientDisk(tmp_path, "car-7")
        kept = [int(item.payload) for item in disk.load().items]
        disk.close()
        assert kept == list(range(len(kept)))
        assert len(kept) in (promised, promised + 1), "on disk, and not yet said"
        promised = len(kept)


# -- over real links -------------------------------------------------------------------------------

SOON = Patience(first_s=0.01, backoff_s=0.05, most_backoff_s=0.2)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    init_keys(folder)
    return folder


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - what changes is inside the client
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("transport", ["quic", "tls"])
def test_items_messages_and_a_gateway_that_comes_back(keys: Path, transport: str) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start(f"{transport}://127.0.0.1:0")
        heard: list[bytes] = []
        async with await connect_async(
            address, node="car-7", token="t", trust=keys / "ca.pem", patience=SOON,
            on_message=lambda message: heard.append(message.payload),
        ) as car:  # fmt: skip
            for number in range(100):
                await car.publish(b"%d" % number)
            await car.flush(30)
            await gateway.message("car-7", 1)
            await until(lambda: bool(gateway.received))
            await gateway.stop()
            await until(lambda: not car.gateway)
            for number in range(100, 200):
                await car.publish(b"%d" % number)
            await gateway.start(address)
            await car.flush(30)
            await gateway.message("car-7", 1)
            await gateway.message("car-7", 2)
            await until(lambda: len(heard) == 2)
        assert gateway.items["car-7"] == [b"%d" % number for number in range(200)]
        assert heard == [b"1", b"2"]
        first, second = gateway.hellos
        assert second.connection > first.connection
        assert second.received == {"box": 1}
        await gateway.stop()

    asyncio.run(work())


def test_the_example_of_the_docs_runs(keys: Path, tmp_path: Path) -> None:
    section = DOCS.read_text(encoding="utf-8").partition("## The client library")[2]
    example = section.partition("```python\n")[2].partition("```")[0]

    async def work() -> str:
        gateway = StubGateway("north", keys)
        address = await gateway.start("quic://127.0.0.1:0")
        given = {"GATEWAYS": address, "TOKEN": "t", "TRUST": str(keys / "ca.pem")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", example, cwd=tmp_path, env={**os.environ, **given},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await asyncio.wait_for(process.communicate(), 60)
        await gateway.stop()
        assert len(gateway.items["car-7"]) == 10
        return said.decode()

    assert "safe=10" in asyncio.run(work())


def test_an_address_changes_under_the_same_session(keys: Path) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start("quic://127.0.0.1:0")
        async with await connect_async(
            address, node="car-7", token="t", trust=keys / "ca.pem", patience=SOON
        ) as car:
            for number in range(60):
                if number % 20 == 10:
                    assert await car.change_address("127.0.0.2" if number == 30 else "")
                await car.publish(b"%d" % number)
                await asyncio.sleep(0)
            await car.flush(30)
            assert car.stats.connections == 1
        assert gateway.items["car-7"] == [b"%d" % number for number in range(60)]
        assert gateway.listener is not None
        assert gateway.listener.counts.migrated >= 1
        assert len(gateway.hellos) == 1
        await gateway.stop()

    asyncio.run(work())


def test_a_second_address_serves_where_udp_is_blocked(keys: Path) -> None:
    async def work() -> None:
        gateway = StubGateway("north", keys)
        address = await gateway.start("tls://127.0.0.1:0")
        async with await connect_async(
            ["quic://127.0.0.1:9", address], node="car-7", token="t", trust=keys / "ca.pem"
        ) as car:
            await car.publish(b"1")
            await car.flush(30)
        await gateway.stop()

    asyncio.run(work())


def test_nobody_there_says_so_and_an_outbox_is_free_again(keys: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(GatewayTimeout, match=r"quic://127\.0\.0\.1:9"):
            connect(
                "quic://127.0.0.1:9", node="car-7", token="t", trust=keys / "ca.pem",
                outbox=tmp_path, timeout_s=0.5,
            )  # fmt: skip
