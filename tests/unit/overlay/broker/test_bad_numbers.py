"""Extreme and mutated values of every message to a broker: nothing raises, nothing is poisoned."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from tests.unit.overlay.protocol.samples import BODIES, LINKS

from evenflow.errors import DecodeError
from evenflow.overlay.protocol.codec import BODY, LINK
from evenflow.overlay.protocol.events import Arrived, Asked
from evenflow.overlay.protocol.messages import Envelope, Hello, ShelfId
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = ShelfId("meters", geographic_hash("meters"))
EXTREMES = [0, 1, (1 << 53) - 1, (1 << 53) + 1, 1 << 60, (1 << 62) - 1, 1 << 62]


def changed(value: Any, rng: random.Random) -> Any:
    """Return the plain value of a message with one of its numbers made extreme."""
    places: list[tuple[list[Any], int]] = []

    def walk(found: Any) -> None:
        for at, each in enumerate(found):
            if isinstance(each, list):
                walk(each)
            elif isinstance(each, int) and not isinstance(each, bool):
                places.append((found, at))

    walk(value)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if places:
            found, at = rng.choice(places)
            found[at] = rng.choice(EXTREMES)
    return value


def extreme(sample: msgspec.Struct, codec: Any, rng: random.Random) -> Any:
    """Return a message with an extreme number, None when it cannot even be read."""
    plain = msgspec.msgpack.decode(codec.encode(sample))
    try:
        return codec.decode(msgspec.msgpack.encode(changed(plain, rng)))
    except DecodeError:
        return None


def about(body: Any, shelf: ShelfId) -> Any:
    """Return the message about a shelf that is there."""
    return msgspec.structs.replace(body, shelf=shelf) if hasattr(body, "shelf") else body


@pytest.mark.parametrize("seed", range(6))
def test_no_number_harms_a_store(seed: int) -> None:
    chosen = ("gossip", "local", "regional")[seed % 3]
    settings = Settings(balance_s=4.0 * (seed % 2), selection=chosen, topic_bytes=50)
    cluster = OverlayCluster(seed, brokers=4, settings=settings)
    rng, publisher = random.Random(seed), cluster.publisher("meters")
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1, 10, "begin")
    cluster.settle()
    cluster.keeps = False  # what lies plausibly is believed
    links = [one for one in LINKS if not isinstance(one, Envelope | Hello)]
    for _ in range(1500):
        to, sender = rng.sample(cluster.names(), 2)
        core = cluster.brokers[to].core
        if rng.random() < 0.2:
            message = extreme(rng.choice(links), LINK, rng)
        else:
            body = extreme(rng.choice(BODIES), BODY, rng)
            if body is None:
                continue
            encoded = BODY.encode(about(body, HOME))
            time = rng.choice((0, cluster.wall, *EXTREMES))
            message = Envelope(
                HOME.coordinate, to, 9, sender, 0, 1, reply=False, body=encoded, time=time,
                disk=core.members.disk(sender),
            )  # fmt: skip
        if message is None:
            continue
        if isinstance(message, Envelope) and rng.random() < 0.3:
            cluster.give(core, Asked(1, message))
        else:
            cluster.give(core, Arrived(sender, message))
        if rng.random() < 0.05:
            cluster.run(0.05)
    cluster.run(30)
    # The next term can be named: a broker dies, returns, and new topics are taken.
    victim = rng.choice(cluster.names())
    cluster.kill(victim)
    cluster.run(5)
    cluster.start(victim)
    fresh = cluster.publisher("phasors")
    for _ in range(3):
        fresh.add(b"x")
    cluster.run_until(lambda: fresh.acknowledged == 3, 60, "a new topic")
    clock = max(core.wall for core in cluster.cores().values())
    assert clock < cluster.wall + 2 * 600 * 10**9
