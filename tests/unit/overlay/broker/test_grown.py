"""A store that has grown does not make a topic a second time while those who have it are away."""

from __future__ import annotations

import pytest

from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = geographic_hash("meters")


def farther(distance: float) -> Coordinate:
    """Return a place that is so far from the topic's home."""
    side = -1 if HOME.y > 0.5 else 1
    return Coordinate(HOME.x, HOME.y + side * distance)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_first_broker_took_alone_is_there_when_it_returns(seed: int) -> None:
    cluster = OverlayCluster(seed, brokers=0)
    cluster.add_broker("b0", farther(0.01))
    first = cluster.publisher("meters", 1)
    for _ in range(10):
        first.add(b"x")
    cluster.run_until(lambda: first.acknowledged == 10, 20, "write")
    cluster.add_broker("b1", farther(0.2))
    cluster.add_broker("b2", farther(0.3))
    cluster.settle()
    cluster.run(3)
    cluster.kill("b0")
    cluster.run(6)
    second = cluster.publisher("meters", 1)
    second.add(b"y")
    cluster.run(10)
    assert not second.acknowledged
    cluster.start("b0")
    cluster.run_until(lambda: second.acknowledged == 1, 30, "the rest")
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[first, second])


@pytest.mark.parametrize("seed", range(4))
def test_a_broker_that_was_away_when_a_topic_was_made_hears_of_it(seed: int) -> None:
    cluster = OverlayCluster(seed, brokers=0)
    for number in range(3):
        cluster.add_broker(f"b{number}", farther(0.01 + 0.05 * number))
    cluster.run(3)
    cluster.kill("b2")
    cluster.run(6)
    first = cluster.publisher("meters")
    for _ in range(10):
        first.add(b"x")
    cluster.run_until(lambda: first.acknowledged == 10, 20, "write")
    cluster.start("b2")
    cluster.run(3)
    cluster.add_broker("n1", farther(0.25))
    cluster.add_broker("n2", farther(0.3))
    cluster.settle()
    cluster.run(3)
    cluster.kill("b0")
    cluster.kill("b1")
    cluster.run(8)
    second = cluster.publisher("meters")
    second.add(b"y")
    cluster.run(10)
    assert not second.acknowledged
    cluster.start("b0")
    cluster.start("b1")
    cluster.run_until(lambda: second.acknowledged == 1, 60, "the rest")
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[first, second])
