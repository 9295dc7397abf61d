"""Bridges and devices on a network that loses, repeats, delays and is cut.

Time is virtual and goes in steps; every process has a clock of its own, with an offset and a rate.
Datagrams may be lost, repeated and overtaken. The domain's records are as DDS keeps them: the
newest of each instance reaches whoever is connected, also late comers; a bridge that dies takes
its writers with it, and what others heard they keep.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenflow.bridge.core import BridgeCore
from evenflow.bridge.events import (
    AskSettled,
    DropEntity,
    EntityMade,
    MakeEntity,
    PublishRecord,
    Received,
    RecordHeard,
    RecordWithdrawn,
    RingChanged,
    SampleRead,
    Send,
    TakeItem,
    Timer,
    WithdrawRecord,
    WriteSample,
)
from evenflow.bridge.protocol.guid import parse_guid
from evenflow.device.evenflow_device import ITEMS, PUBLISHER, SUBSCRIBER, DeviceCore, Entity
from evenflow.testing.bridge.items import TOPIC, Book, Disk, Items
from evenflow.testing.bridge.ring import RingSeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from evenflow.bridge.events import Action, Event
    from evenflow.bridge.settings import BridgeSettings
    from evenflow.model.messages.devices import DeviceRecord

STEP_S: Final = 0.02
BEAT_S: Final = 0.2
DOWN: Final = 1
"""Which entity of a device is its subscriber."""
TYPE: Final = "Reading(count u32, text text16)"


@dataclass(slots=True)
class Clock:
    """Shows another time than others, and goes at another rate."""

    offset: float
    rate: float

    def show(self, now: float) -> float:
        """Its time."""
        return self.offset + now * self.rate


class BridgeProcess:
    """One life of a bridge."""

    def __init__(self, world: World, name: str, settings: BridgeSettings) -> None:
        self.world = world
        self.name = name
        self.clock = world.draw_clock()
        self.seat = RingSeat(name, world.now, self.now)
        self.ring = self.seat.core
        keys = world.keys
        self.core = BridgeCore(
            name, self.ring, settings, lambda: world.rng.getrandbits(64), keys.get
        )
        self.items = Items(self, world.disks.setdefault(name, Disk()), world.book)
        self.agents: set[tuple[bytes, int]] = set()
        self.published: dict[bytes, tuple[int, DeviceRecord]] = {}
        """Records, each with the number of its sample."""
        self.seen: dict[tuple[BridgeProcess, bytes], int] = {}
        """What it has heard, by process and device."""
        self.written: list[tuple[bytes, int]] = []

    @property
    def now(self) -> float:
        """Its clock."""
        return self.clock.show(self.world.now)

    @property
    def is_alive(self) -> bool:
        """Whether this life is not over."""
        return self.world.bridges.get(self.name) is self

    def tell(self, event: Event) -> None:
        """Something happens to it."""
        if not self.is_alive:
            return
        for action in self.core.handle(event, self.now):
            self._perform(action)

    def _perform(self, action: Action) -> None:
        world = self.world
        match action:
            case Send(data, (name, port)):
                if port == 1 + world.ports[name]:  # else the router knows it not
                    world.send(self.name, name, data)
            case MakeEntity(guid, entity, role, topic):
                if role == ITEMS:
                    assert not self.items.door.make(guid, entity, topic)
                self.agents.add((guid, entity))
                later = world.rng.random() * 0.05
                world.later(later, lambda: self._made(guid, entity))
            case DropEntity(guid, entity):
                self.agents.discard((guid, entity))
                self.items.door.drop(guid, entity)
            case WriteSample(guid, entity, _):
                self.written.append((guid, entity))
            case PublishRecord(record):
                world.samples += 1
                self.published[parse_guid(record.guid)] = (world.samples, record)
            case WithdrawRecord(record):
                self.published.pop(parse_guid(record.guid), None)
            case TakeItem() | AskSettled():
                self.items.take(action)

    def _made(self, guid: bytes, entity: int) -> None:
        if (guid, entity) in self.agents:
            self.tell(EntityMade(guid, entity))

    def drain(self, *, on: bool) -> None:
        """An operator drains it, or takes that back."""
        if self.seat.drain(self.now, on=on):
            self.tell(RingChanged())

    def step(self) -> None:
        """Look at the ring, and at the time."""
        if self.seat.look(self.world.now, self.now):
            self.tell(RingChanged())
        self.tell(Timer())
        self.items.poll()


class DeviceProcess:
    """One life of a device."""

    def __init__(self, world: World, name: str, run: int) -> None:
        self.world = world
        self.clock = world.draw_clock()
        guid = world.guid(name)
        self.core = DeviceCore(name, run, guid, world.keys.get(guid, b""))
        self.up = Entity(self.core, PUBLISHER, "up", TYPE, 1)
        self.down = Entity(self.core, SUBSCRIBER, "down", TYPE, 0)
        self.items = Entity(self.core, ITEMS, TOPIC, "", 1)
        self.core.entities += [self.up, self.down, self.items]
        self.got: list[tuple[Any, ...]] = []
        self.name = name
        self.start = world.now

    @property
    def milliseconds(self) -> int:
        """Its clock."""
        return int(self.clock.show(self.world.now - self.start) * 1000)

    def hear(self, data: bytes, source: str) -> None:
        """A datagram came."""
        if self.world.devices.get(self.name) is self:
            samples = self.core.receive(data, (source, 1), self.milliseconds)
            self.got.extend(values for _, values in samples)

    def step(self) -> None:
        """Do what is due."""
        for data, target in self.core.poll(self.milliseconds):
            assert target is None or isinstance(target, tuple)
            everybody = sorted(self.world.bridges)
            for bridge in everybody if target is None else (str(target[0]),):
                self.world.send(self.name, bridge, data)


@dataclass
class World:
    """Everything there is.

    Args:
        rng: Chance.
        settings: Of all bridges.
        keys: Keys of devices.
    """

    rng: Random
    settings: BridgeSettings
    keys: dict[bytes, bytes] = field(default_factory=dict)
    now: float = 0.0
    loss: float = 0.0
    repeat: float = 0.0
    delay_s: float = 0.01
    skew: bool = False
    bridges: dict[str, BridgeProcess] = field(default_factory=dict)
    devices: dict[str, DeviceProcess] = field(default_factory=dict)
    cuts: set[frozenset[str]] = field(default_factory=set)
    one_way: set[tuple[str, str]] = field(default_factory=set)
    """Paths on which nothing comes from the first to the second."""
    stopped: dict[str, list[Received]] = field(default_factory=dict)
    """Bridges that stand still, and what waits in their sockets."""
    ports: Counter[str] = field(default_factory=Counter)
    """Ports of devices, which a router may change."""
    disks: dict[str, Disk] = field(default_factory=dict)
    book: Book = field(default_factory=Book)
    _queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    samples: int = 0
    _count: int = 0
    _beat: float = 0.0

    def draw_clock(self) -> Clock:
        """A clock for a process."""
        if not self.skew:
            return Clock(0.0, 1.0)
        return Clock(self.rng.uniform(0, 1e6), self.rng.uniform(0.9, 1.1))

    @staticmethod
    def guid(name: str) -> bytes:
        """The GUID of a device."""
        return DeviceCore(name, 1).guid

    # -- the network -------------------------------------------------------------------------------

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something after a while."""
        self._count += 1
        heapq.heappush(self._queue, (self.now + seconds, self._count, do))

    def connected(self, one: str, other: str) -> bool:
        """Whether what one says comes to the other."""
        return frozenset((one, other)) not in self.cuts and (one, other) not in self.one_way

    def send(self, source: str, target: str, data: bytes) -> None:
        """A datagram, which may be lost, repeated or overtaken."""
        sent = Received(data, (source, 1 + self.ports[source]))
        copies = 1 + (self.rng.random() < self.repeat)
        for _ in range(copies):
            if self.rng.random() >= self.loss:
                delay = self.rng.expovariate(1 / self.delay_s)
                self.later(delay, lambda: self._arrive(sent, target))

    def _arrive(self, sent: Received, target: str) -> None:
        source = sent.source[0]
        if not self.connected(source, target):
            return
        if target in self.stopped:
            self.stopped[target].append(sent)
        elif target in self.bridges:
            self.bridges[target].tell(sent)
        elif target in self.devices:
            self.devices[target].hear(sent.data, source)

    def pass_on(self, source: str, target: str, message: object) -> None:
        """A message of one bridge to another; lost where they do not hear one another."""

        def arrive() -> None:
            moving = target in self.bridges and target not in self.stopped
            if moving and self.connected(source, target):
                self.bridges[target].items.hear(message)

        self.later(self.rng.random() * 0.2, arrive)

    def publish(self) -> None:
        """Somebody in the domain publishes a sample for the devices; each has another number."""
        self.samples += 1
        values, time = (self.samples, "down"), round(self.now * 1e9)
        for bridge in self._moving():
            for guid, entity in sorted(bridge.agents):
                if entity == DOWN:
                    bridge.tell(SampleRead(guid, entity, values, time))

    # -- time --------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self.now < end:
            step = self.now + STEP_S
            while self._queue and self._queue[0][0] <= step:
                self.now, _, do = heapq.heappop(self._queue)
                do()
            self.now = step
            self._step()

    def _step(self) -> None:
        if self.now >= self._beat:
            self._beat = self.now + BEAT_S
            self._exchange()
        for bridge in self._moving():
            bridge.step()
        for device in list(self.devices.values()):
            device.step()

    def _exchange(self) -> None:
        """What bridges tell one another: that they are there, and their records."""
        for one in self._moving():
            for other in self._moving():
                if one is not other and self.connected(one.name, other.name):
                    if other.seat.hear(one.seat, self.now, other.now):
                        other.tell(RingChanged())
                    other.items.on_heard(one.name)
                    self._pass_records(one, other)

    def _moving(self) -> list[BridgeProcess]:
        return [one for name, one in self.bridges.items() if name not in self.stopped]

    @staticmethod
    def _pass_records(one: BridgeProcess, other: BridgeProcess) -> None:
        for guid, (sample, record) in list(one.published.items()):
            if other.seen.get((one, guid)) != sample:
                other.seen[one, guid] = sample
                other.tell(RecordHeard(record))
        gone = [key for key in other.seen if key[0] is one and key[1] not in one.published]
        for key in gone:
            del other.seen[key]
            other.tell(RecordWithdrawn(one.name, key[1]))

    # -- lives and deaths --------------------------------------------------------------------------

    def start_bridge(self, name: str) -> None:
        """A bridge is there."""
        self.bridges[name] = BridgeProcess(self, name, self.settings)

    def kill_bridge(self, name: str) -> None:
        """A bridge dies, without a word."""
        self.stopped.pop(name, None)
        del self.bridges[name]

    def stop_bridge(self, name: str) -> None:
        """A bridge stands still (SIGSTOP)."""
        self.stopped[name] = []

    def resume_bridge(self, name: str) -> None:
        """It goes on: with what has waited in its sockets, or with what is due."""
        waited, bridge = self.stopped.pop(name), self.bridges[name]
        if self.rng.random() < 0.5:
            bridge.step()
        for one in waited:
            bridge.tell(one)

    def start_device(self, name: str) -> None:
        """A device is switched on, or again; its memory is empty."""
        former = self.devices.get(name)
        run = former.core.run + 1000 if former else 1 + self.rng.randrange(1000)
        self.devices[name] = DeviceProcess(self, name, run)
