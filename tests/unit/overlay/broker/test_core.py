"""A simulated cluster of brokers, and what must always hold in it."""

from __future__ import annotations

import pytest
from tests.unit.overlay.broker.chaos import leave

from evenflow.overlay.client.core import NOW, Publishing
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Asked
from evenflow.overlay.protocol.messages import Envelope, Refused, ShelfId
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster


def test_what_is_published_is_read_in_order() -> None:
    cluster = OverlayCluster(1)
    publisher, reader = cluster.publisher("meters"), cluster.reader("meters")
    for number in range(20):
        publisher.add(b"%d" % number)
        cluster.run(0.1)
    cluster.run_until(lambda: publisher.acknowledged == 20, 10)
    cluster.run_until(lambda: cluster.clients.seen[reader] == {publisher.publisher: 20}, 10)
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


def copies(cluster: OverlayCluster, topic: str) -> dict[Coordinate, set[str]]:
    """Return who holds a topic at which coordinate."""
    found: dict[Coordinate, set[str]] = {}
    for name, broker in cluster.brokers.items():
        for shelf in broker.core.shelves:
            if shelf.topic == topic:
                found.setdefault(shelf.coordinate, set()).add(name)
    return found


def write(cluster: OverlayCluster, publisher: Publishing, count: int) -> None:
    for _ in range(count):
        publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 20, "write")


def primary_of(cluster: OverlayCluster, topic: str) -> str:
    home = ShelfId(topic, geographic_hash(topic))
    return next(
        name
        for name, broker in cluster.brokers.items()
        if home in broker.core.shelves and broker.core.shelves[home].replica.copy.leading
    )


@pytest.mark.parametrize(("level", "count"), [(1, 1), (2, 2), (3, 2)])
def test_a_topic_lies_on_the_closest_brokers_as_its_level_asks(level: int, count: int) -> None:
    cluster = OverlayCluster(2, brokers=7)
    write(cluster, cluster.publisher("meters", level), 3)
    cluster.settle()
    home = geographic_hash("meters")
    expected = set(closest_nodes(home, cluster.places, count))
    assert copies(cluster, "meters") == {home: expected}


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_broker_that_joins_closer_gets_the_topic_with_its_past(level: int) -> None:
    cluster = OverlayCluster(4, brokers=4)
    publisher = cluster.publisher("meters", level)
    write(cluster, publisher, 40)
    home = geographic_hash("meters")
    cluster.add_broker("closer", Coordinate(home.x + 0.001, home.y))
    cluster.run(2)
    write(cluster, publisher, 5)
    cluster.settle()
    assert primary_of(cluster, "meters") == "closer"
    assert len(copies(cluster, "meters")[home]) == min(level, 2)
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_level_two_keeps_the_past_once_and_level_three_twice_after_a_death() -> None:
    for level, whole in ((2, 1), (3, 2)):
        cluster = OverlayCluster(5, brokers=6)
        publisher = cluster.publisher("meters", level)
        write(cluster, publisher, 29)
        write(cluster, publisher, 1)  # with it the secondary hears that the others are committed
        cluster.settle()
        cluster.kill(primary_of(cluster, "meters"))
        cluster.run(3)
        cluster.settle()
        home = ShelfId("meters", geographic_hash("meters"))
        kept = [
            len(cluster.stores[name].messages[home])
            for name in copies(cluster, "meters")[home.coordinate]
        ]
        assert sorted(kept)[-whole:] == [30] * whole
        assert len(kept) == 2
        assert (min(kept) < 30) is (level == 2)


def test_a_stopped_primary_gets_nothing_acknowledged_when_it_goes_on() -> None:
    cluster = OverlayCluster(6, brokers=5)
    publisher, reader = cluster.publisher("meters"), cluster.reader("meters")
    write(cluster, publisher, 5)
    cluster.settle()
    old = primary_of(cluster, "meters")
    cluster.stop(old)
    for _ in range(30):
        publisher.add(b"x")
        cluster.run(0.2)
    cluster.run_until(lambda: publisher.acknowledged > 20, 20, "take over")
    term = max(
        shelf.replica.copy.config.term
        for broker in cluster.brokers.values()
        for shelf in broker.core.shelves.values()
    )
    cluster.resume(old)
    cluster.run(3)
    cluster.settle()
    home = ShelfId("meters", geographic_hash("meters"))
    assert cluster.brokers[old].core.shelves[home].replica.copy.config.term > term
    cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 10)
    cluster.run_until(lambda: cluster.clients.seen[reader] == {1: publisher.accepted}, 10)


@pytest.mark.parametrize("victim", ["primary", "secondary"])
def test_a_broker_that_returns_with_an_empty_disk_gets_everything_again(victim: str) -> None:
    cluster = OverlayCluster(12, brokers=5)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 20)
    cluster.settle()
    home = ShelfId("meters", geographic_hash("meters"))
    config = cluster.brokers[primary_of(cluster, "meters")].core.shelves[home].replica.copy.config
    name = config.members[0 if victim == "primary" else 1]
    cluster.replace_disk(name)
    cluster.start(name)  # at once: nobody had time to take it for dead
    write(cluster, publisher, 5)
    cluster.settle()
    assert len(cluster.stores[name].read(home, 0, 1 << 62, 99)) == 25
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_links_are_those_of_the_triangulation_and_no_others() -> None:
    cluster = OverlayCluster(14, brokers=12)
    cluster.run(6)
    for broker in cluster.brokers.values():
        assert broker.core.neighbours.links == broker.core.members.neighbours()


def test_an_expired_delegate_is_taken_off_the_list_and_drops_its_shelf() -> None:
    cluster = OverlayCluster(7, brokers=6, settings=Settings(age_s=20.0))
    publisher = cluster.publisher("meters")
    home, away = geographic_hash("meters"), Coordinate(0.9, 0.1)
    write(cluster, publisher, 5)
    first = cluster.move("meters", away)
    cluster.run_until(lambda: first.done, 10, "move")
    write(cluster, publisher, 5)
    second = cluster.move("meters", home)
    cluster.run_until(lambda: second.done, 10, "retire")
    write(cluster, publisher, 5)
    assert set(copies(cluster, "meters")) == {home, away}
    cluster.run_until(lambda: set(copies(cluster, "meters")) == {home}, 60, "forget")
    cluster.settle()
    shelf = cluster.brokers[primary_of(cluster, "meters")].core.shelves[ShelfId("meters", home)]
    delegates = shelf.replica.copy.label.delegates
    assert [entry.coordinate for entry in delegates.entries] == [home]
    reader = cluster.reader("meters", until=NOW, level=0)
    cluster.clients.seen[reader][publisher.publisher] = publisher.acknowledged
    write(cluster, publisher, 1)
    cluster.run_until(lambda: reader.done, 10)


def test_what_was_stored_before_a_move_is_acknowledged_after_it() -> None:
    """The acknowledgement was lost, the topic moved, and nothing else is published."""
    cluster = OverlayCluster(15, brokers=6)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 5)
    move = cluster.move("meters", Coordinate(0.9, 0.1))
    cluster.run_until(lambda: move.done, 10, "move")
    again = cluster.publisher("meters", number=publisher.publisher)
    for _ in range(5):
        again.add(b"x")
    cluster.run_until(lambda: again.acknowledged == 5, 20, "the same again")


def test_a_shelf_keeps_the_newest_octets() -> None:
    cluster = OverlayCluster(8, brokers=4, settings=Settings(shelf_bytes=10))
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 50)
    home = ShelfId("meters", geographic_hash("meters"))
    cluster.run_until(
        lambda: all(
            len(cluster.stores[name].messages[home]) == 10
            for name in copies(cluster, "meters")[home.coordinate]
        ),
        20,
        "expire",
    )


def test_with_one_broker_alive_nothing_is_acknowledged_at_level_two() -> None:
    cluster = OverlayCluster(9, brokers=2)
    publisher = cluster.publisher("meters")
    write(cluster, publisher, 3)
    cluster.settle()
    last = sorted(cluster.brokers)[0]
    cluster.kill(last)
    publisher.add(b"x")
    cluster.run(20)
    assert publisher.acknowledged == 3
    cluster.start(last)
    cluster.run_until(lambda: publisher.acknowledged == 4, 20)
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_letters_that_only_brokers_send_are_refused_from_clients() -> None:
    cluster = OverlayCluster(10, brokers=1)
    core = cluster.brokers["b0"].core
    shelf = ShelfId("meters", Coordinate(0.5, 0.5))
    envelope = Envelope(shelf.coordinate, "b0", 9, "", 0, 1, False, BODY.encode(Refused(shelf)))
    assert core.handle(Asked(1, envelope), cluster.now, cluster.wall) == []
    assert core.counters.refused == 1


@pytest.mark.parametrize("level", [2, 3])
def test_what_a_broker_led_that_leaves_is_taken_over_before_anybody_could_miss_it(
    level: int,
) -> None:
    cluster = OverlayCluster(5, brokers=4)
    publisher = cluster.publisher("meters", level)
    write(cluster, publisher, 10)
    cluster.settle()
    leader = primary_of(cluster, "meters")
    leave(cluster, leader)
    cluster.run(cluster.settings.silence_s / 8)  # a broken link alone is looked at after a quarter
    assert all(leader not in core.members.living for core in cluster.cores().values())
    assert all(core.members[leader].left for core in cluster.cores().values())
    assert primary_of(cluster, "meters") != leader
    write(cluster, publisher, 5)
    cluster.start(leader)
    cluster.settle()
    assert not any(core.members[leader].left for core in cluster.cores().values())
    cluster.check_all_readable(["meters"], publishers=[publisher])
