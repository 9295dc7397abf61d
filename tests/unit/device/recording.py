"""What happens to devices in a random schedule, and what they do: the same for every client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenflow.testing.bridge.schedules import Schedule

if TYPE_CHECKING:
    from evenflow.testing.bridge.world import DeviceProcess


@dataclass
class Life:
    """One life of a device: its steps, and the datagrams that it sent by each poll."""

    name: str
    run: int
    key: str
    steps: list[list[Any]] = field(default_factory=list)


def record(device: DeviceProcess, key: bytes) -> Life:
    """Write down what happens to a device from now on."""
    core, life = device.core, Life(device.name, device.core.run, key.hex())
    receive, poll, send_data, send = core.receive, core.poll, core.send_data, device.items.send

    def on_receive(data: bytes, source: Any, now: int) -> Any:
        samples = receive(data, source, now)
        life.steps.append(["recv", data.hex(), int(source[0][1:]) + 1, now, len(samples)])
        return samples

    def on_poll(now: int) -> Any:
        out = poll(now)
        sent = [[data.hex(), 0 if to is None else int(to[0][1:]) + 1] for data, to in out]
        life.steps.append(["poll", now, sent])
        return out

    def on_data(entity: Any, payload: bytes) -> bool:
        life.steps.append(["data", core.entities.index(entity), payload.hex()])
        return send_data(entity, payload)

    def on_item(payload: bytes, time_us: int = 0) -> bool:
        life.steps.append(["item", 2, payload.hex(), time_us])
        return send(payload, time_us)

    core.receive, core.poll, core.send_data = on_receive, on_poll, on_data  # type: ignore[method-assign]
    device.items.send = on_item  # type: ignore[method-assign]
    return life


def lives(seed: int, seconds: float = 12.0) -> list[Life]:
    """The lives of all devices in a schedule, as far as they last from its beginning."""
    schedule = Schedule(seed, devices=3, keyed=seed % 2 == 1)
    world = schedule.world
    found = [
        record(device, world.keys.get(device.core.guid, b"")) for device in world.devices.values()
    ]
    schedule.go(seconds)
    for _ in range(50):  # more samples than a device remembers
        world.publish()
        world.run(0.04)
    return found
