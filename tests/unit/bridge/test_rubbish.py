"""Whatever comes by UDP: nothing raises, nothing grows, and devices are served throughout."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from evenflow.bridge.events import Received
from evenflow.bridge.settings import BridgeSettings
from evenflow.testing.bridge.world import World

if TYPE_CHECKING:
    from evenflow.testing.bridge.world import BridgeProcess

DATAGRAMS = int(os.environ.get("EVENFLOW_TEST_FRAMES", "6000"))
BOUNDS = BridgeSettings(most_devices=40, most_records=50, most_buffered=4, most_items=8)
DEVICES = ("d0", "d1", "d2")


class Tapped(World):
    """Keeps copies of what is said."""

    heard: list[bytes]

    def send(self, source: str, target: str, data: bytes) -> None:
        self.heard.append(data)
        super().send(source, target, data)


def world(seed: int, *, keyed: bool) -> Tapped:
    rng = Random(seed)
    keys = {World.guid(name): rng.randbytes(32) for name in DEVICES} if keyed else {}
    found = Tapped(rng, BOUNDS, keys)
    found.heard = []
    found.start_bridge("b0")
    for name in DEVICES:
        found.start_device(name)
    found.run(3.0)
    assert all(device.core.ready == 3 for device in found.devices.values())
    return found


def mutated(data: bytes, rng: Random, *, strange: bool) -> bytes:
    """A datagram that was changed a little; a strange one is of a device that nobody knows."""
    changed = bytearray(data)
    for _ in range(rng.randrange(4)):
        changed[rng.randrange(24, len(changed)) if len(changed) > 24 else 0] = rng.randrange(256)
    if rng.random() < 0.3:
        changed[3] = rng.randrange(1, 21)
    if rng.random() < 0.1:
        del changed[rng.randrange(len(changed)) :]
    if strange and len(changed) >= 24:
        changed[6:18] = rng.randbytes(1) * 12
    return bytes(changed)


def size_of(bridge: BridgeProcess) -> int:
    """All that a bridge holds for devices."""
    core = bridge.core
    held = sum(
        1 + len(session.entities) + len(session.waiting) + len(session.name)
        for session in core.sessions
    )
    return held + len(core.records) + len(bridge.agents) + len(bridge.published)


@pytest.mark.parametrize("keyed", [False, True])
def test_rubbish_is_counted_and_devices_are_served(keyed: bool) -> None:
    net = world(1, keyed=keyed)
    bridge, rng = net.bridges["b0"], Random(2)
    known = list(net.heard)
    largest = 0
    for number in range(DATAGRAMS):
        kind = rng.random()
        if kind < 0.2:
            data = rng.randbytes(rng.randrange(1400))
        else:
            # Without keys anybody may speak for a device, so the rubbish is that of others.
            data = mutated(rng.choice(known), rng, strange=not keyed)
        bridge.tell(Received(data, ("10.9.9.9", 9)))
        if number % 200 == 0:
            net.run(0.04)
            largest = max(largest, size_of(bridge))
    net.run(5.0)
    for device in net.devices.values():
        assert device.core.serving
        assert device.core.session == 1  # it was never sent away
        assert device.core.ready == 3
    assert sum(bridge.core.refused.values()) > DATAGRAMS / 2
    assert largest < BOUNDS.most_devices * 100


def test_what_was_recorded_is_refused_where_keys_are_on() -> None:
    net = world(3, keyed=True)
    bridge = net.bridges["b0"]
    before = {session.guid: (session.order, session.floor) for session in bridge.core.sessions}
    recorded = list(net.heard)
    bridge.core.refused.clear()
    for data in recorded:
        bridge.tell(Received(data, ("10.9.9.9", 9)))
    after = {session.guid: (session.order, session.floor) for session in bridge.core.sessions}
    assert after == before
    assert bridge.core.refused["replayed"] + bridge.core.refused["forged"] == len(recorded)
    assert all(session.address[0] in DEVICES for session in bridge.core.sessions)


def test_a_conversation_is_refused_by_a_bridge_that_has_forgotten_it() -> None:
    net = world(4, keyed=True)
    recorded = list(net.heard)
    net.devices.clear()
    net.kill_bridge("b0")
    net.start_bridge("b0")
    bridge = net.bridges["b0"]
    for data in recorded:
        bridge.tell(Received(data, ("10.9.9.9", 9)))
    assert bridge.agents == set()
    assert bridge.written == []
    net.run(5.0)
    assert len(bridge.core.sessions) == 0
