"""Gateways come and go by plans, as processes: with the load, and when somebody waits for one."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.integration.mobile_edge import Edge, until

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.domain.channels import GATEWAYS, Gone
from evenflow.mobile.mailbox.mailbox import Mailbox
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.mobile.poa.manager import PoaManager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.mobile.client.aio import AsyncClient
    from evenflow.model.messages import GatewayReport

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

CARS = 12
LOW, HIGH = 4.0, 8.0


class Fleet:
    """A mobile edge whose balancer starts and stops gateways."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self._reader = edge.participant.reader(GATEWAYS)
        self._reports: dict[str, GatewayReport] = {}

    @property
    def reports(self) -> dict[str, GatewayReport]:
        """What the gateways say that are there."""
        for message in self._reader.take():
            if isinstance(message, Gone):
                self._reports.pop(message.key[0], None)
            else:
                self._reports[message.gateway] = message
        return self._reports

    @property
    def nodes(self) -> dict[str, int]:
        """How many nodes each gateway has."""
        return {name: report.nodes for name, report in self.reports.items()}

    def told(self) -> list[str]:
        """Why plans of the fleet were made that are done, the newest first."""
        history = History(self.edge.config.history_file, keep=10_000, keep_octets=1 << 24)
        try:
            stories = history.stories(limit=100)
            done = [one for one in stories if one.outcome is PlanState.DONE]
            return [one.plan.reason for one in done if one.plan.plan_id.startswith("gateway-fleet")]
        finally:
            history.close()


@pytest.fixture
def fleet(tmp_path: Path, domain_id: int) -> Iterator[Fleet]:
    settings = {
        "balancer.settle_s": 0.5,
        "history.path": str(tmp_path / "history.db"),
        "monitor.period_s": 0.5,
        "monitor.heartbeat_s": 1.0,
        "monitor.ranges.mobile_nodes": [LOW, HIGH],
        "planners.gateways.planner": "poa",
        "planners.gateways.rest_s": 0.5,
        "planners.gateway-fleet.planner": "elastic-gateways",
        "planners.gateway-fleet.most": 2,
        "planners.gateway-fleet.full_s": 1.0,
        "planners.gateway-fleet.idle_s": 1.0,
        "planners.gateway-fleet.cooldown_s": 2.0,
    }
    edge = Edge(tmp_path, domain_id, **settings)
    edge.companions.append(PoaManager(edge.config.monitor.ranges))
    with edge:
        running = Fleet(edge)
        yield running
        for name, report in running.reports.items():
            if name not in edge.addresses:  # nobody else ends what a gateway has started
                os.kill(report.pid, signal.SIGKILL)


async def publish(client: AsyncClient, published: list[int], ended: asyncio.Event) -> None:
    while not ended.is_set():
        published.append(len(published))
        await client.publish(b"%d" % published[-1])
        await asyncio.sleep(0.05)
    await client.flush(30.0)


async def end(task: asyncio.Task[None], ended: asyncio.Event, client: AsyncClient) -> None:
    ended.set()
    await task
    await client.close()


async def _rise_and_fall(fleet: Fleet, messenger: Messenger) -> None:
    edge = fleet.edge
    nodes = [f"car-{number}" for number in range(CARS)]
    published: dict[str, list[int]] = {node: [] for node in nodes}
    got: dict[str, list[int]] = {node: [] for node in nodes}
    running = {}
    for node in nodes:
        client = await edge.connect(
            node, on_message=lambda message, node=node: got[node].append(int(message.payload))
        )
        ended = asyncio.Event()
        task = asyncio.create_task(publish(client, published[node], ended))
        running[node] = (task, ended, client)
    sent = [messenger.submit(b"0", to=nodes, timeout_s=60.0)]
    half = {"g1": CARS // 2, "g1+1": CARS // 2}
    await until(lambda: fleet.nodes == half, "a second one starts and has its share", 40.0)
    sent.append(messenger.submit(b"1", to=nodes, timeout_s=60.0))
    await until(lambda: all(len(got[node]) == 2 for node in nodes), "messages arrive")
    staying = nodes[:3]
    for node in nodes[3:]:
        await end(*running.pop(node))
    await until(lambda: fleet.nodes == {"g1": 3}, "it has drained and ended", 60.0)
    sent.append(messenger.submit(b"2", to=staying, timeout_s=60.0))
    await until(lambda: all(len(got[node]) == 3 for node in staying), "messages arrive")
    for node in staying:
        await end(*running.pop(node))
    for future in sent:
        await asyncio.wrap_future(future)
    arrived = lambda: all(len(edge.items[node]) >= len(published[node]) for node in nodes)  # noqa: E731
    await until(arrived, "items arrive", 30.0)
    await asyncio.sleep(1.0)
    assert {node: edge.items[node] for node in nodes} == published, "none lost, none twice"
    assert got == {node: [0, 1, 2] if node in staying else [0, 1] for node in nodes}
    assert fleet.told() == [
        "g1+1 is empty",
        "2 gateways are too many, g1+1 has the least to do",
        "1 gateway is too few",
    ]


def test_a_gateway_is_started_when_load_rises_and_stopped_when_it_falls(fleet: Fleet) -> None:
    edge = fleet.edge
    edge.start("g1")
    edge.enter(Mailbox("m1", config=edge.config, participant=edge.participant))
    messenger = edge.enter(Messenger("op", config=edge.config, participant=edge.participant))
    asyncio.run(_rise_and_fall(fleet, messenger))
    assert (edge.config.gateway_folder / "g1+1" / "ended").exists()


async def _kill_the_started_one(fleet: Fleet) -> None:
    edge = fleet.edge
    nodes = [f"car-{number}" for number in range(10)]
    published: dict[str, list[int]] = {node: [] for node in nodes}
    running = {}
    for node in nodes:
        client, ended = await edge.connect(node), asyncio.Event()
        task = asyncio.create_task(publish(client, published[node], ended))
        running[node] = (task, ended, client)
    await until(lambda: fleet.nodes == {"g1": 5, "g1+1": 5}, "a second one has its share", 40.0)
    first = fleet.reports["g1+1"].pid
    os.kill(first, signal.SIGKILL)
    back = lambda: fleet.reports.get("g1+1", fleet.reports["g1"]).pid not in (  # noqa: E731
        first, fleet.reports["g1"].pid
    )  # fmt: skip
    await until(back, "it is started again, on its disk", 60.0)
    await until(lambda: fleet.nodes == {"g1": 5, "g1+1": 5}, "and has its share again", 60.0)
    for node in nodes:
        await end(*running.pop(node))
    arrived = lambda: all(len(edge.items[node]) >= len(published[node]) for node in nodes)  # noqa: E731
    await until(arrived, "items arrive", 30.0)
    await asyncio.sleep(1.0)
    assert {node: edge.items[node] for node in nodes} == published, "none lost, none twice"


def test_a_started_gateway_that_is_killed_is_started_again_on_its_disk(fleet: Fleet) -> None:
    fleet.edge.start("g1")
    asyncio.run(_kill_the_started_one(fleet))
