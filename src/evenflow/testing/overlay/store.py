"""A broker's disk in memory: what `evenflow.overlay.broker.disk.SqliteStore` does, in dictionaries.

It survives the death of its broker when the cluster keeps it, as a disk does: what was committed is
there again after `abandon`, and the rest is gone.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.overlay.protocol.messages import Member, Message, PublisherState, ShelfId
    from evenflow.overlay.replica.record import Record, Vote


class MemoryStore:
    """The copies of one broker; a `evenflow.overlay.ports.Store`."""

    def __init__(self) -> None:
        self.full = False
        """Whether the disk takes no more: the next commit fails."""
        self._undo: list[Callable[[], object]] = []
        """How to go back to what was committed, the newest write last."""
        self._kept: set[ShelfId] = set()
        self._votes: dict[ShelfId, Vote] = {}
        self._members: dict[str, Member] = {}
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
        self._keep(record.shelf)
        if record.shelf not in self.records:
            self._committed[record.shelf] = 0
            self.messages[record.shelf] = {}
            self._times[record.shelf] = []
            self._publishers[record.shelf] = {}
        self.records[record.shelf] = record

    def drop(self, shelf: ShelfId) -> None:
        """Delete a copy with all it has."""
        self._keep(shelf)
        del self.records[shelf], self.messages[shelf]
        del self._committed[shelf], self._times[shelf], self._publishers[shelf]

    def append(self, shelf: ShelfId, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        self._keep(shelf)
        for message in messages:
            self.messages[shelf][message.time] = message
        self._times[shelf] = sorted(self.messages[shelf])
        self._committed[shelf] = committed

    def remove(self, shelf: ShelfId, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        self._keep(shelf)
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

    def newest(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int
    ) -> list[Message]:
        """Return the newest messages of a time range, in order; at least one if there is one."""
        times = self._times[shelf]
        found: list[Message] = []
        for time in times[bisect_left(times, start) : bisect_left(times, end)][-limit:][::-1]:
            max_bytes -= len(self.messages[shelf][time].payload)
            if found and max_bytes < 0:
                break
            found.append(self.messages[shelf][time])
        return found[::-1]

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
        self._keep(shelf)
        given = {state.publisher: state for state in publishers}
        if replace:
            self._publishers[shelf] = {}
        self._publishers[shelf].update(given)

    def votes(self) -> list[Vote]:
        """Return what was written down about configurations, oldest first."""
        return list(self._votes.values())

    def save_vote(self, vote: Vote) -> None:
        """Write a vote, new or changed."""
        self._undo.append(partial(_put_back, self._votes, vote.shelf, self._votes.get(vote.shelf)))
        self._votes[vote.shelf] = vote

    def drop_vote(self, shelf: ShelfId) -> None:
        """Delete a vote."""
        self._undo.append(partial(_put_back, self._votes, shelf, self._votes.get(shelf)))
        self._votes.pop(shelf, None)

    def members(self) -> list[Member]:
        """Return the brokers that were known."""
        return list(self._members.values())

    def save_member(self, member: Member) -> None:
        """Write what is known of a broker."""
        name = member.name
        self._undo.append(partial(_put_back, self._members, name, self._members.get(name)))
        self._members[name] = member

    def limit(self, pages: int) -> None:
        """Let the disk take no more (0), or have room again."""
        self.full = not pages

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        return bool(self._undo)

    def commit(self) -> None:
        """Bring all that was written to the disk."""
        if self.full and self._undo:
            raise StorageError("memory", "the disk is full")
        self._undo.clear()
        self._kept.clear()

    def abandon(self) -> None:
        """Go back to what was committed, as a crash does."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        self._kept.clear()

    def _keep(self, shelf: ShelfId) -> None:
        """Note how a shelf was when it was committed last."""
        if shelf in self._kept:
            return
        self._kept.add(shelf)
        tables: tuple[dict[ShelfId, Any], ...] = (
            self.records, self.messages, self._committed, self._times, self._publishers,
        )  # fmt: skip
        for table in tables:
            found = table.get(shelf)
            before = found.copy() if isinstance(found, dict | list) else found
            self._undo.append(partial(_put_back, table, shelf, before))


def _put_back(table: dict[Any, Any], key: Any, before: Any) -> None:
    if before is None:
        table.pop(key, None)
    else:
        table[key] = before
