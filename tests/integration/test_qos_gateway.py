"""A gateway whose topic is thinned: what its clients see, and what arrives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.integration.mobile_edge import Edge, until

from evenflow.autonomic.rates.orders import SEPARATE, SeparateArgs
from evenflow.domain.channels import ACTION_OUTCOMES, ACTION_PLANS, SEPARATIONS
from evenflow.model.messages import ActionOrder, SeparationReport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

LONG_S = 3_600.0
NODES = [f"car-{number}" for number in range(4)]
COUNT = 100
GATEWAYS = ("g1", "g2")


@pytest.fixture
def edge(tmp_path: Path, domain_id: int) -> Iterator[Edge]:
    settings = {"topics.items.thin": "source", "qos.report_s": 0.1}
    with Edge(tmp_path, domain_id, **settings) as edge:
        for name in GATEWAYS:
            edge.start(name)
        yield edge


class Controller:
    """Orders separations of every gateway, and sees what is in effect there."""

    def __init__(self, edge: Edge) -> None:
        self._reports = edge.participant.reader(SEPARATIONS)
        self._outcomes = edge.participant.reader(ACTION_OUTCOMES)
        self._participant = edge.participant
        self.seen: dict[str, SeparationReport] = {}
        self._orders = 0

    def look(self) -> dict[str, SeparationReport]:
        for message in self._reports.take():
            if isinstance(message, SeparationReport) and message.policy:
                self.seen[message.process] = message
            else:
                self.seen.pop(message.process if hasattr(message, "process") else message.key[1], 0)
        return self.seen

    async def order(self, separation_s: float) -> None:
        self._orders += 1
        args = msgspec.json.encode(SeparateArgs("items", separation_s, LONG_S))
        for process in self.look():
            order: Any = ActionOrder(f"p{self._orders}", process, 1, process, SEPARATE, args, False)
            writer = self._participant.writer(ACTION_PLANS, process)
            await until(writer.matched, "the station listens")
            writer.write(order)

        def obeyed() -> bool:
            return all(one.separation_s == separation_s for one in self.look().values())

        await until(obeyed, "all gateways obey")

    def thinned(self) -> int:
        return sum(one.thinned for one in self.look().values())


async def publish(clients: dict[str, Any], numbers: range) -> None:
    for number in numbers:
        for client in clients.values():
            await client.publish(b"%d" % number)
        await asyncio.sleep(0.005)
    for client in clients.values():
        await client.flush(30.0)


def test_clients_of_a_gateway_that_thins_are_told_safe_and_what_passes_arrives_once(
    edge: Edge,
) -> None:
    """Of each sender one item in a separation; a gateway is killed and its nodes go elsewhere."""
    asyncio.run(_thin_and_kill(edge))


async def _thin_and_kill(edge: Edge) -> None:
    controller = Controller(edge)
    await until(lambda: len(controller.look()) == len(GATEWAYS), "gateways take part")
    clients = {
        node: await edge.connect(node, GATEWAYS[number % 2]) for number, node in enumerate(NODES)
    }
    await publish(clients, range(COUNT))
    await until(lambda: all(len(edge.items[node]) == COUNT for node in NODES), "at full rate: all")
    assert controller.thinned() == 0

    await controller.order(LONG_S)
    await publish(clients, range(COUNT, 2 * COUNT))
    offered = len(NODES) * COUNT
    # Everything is safe, though of each sender the first alone was let through.
    assert all(client.kept == 0 for client in clients.values())
    await until(lambda: controller.thinned() == offered - len(NODES), "the rest is left out")
    await until(lambda: all(len(edge.items[node]) == COUNT + 1 for node in NODES), "the firsts")

    # The other gateway has let through nothing of these senders: one more of each.
    await asyncio.to_thread(edge.cluster.kill, "g1")
    await until(lambda: all(client.gateway == "g2" for client in clients.values()), "at g2")
    await publish(clients, range(2 * COUNT, 3 * COUNT))
    moved = {node for number, node in enumerate(NODES) if number % 2 == 0}
    arrived = {node: COUNT + 1 + (node in moved) for node in NODES}
    await until(lambda: {n: len(edge.items[n]) for n in NODES} == arrived, "one more of the moved")
    assert all(client.kept == 0 for client in clients.values())

    await controller.order(0.0)
    await publish(clients, range(3 * COUNT, 4 * COUNT))
    arrived = {node: count + COUNT for node, count in arrived.items()}
    await until(lambda: {n: len(edge.items[n]) for n in NODES} == arrived, "full rate again")
    for node in NODES:
        assert edge.items[node] == sorted(set(edge.items[node])), "in order, and once"
    for client in clients.values():
        await client.close()
