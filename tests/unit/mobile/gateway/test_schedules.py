"""Clients, gateways and a mailbox under random schedules: everything once, everything in order."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.mobile.gateway import events
from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.testing.mobile.cluster import MobileCluster
from evenflow.testing.mobile.schedules import mobile_schedule

SEEDS = 40 if settings.default.max_examples > 50 else 8
"""``make test`` runs more than ``make unit``."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_when_all_is_quiet_everything_came_once_and_in_order(seed):
    mobile_schedule(seed)


def test_a_handover_of_all_nodes_moves_them_without_a_gap_in_what_they_send():
    cluster = MobileCluster(5, GatewaySettings())
    cluster.time.calm = True
    cluster.time.run(5.0)
    for number in range(100):
        for client in cluster.clients.values():
            client.publish("items", b"%d" % number)
        cluster.time.run(cluster.now + 0.01)
        if number == 50:
            for name, gateway in cluster.gateways.items():
                others = [one.address for one in cluster.gateways.values() if one.name != name]
                order = events.HandoverOrder(
                    "p/a/1", tuple(cluster.clients), tuple(others), 5.0, True, 0.0
                )
                gateway.tell(order)
    cluster.settle()
    moved = [one for client in cluster.clients.values() for one in client.moved]
    assert [one.ok for one in moved] == [True] * len(cluster.clients)
    receipts = [one for gateway in cluster.gateways.values() for one in gateway.receipts if one.ok]
    assert len(receipts) == len(cluster.clients)
    assert {(one.lost, one.repeated) for one in receipts} == {(0, 0)}


def test_a_given_up_gateway_holds_nobody_up():
    """Its unsettled items are sent again; nothing is lost, and order is kept."""
    cluster = MobileCluster(7, GatewaySettings(), clients=1, gateways=2)
    cluster.time.calm = True
    cluster.time.run(5.0)
    (client,) = cluster.clients.values()
    first = next(one for one in cluster.gateways.values() if one.core and one.core.sessions.clients)
    other = next(one for one in cluster.gateways.values() if one is not first)
    client.publish("items", b"unsettled")
    first.kill()
    cluster.time.run(15.0)
    client.publish("items", b"after")
    cluster.time.run(25.0)
    assert client.core is not None
    assert client.core.buffer.items == 2
    other.tell(events.Forget(first.name))
    cluster.time.run(40.0)
    assert client.core.buffer.items == 0
    assert [one for _, one in cluster.accepted["car-1", "items"]] == [b"unsettled", b"after"]
