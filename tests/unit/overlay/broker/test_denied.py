"""A broker that joins does not deny a topic that it has not been told of yet."""

from __future__ import annotations

import pytest

from evenflow.overlay.client.core import NOW
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = geographic_hash("meters")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fault", ["cut", "stop"])
def test_who_joins_closest_to_a_topic_does_not_deny_it(fault: str, seed: int) -> None:
    cluster = OverlayCluster(seed, brokers=5)
    publisher = cluster.publisher("meters")
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1, 20, "write")
    cluster.settle()
    (primary,) = closest_nodes(HOME, cluster.places, 1)
    if fault == "cut":
        cluster.paths.cut(primary, "n")
    cluster.add_broker("n", Coordinate(HOME.x, HOME.y))
    if fault == "stop":
        cluster.run(0.05)
        cluster.stop(primary)
    readers = []
    for _ in range(40):
        readers.append(cluster.reader("meters", until=NOW, level=0))
        cluster.run(0.1)
    cluster.settle()
    cluster.run_until(lambda: all(one.done or one.failure for one in readers), 60, "reading")
    assert [one.failure for one in readers if one.failure] == []
