"""The PoA-Manager with real processes: gateways become even; revocations reach their doors."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenflow.access.keys import init_keys
from evenflow.access.revocation import FILE, Revocations, read_revoked, write_revoked
from evenflow.config import Config
from evenflow.domain.channels import GATEWAYS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.mobile import AsyncClient, connect_async
from evenflow.processes import LocalCluster, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]

NODES = 40


class Edge:
    """A balancer, gateways, and the clients of one loop."""

    def __init__(self, cluster: LocalCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.file = folder / "evenflow.toml"
        self.file.write_text(cluster.config.as_toml(), encoding="utf-8")
        self.token = self.evenflow("token", "issue", "car-*", "--publish", "items").split()[-1]
        self.addresses: dict[str, str] = {}
        self.participant = Participant(cluster.config.domain)
        self._reader = self.participant.reader(GATEWAYS)
        self._nodes: dict[str, int] = {}

    def evenflow(self, *arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "evenflow", *arguments, "--config", str(self.file)],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return ran.stdout

    def start(self, name: str) -> None:
        self.cluster.start(name, ["gateway", "--name", name, "--listen", "quic://127.0.0.1:0"])
        said = lambda: re.search(r"listens at (\S+)", self.cluster.log(name))  # noqa: E731
        assert wait_until(said, 30), self.cluster.log(name)
        found = said()
        assert found
        self.addresses[name] = found.group(1)

    @property
    def nodes(self) -> dict[str, int]:
        for report in self._reader.take():
            if not isinstance(report, Gone):
                self._nodes[report.gateway] = report.nodes
        return dict(self._nodes)


@pytest.fixture
def edge(domain_id: int, tmp_path: Path) -> Iterator[Edge]:
    config = Config.load(
        None,
        {
            "domain.id": domain_id,
            "access.dir": str(tmp_path / "keys"),
            "gateway.state_dir": str(tmp_path / "gateways"),
            "balancer.settle_s": 0.5,
            "history.path": str(tmp_path / "history.db"),
            "monitor.period_s": 0.5,
            "planners.gateways.planner": "poa",
            "planners.gateways.rest_s": 0.5,
            "planners.gateways.pace_per_s": 0,
        },
    )
    init_keys(tmp_path / "keys")
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        made = Edge(cluster, tmp_path)
        yield made
        made.participant.close()


@pytest.fixture
def background() -> Iterator[Callable[..., object]]:
    """Run coroutines on a loop beside the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(90)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_new_gateway_gets_its_share_and_a_drained_one_gives_all(
    edge: Edge, background: Callable[..., object], eventually: Callable[..., None]
) -> None:
    clients: list[AsyncClient] = []

    async def attach() -> None:
        trust = edge.folder / "keys" / "ca.pem"
        clients.extend(
            await asyncio.gather(
                *(
                    connect_async(
                        edge.addresses["g1"], node=f"car-{number}", token=edge.token, trust=trust
                    )
                    for number in range(NODES)
                )
            )
        )

    async def leave() -> None:
        await asyncio.gather(*(client.close() for client in clients))

    edge.cluster.start_balancer()
    edge.start("g1")
    background(attach())
    eventually(lambda: edge.nodes.get("g1") == NODES, "all at the first")
    edge.start("g2")
    eventually(
        lambda: edge.nodes == {"g1": NODES // 2, "g2": NODES // 2}, "half at each", timeout_s=40
    )
    time.sleep(3)  # nobody goes to and fro
    assert edge.nodes == {"g1": NODES // 2, "g2": NODES // 2}
    edge.evenflow("gateways", "drain", "g1")
    eventually(lambda: edge.nodes == {"g1": 0, "g2": NODES}, "all at the second", timeout_s=40)
    told = edge.evenflow("history")
    assert f"{NODES // 2} nodes from g1 to g2" in told
    background(leave())


def test_a_revocation_reaches_the_doors_of_the_domain(
    domain_id: int, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Each door has a folder of its own; one that comes later hears it from those there."""
    config = Config.load(None, {"domain.id": domain_id})
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    first, second, third = "1" * 16, "2" * 16, "3" * 16
    expires = time.time() + 1_000
    with Participant(config.domain) as one, Participant(config.domain) as two:
        door, other = Revocations(folders[0], one), Revocations(folders[1], two)
        write_revoked(folders[0] / FILE, {first: expires})

        def both_know(*ids: str) -> Callable[[], bool]:
            def look() -> bool:
                for one in (door, other):
                    one.refresh()
                    one.pass_on()
                return all(id in door and id in other for id in ids)

            return look

        eventually(both_know(first), "what stands in one door's file")
        write_revoked(folders[1] / FILE, {**read_revoked(folders[1] / FILE), second: expires})
        eventually(both_know(first, second), "and in the other's")
        assert first in read_revoked(folders[1] / FILE), "it outlives the door"
        with Participant(config.domain) as late:
            newcomer = Revocations(folders[2], late)

            def knows() -> bool:
                newcomer.refresh()
                return first in newcomer and second in newcomer and third not in newcomer

            eventually(knows, "who comes later")


def test_revoking_ends_a_live_connection(
    edge: Edge, background: Callable[..., object], eventually: Callable[..., None]
) -> None:
    edge.start("g1")
    client: list[AsyncClient] = []

    async def attach() -> None:
        trust = edge.folder / "keys" / "ca.pem"
        client.append(
            await connect_async(edge.addresses["g1"], node="car-1", token=edge.token, trust=trust)
        )

    background(attach())
    eventually(lambda: edge.nodes.get("g1") == 1, "attached")
    assert "is revoked" in edge.evenflow("token", "revoke", "car-*")
    eventually(lambda: edge.nodes.get("g1") == 0, "refused", timeout_s=10)
    background(client[0].close())
