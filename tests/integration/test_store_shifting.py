"""A past delegate hands its data on, and real brokers on both sides are killed in the middle."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

PLACES = {
    "home": (0.27, 0.06), "home2": (0.36, 0.06),  # of both topics
    "giver": (0.9, 0.1), "giver2": (0.88, 0.2),
    "taker": (0.15, 0.9), "taker2": (0.25, 0.86),
}  # fmt: skip
"""Home, the past delegate and the current one have brokers of their own."""
MESSAGE = 200
SHIFT_BYTES = 6_000


def await_that(reached: Callable[[], bool], what: str, patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not reached():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def numbered(first: int, count: int) -> list[bytes]:
    return [b"%8d" % number + b" " * (MESSAGE - 8) for number in range(first, first + count)]


def stored(brokers: LocalBrokers, name: str) -> int:
    """Return what a broker has on its disk."""
    return next(s.stored_bytes for s in asyncio.run(brokers.statuses()) if s.name == name)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBrokers]:
    places = {name: Coordinate(*place) for name, place in PLACES.items()}
    options = ["--shift-bytes", str(SHIFT_BYTES)]
    folder = tmp_path_factory.mktemp("shifting")
    with LocalBrokers(places, folder, silence_s=1.0, options=options) as brokers:
        brokers.start_all()
        yield brokers


@pytest.mark.parametrize(("topic", "victim"), [("meters", "giver"), ("readings", "taker")])
def test_a_broker_of_a_shift_is_killed_in_the_middle_and_all_is_there_once(
    brokers: LocalBrokers, topic: str, victim: str
) -> None:
    before = {name: stored(brokers, name) for name in PLACES}
    with Client(list(brokers.addresses.values()), timeout_s=40) as client:
        client.publish_all(topic, numbered(1, 10))
        client.move(topic, Coordinate(*PLACES["giver"]))
        client.publish_all(topic, numbered(11, 150))
        client.move(topic, Coordinate(*PLACES["taker"]))
        full = 150 * MESSAGE
        await_that(lambda: stored(brokers, "giver2") < full, "a part is handed on")
        brokers.kill(victim)
        assert stored(brokers, "giver2") > 0, "the shift was over before the kill"
        client.publish_all(topic, numbered(161, 10))
        brokers.start(victim)
        await_that(lambda: not stored(brokers, "giver"), "all is handed on")
        await_that(lambda: not stored(brokers, "giver2"), "the other copy lets go")
        brokers.await_settled()
        found = [int(message.payload) for message in client.read(topic, 0, time.time_ns())]
    assert found == list(range(1, 171))
    for name in ("taker", "taker2"):  # all but what lies at home
        assert stored(brokers, name) - before[name] == 160 * MESSAGE
