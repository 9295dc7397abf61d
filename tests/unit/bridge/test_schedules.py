"""Random schedules of bridges, devices, deaths and cuts: when it is quiet all is well."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.testing.bridge.schedules import Schedule, bridge_schedule

SEEDS = 40 if settings.default.max_examples > 50 else 16


@pytest.mark.parametrize("seed", range(SEEDS))
def test_when_it_is_quiet_every_device_has_one_bridge(seed: int) -> None:
    bridge_schedule(seed)


def served(schedule: Schedule) -> list[str]:
    """Devices that no bridge, or another than they say, serves."""
    world = schedule.world
    return [
        name
        for name, device in world.devices.items()
        if not device.core.serving or device.core.bridge not in world.bridges
    ]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("bridges", [2, 3])
def test_after_a_death_devices_are_served_within_three_seconds(bridges: int, keyed: bool) -> None:
    schedule = Schedule(9, bridges=bridges, devices=20, keyed=keyed)
    world = schedule.world
    world.run(10.0)
    assert list(schedule.faults()) == []
    world.kill_bridge("b0")
    world.run(3.0)
    assert served(schedule) == []
    for device in world.devices.values():
        session = world.bridges[device.core.bridge].core.sessions.get(device.core.guid)
        assert session is not None
        assert session.number == device.core.session
        assert len(session.entities) == 3


def test_a_bridge_that_is_cut_off_gives_its_devices_away_within_three_seconds() -> None:
    schedule = Schedule(9, bridges=3, devices=20)
    world = schedule.world
    world.run(10.0)
    world.cuts |= {frozenset(("b0", "b1")), frozenset(("b0", "b2"))}
    world.run(3.0)
    for device in world.devices.values():
        assert device.core.serving
        assert device.core.bridge in ("b1", "b2")


def test_a_planned_handover_loses_no_sample_and_needs_no_new_setup() -> None:
    schedule = Schedule(5, bridges=1, devices=12)
    world = schedule.world
    world.delay_s = 0.001  # what overtakes another sample is dropped, and not the matter here
    world.run(5.0)
    before = {name: device.core.session for name, device in world.devices.items()}
    schedule.bridges.append("b2")
    world.start_bridge("b2")
    sent = 0
    for _ in range(100):
        sent += sum(device.up.publish(1, "x") for device in world.devices.values())
        world.publish()
        world.run(0.05)
    assert list(schedule.faults()) == []
    written = sum(len(bridge.written) for bridge in world.bridges.values())
    moved = [name for name, device in world.devices.items() if device.core.bridge == "b2"]
    assert moved
    assert all(world.devices[name].core.session == before[name] + 1 for name in moved)
    assert sent == 100 * len(world.devices)
    assert written == sent
    assert [len(set(device.got)) for device in world.devices.values()] == [100] * 12


def test_a_fault_is_found() -> None:
    schedule = Schedule(1)
    schedule.go(3.0)
    world = schedule.world
    world.book.entries += [("guid", "1", 1), ("guid", "1", 1)]
    next(iter(world.bridges.values())).agents.add((b"guid", 7))
    next(iter(world.devices.values())).core.bridge = "elsewhere"
    faults = " ".join(schedule.faults())
    assert "accepted twice" in faults
    assert "too many or too few" in faults
    assert "says by elsewhere" in faults
