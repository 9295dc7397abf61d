"""The items of devices at a bridge: its real door, on a disk that outlives the process.

What is on its way to the disk when the process dies is lost. The book lists every acceptance of all
bridges: it is what tests look into.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from evenflow.bridge.events import AskSettled, ItemSafe, ItemSettled, TakeItem
from evenflow.bridge.item_door import ItemDoor, bridge_of
from evenflow.edge.actions import Accept, Write
from evenflow.edge.settings import EdgeSettings
from evenflow.model.messages import BridgeReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.bridge.item_door import Done
    from evenflow.testing.bridge.world import BridgeProcess

TOPIC: Final = "items"
SETTINGS: Final = EdgeSettings(settle_s=0.5)


@dataclass(slots=True)
class Book:
    """Every item that was accepted, in order: device, run, number."""

    entries: list[tuple[str, str, int]] = field(default_factory=list)

    def numbers(self, guid: bytes, run: int) -> list[int]:
        """The items of a run that were accepted, in the order of acceptance."""
        client = (guid.hex(), str(run))
        return [number for *whose, number in self.entries if tuple(whose) == client]

    def repeated(self) -> list[tuple[str, str, int]]:
        """Items that were accepted more than once."""
        return [entry for entry, count in Counter(self.entries).items() if count > 1]


@dataclass(slots=True)
class Disk:
    """Outlives the bridge's process."""

    marks: dict[tuple[str, str], int] = field(default_factory=dict)
    unit: int = 0

    def of(self, client: str, run: str) -> Mapping[str, int]:
        """How far a client's run is accepted."""
        number = self.marks.get((client, run))
        return {} if number is None else {TOPIC: number}


class Items:
    """What one process of a bridge does about items.

    Args:
        bridge: The process.
        disk: Its disk.
        book: Where acceptances are listed.
    """

    def __init__(self, bridge: BridgeProcess, disk: Disk, book: Book) -> None:
        self._bridge = bridge
        self._disk = disk
        self._book = book
        self._free = 0.0
        self.door = ItemDoor(
            bridge.name,
            {TOPIC: disk.unit},
            disk.of,
            SETTINGS,
            is_heard=lambda name: name in bridge.ring.heard,
        )

    def take(self, action: TakeItem | AskSettled) -> None:
        """An item, or a question, of a device."""
        do: Callable[..., list[Done]] = (
            self.door.take if isinstance(action, TakeItem) else self.door.ask
        )
        self._perform(do(action, 1, self._now))

    def hear(self, message: object) -> None:
        """What another bridge says."""
        if self._bridge.is_alive:
            self._perform(self.door.hear(message, 1, self._now))

    def on_heard(self, name: str) -> None:
        """Another bridge is there."""
        self.hear(BridgeReport(name, (), 1, "", 0, "", 0, 0, (), (), 0, 0))

    def poll(self) -> None:
        """Do what is due."""
        self._perform(self.door.poll(1, self._now))

    @property
    def _now(self) -> float:
        return self._bridge.now

    def _perform(self, done: Iterable[Done]) -> None:
        world = self._bridge.world
        for action in done:
            match action:
                case ItemSafe() | ItemSettled():
                    self._bridge.tell(action)
                case Accept():
                    # The disk takes one after the other.
                    self._free = max(self._free, world.now) + world.rng.random() * 0.05
                    world.later(self._free - world.now, partial(self._sync, action))
                case Write(message, door):
                    world.pass_on(self._bridge.name, bridge_of(door), message)
                case _:
                    raise AssertionError(action)

    def _sync(self, unit: Accept) -> None:
        if not self._bridge.is_alive:
            return  # it died with the process
        self._disk.unit = unit.unit
        for client, mark in unit.marks.items():
            assert mark.before == self._disk.marks.get(client, 0)
            self._disk.marks[client] = mark.number
        for chunk in unit.chunks:
            whose = (chunk.client, chunk.run)
            self._book.entries += [(*whose, n) for n in range(chunk.first, chunk.last + 1)]
        self._perform(self.door.on_synced(unit.topic, unit.unit, 1, self._now))
