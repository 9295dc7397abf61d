"""Brokers as processes that find places for topics by asking one another, or by plan."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.config import Config
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

PLACES = [(0.2, 0.3), (0.7, 0.2), (0.5, 0.6), (0.15, 0.8), (0.85, 0.75)]
OPTIONS = ["--balance-every", "3600s", "--topic-bytes", "10000", "--queries", "6"]


def await_that(reached: Callable[[], bool], patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def total(brokers: LocalBrokers, name: str) -> int:
    return sum(getattr(status, name) for status in asyncio.run(brokers.statuses()))


@pytest.mark.parametrize("selection", ["local", "regional", "planned"])
def test_new_topics_are_placed_though_a_broker_dies(selection: str, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    brokers = LocalBrokers(
        {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)},
        tmp_path,
        silence_s=1.5,
        options=[*OPTIONS, "--selection", selection],
        config=Config.load(None, {"history.path": str(path)}),
    )
    with brokers:
        brokers.start_all()
        with Client(list(brokers.addresses.values()), timeout_s=40) as client:
            topics = [f"topic-{number}" for number in range(14)]
            for topic in topics[:8]:
                client.publish(topic, b"x")
            await_that(lambda: total(brokers, "searches") >= 8)
            assert (total(brokers, "asked") > 0) == (selection != "planned")
            assert total(brokers, "told") > 0
            brokers.kill("b2")
            for topic in topics[8:]:
                client.publish(topic, b"x")
            await_that(lambda: moves(path) > 0)
            brokers.start("b2")
            brokers.await_settled()
            for topic in topics:
                client.publish(topic, b"y")
                found = [message.payload for message in client.read(topic, 0, time.time_ns())]
                assert found == [b"x", b"y"]


def moves(path: Path) -> int:
    """Return how many topics were moved."""
    with History(path) as history:
        return sum(story.outcome is PlanState.DONE for story in history.stories())
