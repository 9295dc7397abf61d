"""Named faults, each of which once erased or repeated acknowledged messages."""

from __future__ import annotations

import pytest

from evenflow.overlay.client.core import NOW, Publishing
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Asked
from evenflow.overlay.protocol.messages import Envelope, Publish, ShelfId
from evenflow.overlay.space.coordinate import closest_nodes, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = ShelfId("meters", geographic_hash("meters"))
MOMENT = 0.001
"""Seconds; less than any message takes here."""


def holders(cluster: OverlayCluster, count: int = 3) -> tuple[str, ...]:
    """Return primary, secondary and who would stand in, as long as all live."""
    return closest_nodes(HOME.coordinate, cluster.places, count)


def write(cluster: OverlayCluster, publisher: Publishing, count: int = 10) -> None:
    for _ in range(count):
        publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 20, "write")


def write_for(cluster: OverlayCluster, publisher: Publishing, seconds: float) -> None:
    """Publish while something is broken, whether it is acknowledged or not."""
    for _ in range(int(seconds * 5)):
        publisher.add(b"x")
        cluster.run(0.2)


def incarnations(cluster: OverlayCluster) -> dict[str, int]:
    return {name: core.members.me.incarnation for name, core in cluster.cores().items()}


def check(cluster: OverlayCluster, publisher: Publishing) -> None:
    """All is acknowledged in the end, and found once and in order."""
    cluster.settle()
    cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 30, "the rest")
    cluster.check_all_readable(["meters"], publishers=[publisher])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seconds", [4.0, 9.0, 20.0])
@pytest.mark.parametrize("both", [True, False])
def test_a_broken_path_between_the_two_brokers_of_a_topic_erases_nothing(
    seed: int, seconds: float, both: bool
) -> None:
    cluster = OverlayCluster(seed)
    publisher = cluster.publisher("meters")
    write(cluster, publisher)
    cluster.settle()
    primary, secondary, _ = holders(cluster)
    cluster.paths.cut(primary, secondary, both=both)
    write_for(cluster, publisher, seconds)
    cluster.paths.heal()
    write_for(cluster, publisher, 3)
    check(cluster, publisher)


@pytest.mark.parametrize("seed", range(4))
def test_of_two_halves_that_cannot_reach_one_another_at_most_one_goes_on(seed: int) -> None:
    """Each has one of the two copies, and brokers enough for a second; clients reach both."""
    cluster = OverlayCluster(seed)
    publishers = [cluster.publisher("meters") for _ in range(4)]
    for publisher in publishers:
        write(cluster, publisher)
    cluster.settle()
    primary, secondary, *others = holders(cluster, 6)
    cluster.paths.part((primary, *others[::2]), (secondary, *others[1::2]))
    for _ in range(10):
        for publisher in publishers:
            write_for(cluster, publisher, 0.2)
    for publisher in publishers:
        check(cluster, publisher)


def test_while_a_path_is_broken_the_topic_goes_on_by_way_of_another_broker() -> None:
    cluster = OverlayCluster(1)
    publisher = cluster.publisher("meters")
    write(cluster, publisher)
    cluster.settle()
    primary, secondary, _ = holders(cluster)
    before = incarnations(cluster)
    cluster.paths.cut(primary, secondary)
    cluster.run(6)
    write(cluster, publisher)
    assert set(cluster.cores()[primary].members.living) == set(cluster.brokers)
    assert incarnations(cluster) == before  # nobody was taken for dead and had to say that it lives
    assert cluster.cores()[primary].shelves[HOME].replica.copy.leading


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("level", [2, 3])
def test_primary_then_secondary_die_just_after_a_replacement_agreed(seed: int, level: int) -> None:
    cluster = OverlayCluster(seed)
    publisher = cluster.publisher("meters", level)
    write(cluster, publisher, 20)
    cluster.settle()
    primary, secondary, stand_in = holders(cluster)
    cluster.kill(primary)
    while HOME not in cluster.cores()[stand_in].shelves:
        cluster.run(MOMENT)
    cluster.kill(secondary)
    write_for(cluster, publisher, 6)
    cluster.start(primary)
    cluster.run(2)
    cluster.start(secondary)
    write_for(cluster, publisher, 4)
    check(cluster, publisher)


@pytest.mark.parametrize("seed", range(4))
def test_both_holders_are_briefly_down_and_their_clocks_are_ahead(seed: int) -> None:
    cluster = OverlayCluster(seed)
    primary, secondary, _ = holders(cluster)
    for name in (primary, secondary):
        cluster.step_clock(name, 60)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 20)
    cluster.settle()
    for name in (primary, secondary):
        cluster.kill(name)
    write_for(cluster, publisher, 5)
    for name in (primary, secondary):
        cluster.start(name)
    write_for(cluster, publisher, 4)
    check(cluster, publisher)


@pytest.mark.parametrize("seed", range(4))
def test_a_read_up_to_now_finds_what_was_acknowledged_though_clocks_differ(seed: int) -> None:
    cluster = OverlayCluster(seed)
    for name in holders(cluster, 2):
        cluster.step_clock(name, 2)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 3)
    reader = cluster.reader("meters", until=NOW, level=0)
    cluster.run_until(lambda: reader.done, 10, "reading")
    assert cluster.clients.seen[reader] == {publisher.publisher: 3}


@pytest.mark.parametrize("first", [1 << 62, (1 << 62) - 1, 1 << 60, 1 << 53])
def test_a_request_with_an_absurd_count_is_refused_and_poisons_nothing(first: int) -> None:
    cluster = OverlayCluster(3)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 3)
    body = BODY.encode(Publish(HOME, 77, first, (b"x", b"y")))
    envelope = Envelope(HOME.coordinate, "", 0, "", 0, 1, reply=False, body=body)
    cluster.clients.move("meters", HOME.coordinate)  # somebody for the answer to go to
    primary = holders(cluster)[0]
    for name in cluster.names():
        cluster.give(cluster.brokers[name].core, Asked(2, envelope))
    cluster.run(2)
    write(cluster, publisher, 3)
    assert cluster.cores()[primary].counters.refused > 0
    check(cluster, publisher)


def test_a_topic_whose_copies_in_sync_are_away_waits_and_says_so() -> None:
    cluster = OverlayCluster(5)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 5)
    cluster.settle()
    primary, secondary, other = holders(cluster)
    cluster.kill(primary)
    cluster.kill(secondary)
    again = cluster.publisher("meters", number=99)
    again.add(b"x")
    cluster.run(8)
    assert again.acknowledged == 0
    assert "waits for a copy that is in sync" in again.waiting
    cluster.start(secondary)
    cluster.run(4)
    status = cluster.cores()[secondary].status()
    assert (status.waiting, cluster.cores()[other].status().waiting) == (0, 0)
    check(cluster, publisher)
    assert again.acknowledged == 1


def test_one_of_two_brokers_alone_cannot_know_and_waits() -> None:
    cluster = OverlayCluster(9, brokers=2)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 5)
    cluster.settle()
    cluster.paths.cut("b0", "b1")
    write_for(cluster, publisher, 8)
    assert publisher.acknowledged == 5
    assert [core.status().waiting for core in cluster.cores().values()] == [1, 1]
    cluster.paths.heal()
    check(cluster, publisher)
