"""Gateways as processes: killed, cut off, flooded with rubbish, and told whom to refuse."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import ssl
import time
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest
from tests.integration.mobile_edge import SCHEME, Edge, until

from evenflow.access.revocation import FILE, write_revoked
from evenflow.errors import NodeRefused
from evenflow.mobile.link.connection import SERVER_NAME
from evenflow.mobile.mailbox.mailbox import Mailbox
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.processes import free_ports, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.mobile.client.aio import AsyncClient

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

LOG = logging.getLogger(__name__)
FRAMES = int(os.environ.get("EVENFLOW_TEST_FRAMES", "4000"))
NODES = int(os.environ.get("EVENFLOW_TEST_NODES", "9"))
"""Damaged frames at a gateway; 100,000 take some minutes."""


@pytest.fixture
def edge(tmp_path: Path, domain_id: int) -> Iterator[Edge]:
    with Edge(tmp_path, domain_id) as edge:
        yield edge


async def publish(client: AsyncClient, numbers: range, pause_s: float) -> None:
    for number in numbers:
        await client.publish(b"%d" % number)
        await asyncio.sleep(pause_s)


def test_a_gateway_that_is_killed_under_load_loses_and_repeats_nothing(edge: Edge) -> None:
    """Up and down; its nodes are back within 5 s, and it is started again as a supervisor would."""
    for name in ("g1", "g2", "g3"):
        edge.start(name)
    edge.enter(Mailbox("m1", config=edge.config, participant=edge.participant))
    messenger = edge.enter(Messenger("op", config=edge.config, participant=edge.participant))
    asyncio.run(_kill_one_of_three(edge, messenger))


async def _kill_one_of_three(edge: Edge, messenger: Messenger) -> None:
    nodes = [f"car-{number}" for number in range(NODES)]
    got: dict[str, list[int]] = {node: [] for node in nodes}
    clients = {}
    for number, node in enumerate(nodes):
        clients[node] = await edge.connect(
            node,
            f"g{1 + number % 3}",
            on_message=lambda message, node=node: got[node].append(int(message.payload)),
        )
    victims = [node for node in nodes if clients[node].gateway == "g2"]
    assert victims
    count = 150
    load = [asyncio.create_task(publish(clients[node], range(count), 0.03)) for node in nodes]
    sent = []
    for number in range(20):
        sent.append(messenger.submit(b"%d" % number, to=nodes, timeout_s=60.0))
        await asyncio.sleep(0.03)
    killed = time.monotonic()
    edge.cluster.kill("g2")
    for number in range(20, 40):
        sent.append(messenger.submit(b"%d" % number, to=nodes, timeout_s=60.0))
        await asyncio.sleep(0.03)
    others = {"g1", "g3"}
    await until(lambda: {clients[node].gateway for node in victims} <= others, "all are back", 30.0)
    back_s = time.monotonic() - killed
    LOG.info("%d nodes of the killed gateway are back after %.2f s", len(victims), back_s)
    await asyncio.sleep(max(0.0, killed + 2.0 - time.monotonic()))
    await asyncio.to_thread(edge.start, "g2")
    await asyncio.gather(*load)
    for client in clients.values():
        await client.flush(30.0)
    for future in sent:
        await asyncio.wrap_future(future)
    numbers = list(range(count))
    await until(lambda: all(len(edge.items[node]) >= count for node in nodes), "items arrive", 30.0)
    await until(lambda: all(len(got[node]) >= 40 for node in nodes), "messages arrive", 40.0)
    await asyncio.sleep(1.0)
    assert {node: edge.items[node] for node in nodes} == dict.fromkeys(nodes, numbers)
    assert got == {node: list(range(40)) for node in nodes}
    for client in clients.values():
        await client.close()


def test_revoking_a_token_ends_a_live_connection_within_seconds(edge: Edge) -> None:
    edge.start("g1")

    async def revoke() -> None:
        token_id = "0123456789abcdef"
        bad = await edge.connect("car-1", token=edge.token("car-1", token_id))
        good = await edge.connect("car-2")
        write_revoked(edge.folder / "keys" / FILE, {token_id: time.time() + 3_600})
        await until(lambda: not bad.gateway, "the connection is ended", 5.0)
        with pytest.raises(NodeRefused, match="revoked"):
            await bad.flush(5.0) if bad.kept else await bad.publish(b"1")
        await good.publish(b"2")
        await good.flush(5.0)
        with pytest.raises(NodeRefused, match="the token is for car-2, not for car-3"):
            await edge.connect("car-3", token=edge.token("car-2"))
        await good.close()

    asyncio.run(revoke())
    assert wait_until(lambda: edge.items["car-2"] == [2], 10.0)


def test_a_second_gateway_of_the_same_name_is_refused_in_words(edge: Edge) -> None:
    """Whether it has the folder of the first, or one of its own."""
    edge.start("g1")
    pid = edge.cluster.processes["g1"].pid
    for folder in (edge.folder / "gateways", edge.folder / "others"):
        words = ["--listen", "tls://127.0.0.1:0", "--set", f"gateway.state_dir={folder}"]
        other = edge.cluster.start("twin", ["gateway", "--name", "g1", *words])
        assert other.wait(20.0) == 2
        told = " ".join(edge.log("twin").split())
        assert f"a gateway called g1 is running already, as process {pid} of" in told
        assert "stop that one first, or start this one under another name" in told
        assert "listens at" not in told


def test_listing_draining_and_giving_up(edge: Edge) -> None:
    edge.start("g1")
    edge.start("g2")
    cluster = edge.cluster

    def command(*words: str) -> str:
        name = "-".join(words)
        cluster.start(name, words).wait(30.0)
        return cluster.log(name)

    async def move() -> None:
        client = await edge.connect("car-1", "g1")
        assert client.gateway == "g1"
        assert '"nodes": 1' in await asyncio.to_thread(command, "gateways", "--json")
        said = await asyncio.to_thread(command, "gateways", "drain", "g1")
        assert "told to go to other gateways" in said
        await until(lambda: client.gateway == "g2", "the node has gone to g2", 10.0)
        await client.publish(b"1")
        await client.flush(10.0)
        await client.close()

    asyncio.run(move())
    assert "(draining)" in command("gateways")
    assert "g2 is running: stop it first" in command("gateways", "forget", "g2")
    assert "is not running in this domain" in command("gateways", "drain", "g7")
    edge.cluster.stop("g2")
    assert "is given up" in command("gateways", "forget", "g2")


def test_a_gateway_serves_others_while_rubbish_comes(edge: Edge) -> None:
    """Random and mutated frames, over TLS; the memory in use stays the same."""
    own, port = free_ports(2)
    edge.addresses["g1"] = f"{SCHEME}://127.0.0.1:{own}"
    edge.cluster.start(
        "g1",
        ["gateway", "--name", "g1", "--listen", edge.addresses["g1"],
         "--listen", f"tls://127.0.0.1:{port}"],
    )  # fmt: skip
    assert wait_until(lambda: "listens at" in edge.log("g1"), 30.0)
    process = psutil.Process(edge.cluster.processes["g1"].pid)

    async def flood() -> tuple[int, int]:
        client = await edge.connect("car-1")
        good = asyncio.create_task(publish(client, range(100), 0.05))
        await _rubbish(edge, port, FRAMES // 10)
        before = process.memory_info().rss
        await _rubbish(edge, port, FRAMES)
        after = process.memory_info().rss
        await good
        await client.flush(10.0)
        assert client.stats.lost == 0
        await client.close()
        return before, after

    before, after = asyncio.run(flood())
    assert after - before < 32 << 20
    assert wait_until(lambda: edge.items["car-1"] == list(range(100)), 20.0)


async def _rubbish(edge: Edge, port: int, frames: int) -> None:
    chance = random.Random(7)
    context = ssl.create_default_context(cafile=str(edge.folder / "keys" / "ca.pem"))
    token = edge.token("bad-*")
    run = "0123456789abcdef"
    left = frames
    connection = time.time_ns() // 1_000
    while left > 0:
        connection += 1
        hello = ["hello", token, f"bad-{chance.randrange(5)}", run, connection, {}, None, {}]
        good = [
            hello,
            ["items", "items", 1, [1], [b"7"]],
            ["settle", "g9", "items"],
            ["received", "m1", 5],
            ["attributes", {"a": 1}],
            ["position", [1.0, 2.0]],
            ["outcome", "g9 x", True, "", 1.0, 0, {}],
        ]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=SERVER_NAME
        )
        batch = [hello] if chance.random() < 0.7 else []
        batch += [_mutated(chance.choice(good), chance) for _ in range(chance.randrange(1, 30))]
        wire = b""
        for frame in batch:
            body = msgspec.msgpack.encode(frame)
            if chance.random() < 0.1:
                place = chance.randrange(len(body))
                body = body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]
            size = len(body) if chance.random() < 0.97 else chance.randrange(1 << 32)
            wire += size.to_bytes(4, "big") + body
        writer.write(wire)
        left -= len(batch)
        try:
            await writer.drain()
            await asyncio.wait_for(reader.read(1 << 16), 0.05)
        except (OSError, TimeoutError):
            pass
        writer.transport.abort()


def _mutated(frame: list[object], chance: random.Random) -> list[object]:
    frame = list(frame)
    if chance.random() < 0.3:
        place = chance.randrange(len(frame))
        frame[place] = chance.choice([None, -1, "x" * 2_000, b"\xff" * 100, [], {}, 1 << 60, 1.5])
    return frame
