"""What topics cost, counted in messages and looks: not in time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Asked
from evenflow.overlay.protocol.messages import Envelope, Join, ShelfId
from evenflow.overlay.shelf.shelf import Shelf
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

TOPIC = "meters"
HOME = ShelfId(TOPIC, geographic_hash(TOPIC))


def looks_of_an_idle_store(topics: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often brokers looked at shelves within ten seconds in which nothing happened."""
    cluster = OverlayCluster(1, brokers=3)
    publishers = [cluster.publisher(f"topic {number}") for number in range(topics)]
    for publisher in publishers:
        publisher.add(b"x")
    done = lambda: all(each.acknowledged for each in publishers)  # noqa: E731
    cluster.run_until(done, 60, "making topics")
    cluster.settle()
    cluster.run(600)
    looks: Counter[str] = Counter()
    review = Shelf.review

    def counted(shelf: Shelf) -> None:
        looks["all"] += 1
        review(shelf)

    with monkeypatch.context() as patched:
        patched.setattr(Shelf, "review", counted)
        cluster.run(10)
    return looks["all"]


def test_an_idle_broker_does_not_look_at_its_topics_each_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topics = 40
    looks = looks_of_an_idle_store(topics, monkeypatch)
    assert looks < topics  # two copies of each, and a hundred ticks of each broker


def test_a_repeat_of_a_request_that_waits_causes_no_message() -> None:
    cluster = OverlayCluster(1, brokers=3)
    core = nearest(cluster)
    body = BODY.encode(Join(HOME, 2))
    envelope = Envelope(HOME.coordinate, "", 0, "", 0, 7, reply=False, body=body)
    first: list[Any] = core.handle(Asked(1, envelope), cluster.now, cluster.wall_of("b0"))
    assert first  # the others are asked whether the topic is new
    for _ in range(100):
        assert not core.handle(Asked(1, envelope), cluster.now, cluster.wall_of("b0"))
    pending = core.creation._pending[HOME]
    assert len(pending.waiting) == 1


def nearest(cluster: OverlayCluster) -> BrokerCore:
    """Return the broker that makes the topic."""
    cores = cluster.cores()
    (name,) = cores["b0"].members.closest(HOME.coordinate, 1)
    return cores[name]
