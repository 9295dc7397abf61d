"""Continuous balancing in a simulated cluster of brokers: it levels, it ends, it harms nobody."""

from __future__ import annotations

import random

import pytest

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Arrived, LogMove, Tick
from evenflow.overlay.protocol.messages import Envelope, Relieve, Share, ShelfId
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

EVERY = 4.0


def balancing(seed: int, brokers: int, *, loss: float = 0.0, delay: float = 0.01) -> OverlayCluster:
    return OverlayCluster(
        seed, brokers=brokers, loss=loss, delay=delay, settings=Settings(balance_s=EVERY)
    )


def fill(cluster: OverlayCluster, topics: int, level: int = 3) -> list:
    """Publish topics of random sizes, once and for all."""
    rng = random.Random(topics)
    publishers = [cluster.publisher(f"topic-{number}", level) for number in range(topics)]
    for publisher in publishers:
        for _ in range(rng.randint(1, 6)):
            publisher.add(b"x" * 50)
    cluster.run_until(
        lambda: all(one.acknowledged == one.accepted for one in publishers), 60, "fill"
    )
    return publishers


def loads_of(cluster: OverlayCluster, level: int = 3) -> dict[str, float]:
    """The loads as they are, from where the topics lie."""
    loads: NodeLoads[str] = NodeLoads()
    for name, broker in cluster.brokers.items():
        core = broker.core
        for shelf in core.shelves.values():
            copy = shelf.replica.copy
            if copy.leading and copy.delegated_here:
                spot = core.members.closest(copy.shelf.coordinate, level)
                assert spot[0] == name
                loads.add(spot, copy.topic_load())
    return {name: loads.load(name, Level.THREE) for name in cluster.brokers}


def made(cluster: OverlayCluster, since: float = 0.0) -> list[LogMove]:
    """The moves that succeeded."""
    return [move for time, move in cluster.logged if time >= since and move.refusal == ""]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("seed", range(2))
def test_loads_become_more_even_and_then_nothing_moves_any_more(seed: int, level: Level) -> None:
    cluster = balancing(seed, 7, loss=0.02)
    publishers = fill(cluster, 24, level)
    before = loads_of(cluster, level)
    cluster.run(16 * EVERY)
    quiet_since = cluster.now
    cluster.run(6 * EVERY)
    assert made(cluster)
    assert not made(cluster, quiet_since)
    cluster.settle()
    after = loads_of(cluster, level)
    assert max(after.values()) < max(before.values())
    if level < Level.THREE:
        assert sum(after.values()) == level * 50 * sum(one.accepted for one in publishers)
    cluster.check_all_readable([p.topic for p in publishers], publishers=publishers)


@pytest.mark.parametrize("seed", range(3))
def test_all_who_wake_at_once_do_not_run_to_the_same_place(seed: int) -> None:
    cluster = balancing(seed, 8, delay=0.2)
    fill(cluster, 30)
    cluster.add_broker("new")
    cluster.run(3)
    cluster.settle()
    cluster.logged.clear()
    before = loads_of(cluster)
    for _ in range(4):
        for broker in cluster.brokers.values():
            broker.core.exchange._wake = cluster.now
        cluster.run(3)
    assert made(cluster)
    assert max(loads_of(cluster).values()) <= max(before.values())


def test_what_is_written_down_tells_loads_before_and_after() -> None:
    cluster = balancing(1, 6)
    fill(cluster, 12)
    cluster.run_until(lambda: bool(made(cluster)), 20 * EVERY, "a move")
    move = made(cluster)[0]
    seen = dict(move.seen)
    assert seen["highest_there_after"] < seen["highest_here_before"]
    assert seen["load_after"] <= seen["load_before"]
    assert move.start != move.to
    assert seen["topic_load"] > 0


def test_home_moves_a_topic_only_from_where_it_lies_and_not_twice_in_a_row() -> None:
    cluster = OverlayCluster(3, brokers=5)
    publisher = cluster.publisher("meters")
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1, 10)
    home = ShelfId("meters", geographic_hash("meters"))
    name = next(
        name
        for name, broker in cluster.brokers.items()
        if home in broker.core.shelves and broker.core.shelves[home].replica.copy.leading
    )
    core = cluster.brokers[name].core

    def relieve(start: Coordinate, to: Coordinate, rest: float) -> Coordinate:
        body = BODY.encode(Relieve(home, start, to, int(rest * 1e9)))
        disk = core.members.me.disk
        envelope = Envelope(home.coordinate, name, 9, name, 0, 5, False, body, disk=disk)
        cluster.give(core, Arrived(name, envelope))
        cluster.run(3)
        return core.shelves[home].replica.copy.label.delegates.current

    first, second = Coordinate(0.9, 0.9), Coordinate(0.1, 0.1)
    assert relieve(first, second, 0.0) == home.coordinate  # it does not lie there
    assert relieve(home.coordinate, first, 60.0) == first
    assert relieve(first, second, 60.0) == first  # it came just now
    assert relieve(first, second, 1.0) == second


def test_a_topic_brings_its_load_along_until_that_has_expired() -> None:
    cluster = OverlayCluster(4, brokers=5, settings=Settings(age_s=40.0))
    publisher = cluster.publisher("meters")
    for _ in range(10):
        publisher.add(b"x" * 10)
    cluster.run_until(lambda: publisher.acknowledged == 10, 10)
    away = Coordinate(0.9, 0.1)
    move = cluster.move("meters", away)
    cluster.run_until(lambda: move.done, 10)
    cluster.run(1)

    def load() -> int:
        return next(
            shelf.replica.copy.topic_load()
            for broker in cluster.brokers.values()
            for shelf_id, shelf in broker.core.shelves.items()
            if shelf_id.coordinate == away and shelf.replica.copy.leading
        )

    assert 90 <= load() <= 100
    publisher.add(b"y" * 7)
    cluster.run(20)
    assert 40 <= load() <= 60
    cluster.run(18)
    assert 7 <= load() < 20


def test_a_broker_that_does_not_balance_tells_nothing_and_is_given_nothing() -> None:
    cluster = OverlayCluster(5, brokers=4)
    fill(cluster, 6)
    core = next(iter(cluster.brokers.values())).core
    told = core.handle(Tick(), cluster.now + 1, cluster.wall)
    assert not any(isinstance(getattr(action, "message", None), Share) for action in told)
    cluster.settings = Settings(balance_s=EVERY)
    cluster.add_broker("new", Coordinate(0.5, 0.5))
    cluster.run(10 * EVERY)
    silent = {f"b{number}" for number in range(4)}
    assert not any(silent & set(move.to) for move in made(cluster))


@pytest.mark.parametrize("seed", range(3))
def test_balancing_goes_on_through_deaths_and_returns(seed: int) -> None:
    cluster = balancing(seed, 7, loss=0.02)
    publishers = fill(cluster, 16)
    for _ in range(3):
        victim = cluster.rng.choice(sorted(cluster.brokers))
        cluster.kill(victim)
        for publisher in publishers:
            publisher.add(b"y" * 20)
        cluster.run(2 * EVERY)
        cluster.run_until(cluster.settled, 60, "heal")
        cluster.start(victim)
        cluster.run(2 * EVERY)
        cluster.run_until(cluster.settled, 60, "return")
    cluster.settle()
    cluster.run_until(lambda: all(p.acknowledged == p.accepted for p in publishers), 30, "write")
    cluster.check_all_readable([p.topic for p in publishers], publishers=publishers)
    assert made(cluster)
