"""A clock that leaps far ahead and is set right leaves nothing behind."""

from __future__ import annotations

import pytest

from evenflow.overlay.members.clock import AHEAD_NS, HybridClock
from evenflow.overlay.space.coordinate import closest_nodes, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = geographic_hash("meters")
HOUR = 3600.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("meanwhile", ["publish", "move", "create"])
def test_a_topic_serves_again_when_the_clock_of_its_primary_is_right(
    meanwhile: str, seed: int
) -> None:
    cluster = OverlayCluster(seed, brokers=5)
    primary, other = closest_nodes(HOME, cluster.places, 2)
    if meanwhile != "create":
        early = cluster.publisher("meters")
        early.add(b"x")
        cluster.run_until(lambda: early.acknowledged == 1, 20, "write")
        cluster.settle()
    cluster.step_clock(primary, HOUR)
    cluster.run(1)
    if meanwhile == "move":
        cluster.move("meters", cluster.places[other])
        cluster.run(5)
    publisher = cluster.publisher("meters")
    publisher.add(b"x")
    cluster.run(5)
    assert publisher.acknowledged == 0
    assert f"the clock of {primary} is far ahead" in publisher.waiting
    cluster.step_clock(primary, -HOUR)
    cluster.run_until(lambda: publisher.acknowledged == 1, 10, "the clock is right")
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


def test_a_clock_that_others_are_in_step_with_does_not_go_back_with_a_wrong_one() -> None:
    clock = HybridClock(10 * AHEAD_NS)
    clock.follow("b1", 10 * AHEAD_NS)
    clock.advance(1.0, AHEAD_NS)
    assert clock.time == 10 * AHEAD_NS
