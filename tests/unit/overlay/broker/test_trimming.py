"""A client says what nobody needs any more: it is deleted everywhere, but not what is young."""

from __future__ import annotations

import pytest

from evenflow.overlay.client.core import NOW, Publishing
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Asked
from evenflow.overlay.protocol.messages import Envelope, ShelfId, Trim
from evenflow.overlay.replica.copy import REPEATED_NS
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = ShelfId("meters", geographic_hash("meters"))
AWAY = Coordinate(0.9, 0.9)
AGE_S = REPEATED_NS / 1e9


def write(cluster: OverlayCluster, publisher: Publishing, count: int) -> None:
    for _ in range(count):
        publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 20, "write")


def trim(cluster: OverlayCluster, before: int) -> None:
    """Let a client say it, at any broker."""
    body = BODY.encode(Trim(HOME, before))
    envelope = Envelope(HOME.coordinate, "", 0, "", 0, 1, reply=False, body=body)
    name = cluster.rng.choice(cluster.names())
    cluster.give(cluster.cores()[name], Asked(1, envelope))
    cluster.run(2)


def on_disks(cluster: OverlayCluster) -> int:
    """Bytes of payload, which is as many messages."""
    return sum(
        cluster.stores[name].size(shelf)
        for name, core in cluster.cores().items()
        for shelf in core.shelves
    )


@pytest.mark.parametrize("moved", [False, True])
def test_what_was_before_a_time_is_gone_from_all_copies_and_delegates(moved: bool) -> None:
    cluster = OverlayCluster(1)
    cluster.keeps = False
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 10)
    if moved:
        request = cluster.move("meters", AWAY)
        cluster.run_until(lambda: request.done, 10, "move")
        write(cluster, publisher, 10)
    cluster.run(AGE_S + 1)
    before = cluster.wall
    later = cluster.publisher("meters")
    write(cluster, later, 5)
    trim(cluster, before)
    cluster.run(5)
    assert on_disks(cluster) == 2 * 5
    cluster.settle()
    reader = cluster.reader("meters", until=NOW, level=0)
    cluster.run_until(lambda: reader.done, 20, "reading")
    assert cluster.clients.seen[reader] == {later.publisher: 5}


def test_what_is_young_stays_whatever_is_said() -> None:
    cluster = OverlayCluster(2)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 10)
    trim(cluster, cluster.wall + 10**9)
    assert on_disks(cluster) == 2 * 10
    cluster.run(AGE_S + 1)
    write(cluster, publisher, 1)
    trim(cluster, cluster.wall - REPEATED_NS - 10**12)  # of a time when there was nothing
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_it_is_said_again_when_it_was_lost_and_a_copy_that_was_away_lets_go_too() -> None:
    cluster = OverlayCluster(3)
    cluster.keeps = False
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 10)
    cluster.settle()
    cluster.run(AGE_S + 1)
    before = cluster.wall
    write(cluster, publisher, 4)
    victim = next(name for name, core in cluster.cores().items() if HOME in core.shelves)
    cluster.kill(victim)
    cluster.run(5)
    for _ in range(2):
        trim(cluster, before)
    cluster.start(victim)
    cluster.run(5)
    cluster.settle()
    assert on_disks(cluster) == 2 * 4
