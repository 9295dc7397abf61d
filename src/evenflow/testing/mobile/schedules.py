"""Random schedules of a mobile edge: links and paths break, processes stop and die, disks stay.

At the end everything is whole again. Then every item was accepted exactly once and in order for
each node and topic, and every message handled exactly once and in order.

A range of seeds by one command: ``python -m evenflow.testing.mobile.schedules FIRST COUNT``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evenflow.mobile.gateway import events
from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.testing.mobile.cluster import MobileCluster
from evenflow.testing.mobile.gateway import TOPICS
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.testing.mobile.client import SimClient
    from evenflow.testing.mobile.gateway import SimGateway
    from evenflow.testing.mobile.mailbox import SimMailbox


def mobile_schedule(seed: int, steps: int = 150) -> MobileCluster:
    """Run one schedule."""
    tight = seed % 3 == 0
    settings = GatewaySettings(
        in_flight_bytes=1_024 if tight else 1 << 20,
        buffer_bytes=2_000 if tight else 1 << 20,
        unit_bytes=600 if tight else 1 << 20,
        mail_bytes=700 if tight else 1 << 18,
        leave_s=3.0,
        hello_s=2.0,
    )
    cluster = MobileCluster(seed, settings, encoded=seed % 5 == 0)
    faults = cluster.random.choice([0.03, 0.1, 0.25])
    for _ in range(steps):
        choice = cluster.random.random()
        if choice < faults:
            cluster.random.choice(FAULTS)(cluster)
        elif choice < 0.6:
            _publish(cluster)
        elif choice < 0.7:
            _send(cluster)
        elif choice < 0.73:
            _hand_over(cluster)
        else:
            pause = cluster.random.choice([0.001, 0.02, 0.02, 0.3, 2.0])
            cluster.time.run(cluster.now + pause)
    cluster.settle()
    return cluster


def _publish(cluster: MobileCluster) -> None:
    client = cluster.random.choice(list(cluster.clients.values()))
    for _ in range(cluster.random.choice([1, 1, 3])):
        topic = cluster.random.choice(TOPICS)
        number = len(client.published.get(topic, ()))
        size = cluster.random.choice([10, 10, 400])
        client.publish(topic, f"{client.name}/{topic}/{number}".encode().ljust(size))


def _send(cluster: MobileCluster) -> None:
    names = list(cluster.clients)
    nodes = tuple(cluster.random.sample(names, cluster.random.randint(1, len(names))))
    cluster.mailbox.send(nodes, b"x" * cluster.random.choice([1, 300]))


def _hand_over(cluster: MobileCluster) -> None:
    gateway = cluster.random.choice(list(cluster.gateways.values()))
    others = [one.address for one in cluster.gateways.values() if one is not gateway]
    cluster.random.shuffle(others)
    if gateway.alive and not gateway.stopped:
        order = events.HandoverOrder(
            f"p/{cluster.now:.6f}/1",
            tuple(cluster.clients),
            tuple(others),
            5.0,
            make_before_break=cluster.random.random() < 0.6,
            pace_per_s=cluster.random.choice([0.0, 10.0]),
        )
        gateway.tell(order)


# -- faults ----------------------------------------------------------------------------------------


def _cut_link(cluster: MobileCluster) -> None:
    links = cluster.live_links()
    if links:
        cluster.cut_link(cluster.random.choice(links))


def _break_path(cluster: MobileCluster) -> None:
    client = cluster.random.choice(list(cluster.clients))
    cluster.break_path(client, cluster.random.choice(list(cluster.gateways)))


def _mend_paths(cluster: MobileCluster) -> None:
    cluster.broken.clear()
    cluster.domain.cuts.clear()


def _cut_off_client(cluster: MobileCluster) -> None:
    client = cluster.random.choice(list(cluster.clients))
    for gateway in cluster.gateways:
        cluster.break_path(client, gateway)


def _cut_off_gateway(cluster: MobileCluster) -> None:
    """A gateway loses the domain, or hears it and is not heard."""
    gateway = cluster.random.choice(list(cluster.gateways))
    deaf = cluster.random.random() < 0.8
    for other in (*cluster.gateways, cluster.mailbox.name):
        if other != gateway:
            cluster.domain.cuts.add((gateway, other))
            if deaf:
                cluster.domain.cuts.add((other, gateway))


def _kill_gateway(cluster: MobileCluster) -> None:
    gateway = cluster.random.choice(list(cluster.gateways.values()))
    if gateway.alive:
        gateway.kill()
        cluster.time.later(cluster.random.choice([0.01, 0.5, 2.0, 6.0]), _starting(gateway))


def _kill_client(cluster: MobileCluster) -> None:
    client = cluster.random.choice(list(cluster.clients.values()))
    if client.alive:
        if cluster.random.random() < 0.5:
            client.notes.sync()
        client.kill()
        cluster.time.later(cluster.random.choice([0.01, 1.0]), _starting(client))


def _forget_client(cluster: MobileCluster) -> None:
    """A client without a disk is started anew."""
    client = cluster.random.choice(list(cluster.clients.values()))
    client.forget()
    if not client.alive:
        cluster.time.later(cluster.random.choice([0.01, 1.0]), _starting(client))


def _kill_mailbox(cluster: MobileCluster) -> None:
    if cluster.mailbox.alive:
        cluster.mailbox.kill()
        cluster.time.later(cluster.random.choice([0.01, 2.0]), _starting(cluster.mailbox))


def _starting(process: SimGateway | SimClient | SimMailbox) -> Callable[[], None]:
    def start() -> None:
        if not process.alive:
            process.start()

    return start


def _stop_or_go_on(cluster: MobileCluster) -> None:
    process = cluster.random.choice([one for one in cluster.processes if one.alive] or [None])
    if process is None:
        return
    if process.stopped:
        cluster.time.go_on(process)
    else:
        process.stopped = True


def _go_on(cluster: MobileCluster) -> None:
    for process in cluster.processes:
        if process.stopped:
            cluster.time.go_on(process)


def _drain_or_not(cluster: MobileCluster) -> None:
    gateway = cluster.random.choice(list(cluster.gateways.values()))
    if not gateway.stopped:
        gateway.tell(events.Drain(on=cluster.random.random() < 0.5))


FAULTS: tuple[Callable[[MobileCluster], None], ...] = (
    _cut_link, _cut_link, _cut_link, _break_path, _mend_paths, _mend_paths, _cut_off_client,
    _cut_off_gateway, _kill_gateway, _kill_gateway, _kill_client, _forget_client, _kill_mailbox,
    _stop_or_go_on, _stop_or_go_on, _go_on, _drain_or_not,
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_seeds(mobile_schedule))
