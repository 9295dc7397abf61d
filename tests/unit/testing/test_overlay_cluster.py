"""A simulated run follows from its seed, and its brokers die, stop and return as real ones do."""

from __future__ import annotations

from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.cluster import OverlayCluster


def run(seed: int) -> tuple[float, str]:
    cluster = OverlayCluster(seed, brokers=4, loss=0.05)
    publisher = cluster.publisher("meters")
    for _ in range(5):
        publisher.add(b"x")
        cluster.run(0.3)
    return cluster.rng.random(), cluster.picture()


def test_a_run_follows_from_its_seed() -> None:
    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_killed_broker_returns_with_its_disk() -> None:
    cluster = OverlayCluster(1, brokers=4)
    publisher = cluster.publisher("meters", level=1)
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1)
    (holder,) = [name for name, broker in cluster.brokers.items() if broker.core.shelves]
    cluster.kill(holder)
    assert holder not in cluster.names()
    cluster.run(3)
    cluster.start(holder)
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_a_stopped_broker_is_taken_for_dead_and_contradicts_when_it_goes_on() -> None:
    cluster = OverlayCluster(2, brokers=4)
    before = cluster.brokers["b1"].core.members.me.incarnation
    cluster.stop("b1")
    cluster.run(5)
    assert not cluster.brokers["b0"].core.members.alive("b1")
    cluster.resume("b1")
    cluster.run_until(cluster.settled, 10)
    assert cluster.brokers["b0"].core.members["b1"].incarnation > before


def test_a_broker_may_be_placed() -> None:
    cluster = OverlayCluster(5, brokers=2)
    cluster.add_broker("middle", Coordinate(0.5, 0.5))
    cluster.run_until(cluster.settled, 10)
    assert cluster.brokers["b0"].core.members["middle"].coordinate == Coordinate(0.5, 0.5)


def test_of_two_moves_at_once_one_is_made() -> None:
    cluster = OverlayCluster(6, brokers=4)
    publisher = cluster.publisher("meters")
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1)
    moves = [cluster.move("meters", Coordinate(x, 0.9)) for x in (0.1, 0.9)]
    cluster.run_until(lambda: all(move.done or move.failed for move in moves), 10)
    assert [move.done for move in moves].count(True) == 1
