"""Subscriptions at brokers that are processes: killed with -9, moved between, and left."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import ClosedError
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

PLACES = [(0.2, 0.3), (0.7, 0.2), (0.5, 0.6), (0.15, 0.8), (0.85, 0.75)]
TOPIC = "pushed"


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[LocalBrokers]:
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path, silence_s=1.5) as brokers:
        brokers.start_all()
        yield brokers


class Subscriber(threading.Thread):
    """Notes what it is pushed."""

    def __init__(self, addresses: list[str]) -> None:
        super().__init__(daemon=True)
        self.client = Client(addresses, timeout_s=40)
        self.seen: list[int] = []
        self.start()

    def run(self) -> None:
        with contextlib.suppress(ClosedError):  # the end of the test
            for message in self.client.subscribe(TOPIC, start=1):
                self.seen.append(int(message.payload))

    def await_seen(self, count: int) -> None:
        await_that(lambda: len(self.seen) >= count, 40)
        assert self.seen == list(range(1, count + 1))


def await_that(reached: Callable[[], bool], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def keepers(brokers: LocalBrokers) -> list[str]:
    """Return the brokers that keep a subscription and lead its topic."""
    return [status.name for status in brokers.await_settled() if status.subscriptions]


def test_a_subscription_survives_deaths_of_its_primaries_and_moves_with_its_topic(
    brokers: LocalBrokers,
) -> None:
    addresses = list(brokers.addresses.values())
    with Client(addresses, timeout_s=40) as publisher:
        publisher.publish_all(TOPIC, [b"%d" % number for number in range(1, 1201)])
        subscriber = Subscriber(addresses)
        subscriber.await_seen(1200)
        await_that(lambda: bool(keepers(brokers)), 20)
        count, killed = 1200, ""
        for step in range(4):
            if step % 2:
                publisher.move(TOPIC, Coordinate(*PLACES[step]))
            else:
                if killed:
                    brokers.start(killed)
                (killed,) = keepers(brokers)
                brokers.kill(killed)
            publisher.publish_all(TOPIC, [b"%d" % (count + n) for n in range(1, 21)])
            count += 20
            subscriber.await_seen(count)
            await_that(lambda: len(keepers(brokers)) == 1, 30)
        (keeper,) = keepers(brokers)
        assert keeper == "b3"  # where it was moved last
        subscriber.client.close()
        await_that(lambda: not keepers(brokers), 60)
