"""Real brokers lose their disks, one after the other, and are started again with empty ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

PLACES = {"b1": (0.2, 0.3), "b2": (0.8, 0.2), "b3": (0.3, 0.8), "b4": (0.7, 0.7)}
TOPICS = [f"meters-{number}" for number in range(12)]
EACH_TIME = 5


def lose_disk(folder: Path, name: str) -> None:
    files = list(folder.glob(f"{name}.sqlite*"))
    assert files
    for file in files:
        file.unlink()


def test_every_broker_in_turn_gets_an_empty_disk_and_what_was_acknowledged_is_there_once(
    tmp_path: Path,
) -> None:
    places = {name: Coordinate(*place) for name, place in PLACES.items()}
    acknowledged = 0
    with LocalBrokers(places, tmp_path, silence_s=1.0) as brokers:
        brokers.start_all()
        with Client(list(brokers.addresses.values()), timeout_s=40) as client:

            def publish() -> int:
                numbers = range(acknowledged, acknowledged + EACH_TIME)
                for topic in TOPICS:
                    client.publish_all(topic, [b"%d" % number for number in numbers])
                return numbers.stop

            acknowledged = publish()
            for name in PLACES:
                brokers.await_settled()
                brokers.kill(name)
                lose_disk(tmp_path, name)
                brokers.start(name)
                acknowledged = publish()  # before it has anything again
            brokers.await_settled()
            for topic in TOPICS:
                found = [int(message.payload) for message in client.read(topic)]
                assert found == list(range(acknowledged)), topic
    assert acknowledged == EACH_TIME * (len(PLACES) + 1)
