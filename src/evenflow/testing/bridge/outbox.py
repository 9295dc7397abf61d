"""A model of what a bridge accepts of its devices' items: disks that live, processes that die.

As small as the rules of docs/mobile.md allow. A disk holds how far each run of a device is
accepted, and outlives its process; everything else (what is on its way to the disk, which sessions
are fenced off) is lost with the process. The book lists every acceptance of all bridges: it is what
tests look into.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.bridge.events import AskSettled, ItemSafe, ItemSettled, TakeItem

if TYPE_CHECKING:
    from collections.abc import Callable

Client = tuple[bytes, int, str]
"""A device, its run, and a topic."""


@dataclass(slots=True)
class Book:
    """Every item that was accepted, by whom, in order."""

    entries: list[tuple[str, Client, int]] = field(default_factory=list)

    def numbers(self, guid: bytes, run: int) -> list[int]:
        """The items of a run that were accepted, in the order of acceptance."""
        return [number for _, client, number in self.entries if client[:2] == (guid, run)]

    def repeated(self) -> list[tuple[Client, int]]:
        """Items that were accepted more than once."""
        counts = Counter((client, number) for _, client, number in self.entries)
        return [entry for entry, count in counts.items() if count > 1]


@dataclass(slots=True)
class Disk:
    """Outlives the bridge's process."""

    marks: dict[Client, int] = field(default_factory=dict)


class Outbox:
    """What one process of a bridge does about items.

    Args:
        bridge: Its name.
        disk: Its disk.
        book: Where acceptances are listed.
    """

    def __init__(self, bridge: str, disk: Disk, book: Book) -> None:
        self._bridge = bridge
        self._disk = disk
        self._book = book
        self._fences: dict[tuple[bytes, int], int] = {}
        self._in_flight: dict[Client, int] = {}
        self._waiting: dict[Client, list[Callable[[int], None]]] = {}

    def take(self, item: TakeItem) -> Client | None:
        """An item is on its way to the disk, unless its session is fenced off."""
        client = (item.guid, item.run, item.topic)
        if item.session < self._fences.get(client[:2], 0):
            return None
        self._in_flight[client] = self._in_flight.get(client, 0) + 1
        return client

    def sync(self, item: TakeItem) -> ItemSafe:
        """It is there."""
        client = (item.guid, item.run, item.topic)
        if item.number > self._disk.marks.get(client, 0):
            self._disk.marks[client] = item.number
            self._book.entries.append((self._bridge, client, item.number))
        self._in_flight[client] -= 1
        if not self._in_flight[client]:
            del self._in_flight[client]
            for answer in self._waiting.pop(client, []):
                answer(self._disk.marks.get(client, 0))
        return ItemSafe(*client, self._disk.marks[client])

    def settle(self, ask: AskSettled, answer: Callable[[ItemSettled], None]) -> None:
        """Say how far this bridge is, when nothing is on its way; nothing older is taken then."""
        key = (ask.guid, ask.run)
        if ask.session < self._fences.get(key, 0):
            return
        self._fences[key] = ask.session
        client = (ask.guid, ask.run, ask.topic)

        def say(number: int) -> None:
            if ask.session >= self._fences[key]:
                told = (ask.guid, ask.run, ask.session, ask.topic, self._bridge, number)
                answer(ItemSettled(*told))

        if client in self._in_flight:
            self._waiting.setdefault(client, []).append(say)
        else:
            say(self._disk.marks.get(client, 0))
