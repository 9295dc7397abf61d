"""A broker's disk: SQLite with a write-ahead log.

SQLite was chosen by measurement over LMDB (``docs/store.md``): a commit of the few messages that
gather while the disk is busy takes half the time, and that is what every acknowledgement waits for.
The key of a message is (shelf, time), so a range of times is one walk through the tree.

``commit`` is the only call that touches the disk for sure. It may run in another thread, while
nothing else is called.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from evenflow.errors import DecodeError, StorageError
from evenflow.overlay.protocol.framing import Codec
from evenflow.overlay.protocol.messages import Message, Position, Shelf
from evenflow.overlay.replica.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS shelves (
    id INTEGER PRIMARY KEY, record BLOB NOT NULL, committed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS messages (
    shelf INTEGER NOT NULL, time INTEGER NOT NULL, publisher INTEGER NOT NULL,
    sequence INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (shelf, time)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions (
    shelf INTEGER NOT NULL, publisher INTEGER NOT NULL, sequence INTEGER NOT NULL,
    time INTEGER NOT NULL, PRIMARY KEY (shelf, publisher)) WITHOUT ROWID;
"""

_RECORDS = Codec((Record,))
_FOREVER = (1 << 63) - 1


class SqliteStore:
    """The copies of one broker, in one file."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(str(path), f"{error}; is another broker using it?") from None
        self._path = path
        self._ids: dict[Shelf, int] = {}
        self._octets: dict[Shelf, int] = {}
        self._writing = False

    def load(self) -> list[tuple[Record, int]]:
        """Return all copies, each with the time up to which it was committed."""
        found = []
        for number, octets, committed in self._db.execute("SELECT * FROM shelves").fetchall():
            try:
                record: Record = _RECORDS.decode(octets)
            except DecodeError as error:
                raise StorageError(str(self._path), f"shelf {number}: {error}") from None
            self._ids[record.shelf] = number
            found.append((record, committed))
        for shelf, number in self._ids.items():
            (total,) = self._db.execute(
                "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM messages WHERE shelf = ?", (number,)
            ).fetchone()
            self._octets[shelf] = total
        return found

    def save(self, record: Record) -> None:
        """Write a record, new or changed."""
        self._begin()
        octets = _RECORDS.encode(record)
        if record.shelf in self._ids:
            number = self._ids[record.shelf]
            self._db.execute("UPDATE shelves SET record = ? WHERE id = ?", (octets, number))
            return
        done = self._db.execute("INSERT INTO shelves (record) VALUES (?)", (octets,))
        assert done.lastrowid is not None
        self._ids[record.shelf] = done.lastrowid
        self._octets[record.shelf] = 0

    def drop(self, shelf: Shelf) -> None:
        """Delete a copy with all it has."""
        self._begin()
        number = self._ids.pop(shelf)
        self._octets.pop(shelf)
        self._db.execute("DELETE FROM shelves WHERE id = ?", (number,))
        self._db.execute("DELETE FROM messages WHERE shelf = ?", (number,))
        self._db.execute("DELETE FROM positions WHERE shelf = ?", (number,))

    def append(self, shelf: Shelf, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        self._begin()
        number = self._ids[shelf]
        rows = [(number, m.time, m.publisher, m.sequence, m.payload) for m in messages]
        if rows:
            self._octets[shelf] += sum(len(row[4]) for row in rows) - self._present(rows)
            self._db.executemany("REPLACE INTO messages VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute("UPDATE shelves SET committed = ? WHERE id = ?", (committed, number))

    def _present(self, rows: list[tuple[int, int, int, int, bytes]]) -> int:
        """Return the octets of the messages that rows in order of time will replace."""
        times = {row[1] for row in rows}
        found = self._db.execute(
            "SELECT time, LENGTH(payload) FROM messages WHERE shelf = ? AND time BETWEEN ? AND ?",
            (rows[0][0], rows[0][1], rows[-1][1]),
        )
        return sum(size for time, size in found if time in times)

    def remove(self, shelf: Shelf, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        self._begin()
        span = (self._ids[shelf], start, _FOREVER if end is None else end)
        (freed,) = self._db.execute(
            "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM messages"
            " WHERE shelf = ? AND time >= ? AND time < ?",
            span,
        ).fetchone()
        self._db.execute("DELETE FROM messages WHERE shelf = ? AND time >= ? AND time < ?", span)
        self._octets[shelf] -= freed

    def read(
        self, shelf: Shelf, start: int, end: int, limit: int, octets: int = 1 << 20
    ) -> list[Message]:
        """Return messages from a time up to another, in order; at least one when there is one."""
        found: list[Message] = []
        rows = self._db.execute(
            "SELECT time, publisher, sequence, payload FROM messages"
            " WHERE shelf = ? AND time >= ? AND time < ? ORDER BY time LIMIT ?",
            (self._ids[shelf], start, end, limit),
        )
        for row in rows:
            octets -= len(row[3])
            if found and octets < 0:
                break
            found.append(Message(*row))
        return found

    def last(self, shelf: Shelf) -> int:
        """Return the time of the newest message, 0 when there is none."""
        (time,) = self._db.execute(
            "SELECT COALESCE(MAX(time), 0) FROM messages WHERE shelf = ?", (self._ids[shelf],)
        ).fetchone()
        return int(time)

    def octets(self, shelf: Shelf) -> int:
        """Return the payload that a copy has."""
        return self._octets[shelf]

    def cut(self, shelf: Shelf, octets: int) -> int:
        """Return the time from which the newest messages of so many octets begin."""
        begin = 0
        rows = self._db.execute(
            "SELECT time, LENGTH(payload) FROM messages WHERE shelf = ? ORDER BY time DESC",
            (self._ids[shelf],),
        )
        for time, size in rows:
            octets -= size
            if octets < 0:
                return begin or int(time) + 1
            begin = int(time)
        return 0

    def positions(self, shelf: Shelf) -> dict[int, Position]:
        """Return how far each publisher is stored."""
        rows = self._db.execute(
            "SELECT publisher, sequence, time FROM positions WHERE shelf = ?", (self._ids[shelf],)
        )
        return {row[0]: Position(*row) for row in rows}

    def put_positions(
        self, shelf: Shelf, positions: Iterable[Position], *, anew: bool = False
    ) -> None:
        """Write publishers' positions; ``anew`` forgets all others."""
        self._begin()
        number = self._ids[shelf]
        if anew:
            self._db.execute("DELETE FROM positions WHERE shelf = ?", (number,))
        self._db.executemany(
            "REPLACE INTO positions VALUES (?, ?, ?, ?)",
            [(number, p.publisher, p.sequence, p.time) for p in positions],
        )

    def _begin(self) -> None:
        if not self._writing:
            self._db.execute("BEGIN")
            self._writing = True

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        return self._writing

    def commit(self) -> None:
        """Bring all that was written to the disk."""
        if self._writing:
            self._db.execute("COMMIT")
            self._writing = False

    def close(self) -> None:
        """Commit and close the file."""
        self.commit()
        self._db.close()
