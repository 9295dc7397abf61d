"""A broker's disk in memory: what `evenflow.overlay.broker.disk.SqliteStore` does, in dictionaries.

It survives the death of its broker when the cluster keeps it, as a disk does. Every write counts at
once, so `commit` has nothing to do.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.protocol.messages import Message, PublisherState, ShelfId
    from evenflow.overlay.replica.record import Record


class MemoryStore:
    """The copies of one broker; a `evenflow.overlay.ports.Store`."""

    def __init__(self) -> None:
        self.records: dict[ShelfId, Record] = {}
        self.messages: dict[ShelfId, dict[int, Message]] = {}
        """Messages of each shelf, by their time."""
        self._committed: dict[ShelfId, int] = {}
        self._times: dict[ShelfId, list[int]] = {}
        self._publishers: dict[ShelfId, dict[int, PublisherState]] = {}

    def load(self) -> list[tuple[Record, int]]:
        """Return all copies, each with the time up to which it was committed."""
        return [(record, self._committed[shelf]) for shelf, record in self.records.items()]

    def save(self, record: Record) -> None:
        """Write a record, new or changed."""
        if record.shelf not in self.records:
            self._committed[record.shelf] = 0
            self.messages[record.shelf] = {}
            self._times[record.shelf] = []
            self._publishers[record.shelf] = {}
        self.records[record.shelf] = record

    def drop(self, shelf: ShelfId) -> None:
        """Delete a copy with all it has."""
        del self.records[shelf], self.messages[shelf]
        del self._committed[shelf], self._times[shelf], self._publishers[shelf]

    def append(self, shelf: ShelfId, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        for message in messages:
            self.messages[shelf][message.time] = message
        self._times[shelf] = sorted(self.messages[shelf])
        self._committed[shelf] = committed

    def remove(self, shelf: ShelfId, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        for time in list(self.messages[shelf]):
            if time >= start and (end is None or time < end):
                del self.messages[shelf][time]
        self._times[shelf] = sorted(self.messages[shelf])

    def read(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int = 1 << 20
    ) -> list[Message]:
        """Return messages from a time up to another, in order; at least one when there is one."""
        times = self._times[shelf]
        found: list[Message] = []
        for time in times[bisect_left(times, start) : bisect_left(times, end)][:limit]:
            max_bytes -= len(self.messages[shelf][time].payload)
            if found and max_bytes < 0:
                break
            found.append(self.messages[shelf][time])
        return found

    def last(self, shelf: ShelfId) -> int:
        """Return the time of the newest message, 0 when there is none."""
        return self._times[shelf][-1] if self._times[shelf] else 0

    def size(self, shelf: ShelfId) -> int:
        """Return the bytes of payload that a copy has."""
        return sum(len(message.payload) for message in self.messages[shelf].values())

    def cut(self, shelf: ShelfId, max_bytes: int) -> int:
        """Return the time from which on the newest messages fit into ``max_bytes``; 0: all fit."""
        begin = 0
        for time in reversed(self._times[shelf]):
            max_bytes -= len(self.messages[shelf][time].payload)
            if max_bytes < 0:
                return begin or time + 1
            begin = time
        return 0

    def publishers(self, shelf: ShelfId) -> dict[int, PublisherState]:
        """Return how far each publisher is stored."""
        return dict(self._publishers[shelf])

    def put_publishers(
        self, shelf: ShelfId, publishers: Iterable[PublisherState], *, replace: bool = False
    ) -> None:
        """Write how far publishers are stored; ``replace`` forgets all others."""
        given = {state.publisher: state for state in publishers}
        if replace:
            self._publishers[shelf] = {}
        self._publishers[shelf].update(given)

    def commit(self) -> None:
        """Do nothing: every write counts at once."""
