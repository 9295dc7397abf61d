"""A broker's disk in memory: what `SqliteStore` does, in dictionaries."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.protocol.messages import Message, Position, Shelf
    from evenflow.overlay.replica.record import Record


class MemoryStore:
    def __init__(self) -> None:
        self.records: dict[Shelf, Record] = {}
        self.committed: dict[Shelf, int] = {}
        self.messages: dict[Shelf, dict[int, Message]] = {}
        self.times: dict[Shelf, list[int]] = {}
        self.places: dict[Shelf, dict[int, Position]] = {}

    def load(self) -> list[tuple[Record, int]]:
        return [(record, self.committed[shelf]) for shelf, record in self.records.items()]

    def save(self, record: Record) -> None:
        if record.shelf not in self.records:
            self.committed[record.shelf] = 0
            self.messages[record.shelf] = {}
            self.times[record.shelf] = []
            self.places[record.shelf] = {}
        self.records[record.shelf] = record

    def drop(self, shelf: Shelf) -> None:
        for table in (self.records, self.committed, self.messages, self.times, self.places):
            del table[shelf]

    def append(self, shelf: Shelf, messages: Iterable[Message], committed: int) -> None:
        for message in messages:
            self.messages[shelf][message.time] = message
        self.times[shelf] = sorted(self.messages[shelf])
        self.committed[shelf] = committed

    def remove(self, shelf: Shelf, start: int, end: int | None) -> None:
        for time in list(self.messages[shelf]):
            if time >= start and (end is None or time < end):
                del self.messages[shelf][time]
        self.times[shelf] = sorted(self.messages[shelf])

    def read(
        self, shelf: Shelf, start: int, end: int, limit: int, octets: int = 1 << 20
    ) -> list[Message]:
        times, found = self.times[shelf], []
        for time in times[bisect_left(times, start) : bisect_left(times, end)][:limit]:
            octets -= len(self.messages[shelf][time].payload)
            if found and octets < 0:
                break
            found.append(self.messages[shelf][time])
        return found

    def last(self, shelf: Shelf) -> int:
        return self.times[shelf][-1] if self.times[shelf] else 0

    def octets(self, shelf: Shelf) -> int:
        return sum(len(message.payload) for message in self.messages[shelf].values())

    def cut(self, shelf: Shelf, octets: int) -> int:
        begin = 0
        for time in reversed(self.times[shelf]):
            octets -= len(self.messages[shelf][time].payload)
            if octets < 0:
                return begin or time + 1
            begin = time
        return 0

    def positions(self, shelf: Shelf) -> dict[int, Position]:
        return dict(self.places[shelf])

    def put_positions(
        self, shelf: Shelf, positions: Iterable[Position], *, anew: bool = False
    ) -> None:
        given = {position.publisher: position for position in positions}
        if anew:
            self.places[shelf] = {}
        self.places[shelf].update(given)

    def commit(self) -> None:
        """Nothing is written later than at once."""
