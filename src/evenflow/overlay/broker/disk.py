"""A broker's disk: SQLite with a write-ahead log.

SQLite was chosen by measurement over LMDB (``docs/store.md``): a commit of the few messages that
gather while the disk is busy takes half the time, and that is what every acknowledgement waits for.
The key of a message is (shelf, time), so a range of times is one walk through the tree.

``commit`` is the only call that touches the disk for sure. It may run in another thread, while
nothing else is called but ``close``, which waits for it.

The first write that fails is the last. SQLite may have rolled the transaction back or not, so what
is left of it may be half of what a core has handled: it is never committed, and every later write
raises the same error again. What was committed before is whole, and is there when the file is
opened anew.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from evenflow.errors import DecodeError, StorageError
from evenflow.folders import make_folder
from evenflow.overlay.broker.full_disk import explained
from evenflow.overlay.protocol.codec import Codec
from evenflow.overlay.protocol.messages import Member, Message, PublisherState, ShelfId
from evenflow.overlay.replica.record import Record, Vote

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS shelves (
    id INTEGER PRIMARY KEY, record BLOB NOT NULL, committed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS messages (
    shelf INTEGER NOT NULL, time INTEGER NOT NULL, publisher INTEGER NOT NULL,
    sequence INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (shelf, time)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS publishers (
    shelf INTEGER NOT NULL, publisher INTEGER NOT NULL, sequence INTEGER NOT NULL,
    time INTEGER NOT NULL, PRIMARY KEY (shelf, publisher)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes (
    id INTEGER PRIMARY KEY, shelf BLOB NOT NULL UNIQUE, vote BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS members (name TEXT PRIMARY KEY, member BLOB NOT NULL) WITHOUT ROWID;
"""
VERSION = 2
"""Of the layout; a file of an earlier one has no configurations, and cannot be used."""

_RECORDS = Codec(Record)
_VOTES = Codec(Vote)
_MEMBERS = Codec(Member)
_FOREVER = (1 << 63) - 1


class SqliteStore:
    """The copies of one broker, in one file.

    Args:
        path: The file.
        sync: Whether a commit waits for the disk; without, it survives the process alone.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self._path = path
        self._ids: dict[ShelfId, int] = {}
        self._sizes: dict[ShelfId, int] = {}
        self._writing = False
        self._failure: StorageError | None = None
        self._committing = threading.Lock()
        try:
            make_folder(path.parent)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(str(path), explained(error, path)) from None
        try:
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(f"PRAGMA synchronous={'FULL' if sync else 'OFF'}")
            self._check_version(path)
            self._db.executescript(SCHEMA)
        except sqlite3.Error as error:
            self._db.close()
            raise StorageError(str(path), explained(error, path)) from None

    def _check_version(self, path: Path) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables and version != VERSION:
            self._db.close()
            raise StorageError(
                str(path),
                f"it has layout {version}, and this version of Evenflow reads {VERSION}: run the"
                " version that wrote it, or start one broker after the other with an empty folder"
                " (--data); the others give it their copies, but topics of level 1 have only this",
            )
        self._db.execute(f"PRAGMA user_version = {VERSION}")

    def load(self) -> list[tuple[Record, int]]:
        """Return all copies, each with the time up to which it was committed."""
        found = []
        for number, encoded, committed in self._run("SELECT * FROM shelves").fetchall():
            record: Record = self._decoded(_RECORDS, encoded)
            self._ids[record.shelf] = number
            found.append((record, committed))
        for shelf, number in self._ids.items():
            (total,) = self._run(
                "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM messages WHERE shelf = ?", (number,)
            ).fetchone()
            self._sizes[shelf] = total
        return found

    def save(self, record: Record) -> None:
        """Write a record, new or changed."""
        self._begin()
        encoded = _RECORDS.encode(record)
        if record.shelf in self._ids:
            number = self._ids[record.shelf]
            self._run("UPDATE shelves SET record = ? WHERE id = ?", (encoded, number))
            return
        done = self._run("INSERT INTO shelves (record) VALUES (?)", (encoded,))
        assert done.lastrowid is not None
        self._ids[record.shelf] = done.lastrowid
        self._sizes[record.shelf] = 0

    def drop(self, shelf: ShelfId) -> None:
        """Delete a copy with all it has."""
        self._begin()
        number = self._ids.pop(shelf)
        self._sizes.pop(shelf)
        self._run("DELETE FROM shelves WHERE id = ?", (number,))
        self._run("DELETE FROM messages WHERE shelf = ?", (number,))
        self._run("DELETE FROM publishers WHERE shelf = ?", (number,))

    def append(self, shelf: ShelfId, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        self._begin()
        number = self._ids[shelf]
        rows = [(number, m.time, m.publisher, m.sequence, m.payload) for m in messages]
        if rows:
            self._sizes[shelf] += sum(len(row[4]) for row in rows) - self._present(rows)
            self._run_many("REPLACE INTO messages VALUES (?, ?, ?, ?, ?)", rows)
        self._run("UPDATE shelves SET committed = ? WHERE id = ?", (committed, number))

    def _present(self, rows: list[tuple[int, int, int, int, bytes]]) -> int:
        """Return the bytes of the messages that rows in order of time will replace."""
        times = {row[1] for row in rows}
        found = self._run(
            "SELECT time, LENGTH(payload) FROM messages WHERE shelf = ? AND time BETWEEN ? AND ?",
            (rows[0][0], rows[0][1], rows[-1][1]),
        )
        return sum(size for time, size in found if time in times)

    def remove(self, shelf: ShelfId, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        self._begin()
        span = (self._ids[shelf], start, _FOREVER if end is None else end)
        (freed,) = self._run(
            "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM messages"
            " WHERE shelf = ? AND time >= ? AND time < ?",
            span,
        ).fetchone()
        self._run("DELETE FROM messages WHERE shelf = ? AND time >= ? AND time < ?", span)
        self._sizes[shelf] -= freed

    def read(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int = 1 << 20
    ) -> list[Message]:
        """Return messages from a time up to another, in order; at least one when there is one."""
        found: list[Message] = []
        rows = self._run(
            "SELECT time, publisher, sequence, payload FROM messages"
            " WHERE shelf = ? AND time >= ? AND time < ? ORDER BY time LIMIT ?",
            (self._ids[shelf], start, end, limit),
        )
        for row in rows:
            max_bytes -= len(row[3])
            if found and max_bytes < 0:
                break
            found.append(Message(*row))
        return found

    def newest(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int
    ) -> list[Message]:
        """Return the newest messages of a time range, in order; at least one if there is one."""
        rows = self._run(
            "SELECT time, publisher, sequence, payload FROM messages"
            " WHERE shelf = ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT ?",
            (self._ids[shelf], start, end, limit),
        )
        found: list[Message] = []
        for row in rows:
            max_bytes -= len(row[3])
            if found and max_bytes < 0:
                break
            found.append(Message(*row))
        return found[::-1]

    def last(self, shelf: ShelfId) -> int:
        """Return the time of the newest message, 0 when there is none."""
        (time,) = self._run(
            "SELECT COALESCE(MAX(time), 0) FROM messages WHERE shelf = ?", (self._ids[shelf],)
        ).fetchone()
        return int(time)

    def size(self, shelf: ShelfId) -> int:
        """Return the bytes of payload that a copy has."""
        return self._sizes[shelf]

    def cut(self, shelf: ShelfId, max_bytes: int) -> int:
        """Return the time from which on the newest messages fit into ``max_bytes``; 0: all fit."""
        begin = 0
        rows = self._run(
            "SELECT time, LENGTH(payload) FROM messages WHERE shelf = ? ORDER BY time DESC",
            (self._ids[shelf],),
        )
        for time, size in rows:
            max_bytes -= size
            if max_bytes < 0:
                return begin or int(time) + 1
            begin = int(time)
        return 0

    def publishers(self, shelf: ShelfId) -> dict[int, PublisherState]:
        """Return how far each publisher is stored."""
        rows = self._run(
            "SELECT publisher, sequence, time FROM publishers WHERE shelf = ?", (self._ids[shelf],)
        )
        return {row[0]: PublisherState(*row) for row in rows}

    def put_publishers(
        self, shelf: ShelfId, publishers: Iterable[PublisherState], *, replace: bool = False
    ) -> None:
        """Write how far publishers are stored; ``replace`` forgets all others."""
        self._begin()
        number = self._ids[shelf]
        if replace:
            self._run("DELETE FROM publishers WHERE shelf = ?", (number,))
        self._run_many(
            "REPLACE INTO publishers VALUES (?, ?, ?, ?)",
            [(number, p.publisher, p.sequence, p.time) for p in publishers],
        )

    def votes(self) -> list[Vote]:
        """Return what was written down about configurations, oldest first."""
        rows = self._run("SELECT vote FROM votes ORDER BY id").fetchall()
        return [self._decoded(_VOTES, row[0]) for row in rows]

    def save_vote(self, vote: Vote) -> None:
        """Write a vote, new or changed."""
        self._begin()
        self._run(
            "INSERT INTO votes (shelf, vote) VALUES (?, ?)"
            " ON CONFLICT (shelf) DO UPDATE SET vote = excluded.vote",
            (_VOTES.encode(vote.shelf), _VOTES.encode(vote)),
        )

    def drop_vote(self, shelf: ShelfId) -> None:
        """Delete a vote."""
        self._begin()
        self._run("DELETE FROM votes WHERE shelf = ?", (_VOTES.encode(shelf),))

    def members(self) -> list[Member]:
        """Return the brokers that were known."""
        rows = self._run("SELECT member FROM members").fetchall()
        return [self._decoded(_MEMBERS, row[0]) for row in rows]

    def save_member(self, member: Member) -> None:
        """Write what is known of a broker."""
        self._begin()
        row = (member.name, _MEMBERS.encode(member))
        self._run("REPLACE INTO members VALUES (?, ?)", row)

    def _decoded(self, codec: Codec, data: bytes) -> Any:
        try:
            return codec.decode(data)
        except DecodeError as error:
            raise StorageError(str(self._path), str(error)) from None

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, values)
        except sqlite3.Error as error:
            self._fail(error)

    def _run_many(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            self._fail(error)

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        self._failure = StorageError(str(self._path), explained(error, self._path))
        raise self._failure from None

    def _begin(self) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if not self._writing:
            self._run("BEGIN")
            self._writing = True

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        return self._writing

    def commit(self) -> None:
        """Bring all that was written to the disk.

        Raises:
            StorageError: It is not there, now or since an earlier write.
        """
        with self._committing:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self._writing:
                self._run("COMMIT")
                self._writing = False

    def limit(self, pages: int) -> None:
        """Let the file have no more pages than these, or than it has: further writes fail."""
        self._run(f"PRAGMA max_page_count = {max(1, pages)}")

    def abandon(self) -> None:
        """Close the file without what was not committed, as a crash does."""
        with self._committing:
            if self._db.in_transaction:
                self._db.rollback()
            self._writing = False
            self._db.close()

    def close(self) -> None:
        """Commit and close the file; what belongs to a write that failed is not committed."""
        if self._failure is None:
            self.commit()
        self.abandon()
