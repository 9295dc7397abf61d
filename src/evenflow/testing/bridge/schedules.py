"""Random schedules of what happens to bridges and devices, and what must hold afterwards.

A range of seeds by one command: ``python -m evenflow.testing.bridge.schedules FIRST COUNT``.
"""

from __future__ import annotations

import sys
from random import Random
from typing import TYPE_CHECKING, Final

from evenflow.bridge.sessions import Setup, Stage
from evenflow.bridge.settings import BridgeSettings
from evenflow.testing.bridge.world import World
from evenflow.testing.invariants import Violation
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.testing.bridge.world import BridgeProcess

QUIET_S: Final = 30.0
"""Long enough for every wait of the protocol."""


class Schedule:
    """A world, and chance that does things to it.

    Args:
        seed: Of the chance.
        bridges: How many.
        devices: How many.
        keyed: Whether devices have keys.
    """

    def __init__(
        self, seed: int, bridges: int = 3, devices: int = 6, *, keyed: bool = False
    ) -> None:
        self.rng = Random(seed)
        self.bridges = [f"b{number}" for number in range(bridges)]
        names = [f"d{number}" for number in range(devices)]
        keys = {World.guid(name): self.rng.randbytes(32) for name in names} if keyed else {}
        self.world = World(self.rng, BridgeSettings(keyed_only=keyed), keys, skew=True)
        self.runs: set[tuple[bytes, int]] = set()
        for name in self.bridges:
            self.world.start_bridge(name)
        for name in names:
            self.world.start_device(name)

    def go(self, seconds: float = 20.0) -> None:
        """Let things happen, then let it be quiet."""
        end = self.world.now + seconds
        while self.world.now < end:
            self.world.run(self.rng.uniform(0.05, 1.5))
            self.rng.choice(self._deeds())()
            self._use()
        self.heal()
        self.world.run(QUIET_S)

    def heal(self) -> None:
        """The network is whole, and everybody is there."""
        self.world.cuts.clear()
        self.world.one_way.clear()
        self._resume()
        self.world.loss = self.world.repeat = 0.0
        self.world.delay_s = 0.005
        for name in self.bridges:
            if name not in self.world.bridges:
                self.world.start_bridge(name)
            self.world.bridges[name].drain(on=False)

    # -- deeds -------------------------------------------------------------------------------------

    def _deeds(self) -> list[Callable[[], None]]:
        return [
            self._kill,
            self._start,
            self._cut_bridges,
            self._cut_device,
            self._cut_off,
            self._mend,
            self._weather,
            self._reboot,
            self._cut_one_way,
            self._stop,
            self._resume,
            self._readdress,
            self._drain,
        ]

    def _kill(self) -> None:
        if len(self.world.bridges) > 1 or self.rng.random() < 0.2:
            alive = sorted(self.world.bridges)
            if alive:
                self.world.kill_bridge(self.rng.choice(alive))

    def _start(self) -> None:
        dead = [name for name in self.bridges if name not in self.world.bridges]
        if dead:
            self.world.start_bridge(self.rng.choice(dead))

    def _cut_bridges(self) -> None:
        self.world.cuts.add(frozenset(self.rng.sample(self.bridges, 2)))

    def _cut_device(self) -> None:
        device = self.rng.choice(sorted(self.world.devices))
        self.world.cuts.add(frozenset((device, self.rng.choice(self.bridges))))

    def _cut_off(self) -> None:
        """One bridge hears none of the others, but its devices."""
        lonely = self.rng.choice(self.bridges)
        self.world.cuts |= {frozenset((lonely, name)) for name in self.bridges if name != lonely}

    def _mend(self) -> None:
        for cut in sorted(self.world.cuts, key=sorted):
            if self.rng.random() < 0.6:
                self.world.cuts.discard(cut)

    def _weather(self) -> None:
        self.world.loss = self.rng.choice((0.0, 0.0, 0.1, 0.3))
        self.world.repeat = self.rng.choice((0.0, 0.1, 0.3))
        self.world.delay_s = self.rng.choice((0.005, 0.02, 0.2, 1.0))

    def _reboot(self) -> None:
        if self.rng.random() < 0.3:
            self.world.start_device(self.rng.choice(sorted(self.world.devices)))

    def _cut_one_way(self) -> None:
        """Something that a bridge says does not come, or is not heard by it."""
        one = self.rng.choice([*self.bridges, *sorted(self.world.devices)])
        pair = [one, self.rng.choice([name for name in self.bridges if name != one])]
        self.rng.shuffle(pair)
        self.world.one_way.add((pair[0], pair[1]))

    def _stop(self) -> None:
        moving = sorted(set(self.world.bridges) - set(self.world.stopped))
        if moving:
            self.world.stop_bridge(self.rng.choice(moving))

    def _resume(self) -> None:
        for name in list(self.world.stopped):
            self.world.resume_bridge(name)

    def _readdress(self) -> None:
        """The router gives a device another port."""
        self.world.ports[self.rng.choice(sorted(self.world.devices))] += 1

    def _drain(self) -> None:
        name = self.rng.choice(self.bridges)
        if name in self.world.bridges and name not in self.world.stopped:
            self.world.bridges[name].drain(on=self.rng.random() < 0.6)

    def _use(self) -> None:
        """Devices publish, and are published to."""
        for _ in range(self.rng.randrange(4)):
            self.world.publish()
        for device in self.world.devices.values():
            device.up.publish(1, "x")
            if self.rng.random() < 0.7:
                device.items.send(b"item")

    # -- what must hold ----------------------------------------------------------------------------

    def faults(self) -> Iterator[str]:
        """What is wrong now that it is quiet."""
        yield from self._served()
        yield from self._agents()
        yield from self._items()
        for name, device in self.world.devices.items():
            if len(set(device.got)) != len(device.got):
                yield f"{name} got a sample twice"

    def _served(self) -> Iterator[str]:
        for name, device in self.world.devices.items():
            core = device.core
            at = [
                bridge.name
                for bridge in self.world.bridges.values()
                if (session := bridge.core.sessions.get(core.guid)) is not None
                and session.stage is not Stage.OFFERED
            ]
            owner = next(iter(self.world.bridges.values())).ring.owner(core.guid)
            if at != [core.bridge] or not core.serving:
                yield f"{name} is served by {at}, and says by {core.bridge}"
            elif core.bridge != owner:
                yield f"{name} is served by {core.bridge}, not by its owner {owner}"
            if core.ready != 3:
                yield f"{name} has {core.ready} entities of 3"

    def _agents(self) -> Iterator[str]:
        for bridge in self.world.bridges.values():
            wanted = set(_wanted_agents(bridge))
            if bridge.agents != wanted:
                yield f"{bridge.name} has agents {bridge.agents ^ wanted} too many or too few"
            served = {session.guid for session in bridge.core.sessions}
            if set(bridge.published) != served:
                yield f"{bridge.name} has published {len(bridge.published)} of {len(served)}"

    def _items(self) -> Iterator[str]:
        for guid, run, number in self.world.book.repeated():
            yield f"item {number} of {guid}, run {run}, was accepted twice"
        for name, device in self.world.devices.items():
            core, items = device.core, device.items
            if items.kept:
                yield f"{name} still keeps {len(items.kept)} items, asks {items.asking}"
            numbers = self.world.book.numbers(core.guid, core.run)
            if numbers != list(range(1, items.newest + 1)):
                yield f"{name} sent {items.newest} items, accepted are {numbers}"


def _wanted_agents(bridge: BridgeProcess) -> Iterator[tuple[bytes, int]]:
    for session in bridge.core.sessions:
        for index, entity in enumerate(session.entities):
            if entity.setup is Setup.READY:
                yield session.guid, index


def bridge_schedule(seed: int) -> None:
    """Run one schedule."""
    schedule = Schedule(seed, bridges=2 + seed % 4, keyed=seed % 2 == 1)
    schedule.go()
    faults = list(schedule.faults())
    if faults:
        raise Violation("; ".join(faults))


if __name__ == "__main__":
    sys.exit(run_seeds(bridge_schedule))
