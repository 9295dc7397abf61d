"""Subscriptions live at the broker: they survive its death, move with the topic, and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.client.core import BATCH_MESSAGES
from evenflow.overlay.protocol.messages import ShelfId
from evenflow.overlay.shelf import subscribers as rules
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow.testing.overlay.subscribers import check_all_pushed, subscriptions

if TYPE_CHECKING:
    from evenflow.overlay.client.core import Publishing
    from evenflow.overlay.client.following import Following

TOPIC = "meters"
HOME = geographic_hash(TOPIC)


class Subscribed:
    """A topic with a publisher and a subscriber that nobody has disturbed yet."""

    def __init__(self, seed: int = 1, brokers: int = 5) -> None:
        self.cluster = OverlayCluster(seed, brokers=brokers)
        self.publisher: Publishing = self.cluster.publisher(TOPIC)
        self.subscriber: Following = self.cluster.clients.subscriber(TOPIC)
        self.publish(3)
        self.cluster.run_until(lambda: self.subscriber.subscribed, 10, "subscribing")
        self.cluster.settle()

    def publish(self, count: int) -> None:
        for _ in range(count):
            self.publisher.add(b"x")
        self.cluster.run(0.2)

    def primary(self, place: Coordinate = HOME) -> str:
        shelf = ShelfId(TOPIC, place)
        return next(
            name
            for name, core in self.cluster.cores().items()
            if shelf in core.shelves and core.shelves[shelf].replica.copy.leading
        )

    @property
    def seen(self) -> int:
        return self.cluster.clients.seen[self.subscriber].get(self.publisher.publisher, 0)

    @property
    def joins(self) -> int:
        return self.cluster.clients.client_of(self.subscriber).joins

    def move(self, place: Coordinate) -> None:
        moved = self.cluster.move(TOPIC, place)
        self.cluster.run_until(lambda: moved.done, 10, "moving")

    def check(self) -> None:
        self.publish(2)
        check_all_pushed(self.cluster, [self.subscriber], [self.publisher])


def test_what_comes_is_pushed_and_both_copies_know_to_whom() -> None:
    run = Subscribed()
    number = run.subscriber.number
    run.publish(5)
    run.cluster.run(0.5)
    assert run.seen == 8
    assert run.subscriber.number == number  # nothing was asked for
    assert len(subscriptions(run.cluster, TOPIC)) == 2


@pytest.mark.parametrize("seed", range(4))
def test_the_next_primary_pushes_on_without_being_looked_for(seed: int) -> None:
    run = Subscribed(seed)
    run.cluster.kill(run.primary())
    run.publish(5)
    run.cluster.run_until(lambda: run.seen == 8, 10, "pushing on")
    assert run.joins == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_subscription_goes_along_when_the_topic_moves_and_returns(seed: int) -> None:
    run = Subscribed(seed)
    away = Coordinate(0.9 if HOME.x < 0.5 else 0.1, 0.5)
    for place in (away, HOME):
        run.move(place)
        run.publish(2)
        run.cluster.run_until(lambda: run.subscriber.subscribed, 5, "being told")
        assert run.subscriber.delegates is not None
        assert run.subscriber.delegates.current == place
        run.check()
    assert run.joins == 1


def test_a_subscription_survives_the_death_of_a_primary_that_it_came_to_by_a_move() -> None:
    run = Subscribed()
    away = Coordinate(0.9 if HOME.x < 0.5 else 0.1, 0.5)
    run.move(away)
    run.cluster.settle()
    run.cluster.kill(run.primary(away))
    run.publish(3)
    run.cluster.run_until(lambda: run.seen == run.publisher.acknowledged, 10, "pushing on")
    run.check()
    assert run.joins == 1


def test_a_subscription_ends_when_its_client_is_gone() -> None:
    run = Subscribed()
    run.cluster.clients.leave(run.subscriber)
    run.cluster.run(rules.LEASE_S - 12)
    assert subscriptions(run.cluster, TOPIC)
    run.cluster.run(15)
    run.cluster.settle()
    assert not subscriptions(run.cluster, TOPIC)


def test_a_client_that_is_there_keeps_its_subscription_without_any_message() -> None:
    run = Subscribed()
    run.cluster.run(3 * rules.LEASE_S)
    assert len(subscriptions(run.cluster, TOPIC)) == 2
    assert run.joins == 1


def test_who_is_slow_is_told_to_fetch_and_is_never_sent_more_than_it_can_hold() -> None:
    run = Subscribed()
    client = run.cluster.clients.client_of(run.subscriber)
    client.slow = True
    for _ in range(12):
        run.publish(256)
    run.cluster.run(5)
    held = len(run.subscriber.found)
    assert rules.WINDOW_MESSAGES <= held <= rules.WINDOW_MESSAGES + BATCH_MESSAGES
    client.slow = False
    run.cluster.run_until(lambda: run.seen == run.publisher.accepted, 30, "catching up")
    run.check()


def test_there_is_a_bound_and_who_finds_no_room_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_SUBSCRIPTIONS", 3)
    run = Subscribed()
    others = [run.cluster.clients.subscriber(TOPIC) for _ in range(4)]
    run.cluster.run(3)
    assert sum(one.subscribed for one in (run.subscriber, *others)) == 3
    run.publish(5)
    seen = run.cluster.clients.saw_all
    run.cluster.run_until(lambda: all(seen(one, [run.publisher]) for one in others), 10, "fetching")
    assert {len(found) for found in subscriptions(run.cluster, TOPIC).values()} == {3}
    run.cluster.clients.leave(next(one for one in others if one.subscribed))
    before = {one for one in others if one.subscribed}
    run.cluster.run_until(
        lambda: any(one.subscribed and one not in before for one in others),
        rules.LEASE_S + 30,
        "room",
    )
