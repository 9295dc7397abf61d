"""What a client keeps across a restart: a folder with an SQLite file.

Items, their numbers, who may have accepted them, the run, the newest connection, and what of the
node's messages is had. Every :meth:`write` is one transaction, synced before it returns
(write-ahead log, ``synchronous = FULL``): what was promised survives ``kill -9`` and the power.
A folder belongs to one process at a time, by a lock (``flock``) that goes with the process however
it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.errors import OutboxRefused, StorageError
from evenflow.folders import make_folder
from evenflow.forking import watch, watch_no_more
from evenflow.mobile.client.events import (
    DropItem,
    ForgetItems,
    KeepItem,
    NameTopic,
    NoteConnection,
    NoteMark,
    NoteTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.mobile.client.events import Note

FILE: Final = "client.sqlite"
_VERSION: Final = 2
_SINCE_1: Final = "ALTER TABLE items ADD COLUMN headers BLOB NOT NULL DEFAULT x''"
"""Format 1 had no headers."""
_SCHEMA: Final = """
    CREATE TABLE state (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE topics (
        topic TEXT PRIMARY KEY, safe INTEGER NOT NULL, sent INTEGER NOT NULL, holder TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE items (
        sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, time INTEGER NOT NULL,
        payload BLOB NOT NULL, headers BLOB NOT NULL DEFAULT x''
    );
    CREATE TABLE marks (mailbox TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
"""
_TOPIC: Final = "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)"
_STATE: Final = "INSERT OR REPLACE INTO state VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a disk has."""

    run: str
    connection: int
    topics: tuple[NoteTopic, ...]
    items: tuple[KeepItem, ...]
    marks: dict[str, int]


class ClientDisk:
    """The folder of a client's outbox, locked.

    Args:
        folder: Made if it is not there.
        node: Whose it is; the folder of another node is refused.

    Raises:
        OutboxRefused: It is another node's, or another process uses it.
        StorageError: It cannot be used, or is damaged.
    """

    def __init__(self, folder: Path, node: str) -> None:
        self.folder = folder
        self._path = folder / FILE
        try:
            make_folder(folder)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(str(folder), f"cannot be an outbox: {error.strerror}") from None
        try:
            self._take_lock(folder)
            with self._explained():
                self._open(node)
        except BaseException:
            os.close(self._lock)
            raise
        watch(self, ClientDisk._close_in_child)

    def _take_lock(self, folder: Path) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 200, 0).decode(errors="replace").strip() or "a process"
            raise OutboxRefused(
                str(folder), f"{holder} uses it: stop that one, or give another folder"
            ) from None
        os.ftruncate(self._lock, 0)
        # The name is only told; a full disk is found, and told in words, by what needs the room.
        with suppress(OSError):
            os.pwrite(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _open(self, node: str) -> None:
        # One thread at a time uses it, but not always the same one.
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            with self._transaction():
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(_STATE, ("node", node))
                self._db.execute(_STATE, ("run", secrets.token_hex(8)))
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
        elif version == 1:
            with self._transaction():
                self._db.execute(_SINCE_1)
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
        elif version != _VERSION:
            raise StorageError(
                str(self._path), f"has format {version}, this Evenflow reads {_VERSION}"
            )
        (sound,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise StorageError(str(self._path), _damage(sound))
        owner = self._state()["node"]
        if owner != node:
            raise OutboxRefused(
                str(self._path.parent), f"it belongs to node {owner!r}: give {node!r} another one"
            )

    def load(self) -> Kept:
        """Return what was kept.

        Raises:
            StorageError: It cannot be read.
        """
        with self._explained():
            state = self._state()
            topics = self._db.execute("SELECT topic, safe, sent, holder FROM topics")
            items = self._db.execute("SELECT * FROM items ORDER BY sequence")
            marks = self._db.execute("SELECT mailbox, number FROM marks")
            return Kept(
                str(state["run"]),
                int(state.get("connection", 0)),
                tuple(NoteTopic(*row) for row in topics),
                tuple(KeepItem(*row) for row in items),
                dict(marks.fetchall()),
            )

    def _state(self) -> dict[str, str]:
        return dict(self._db.execute("SELECT key, value FROM state").fetchall())

    def write(self, notes: Iterable[Note]) -> None:
        """Write notes, in order and all or none of them, and sync.

        Raises:
            StorageError: They are not written: the disk is full, or fails.
        """
        with self._explained(), self._transaction():
            for note in notes:
                self._write(note)

    def _write(self, note: Note) -> None:
        run = self._db.execute
        match note:
            case KeepItem(sequence, topic, time, payload, headers):
                row = sequence, topic, time, payload, headers
                run("INSERT INTO items VALUES (?, ?, ?, ?, ?)", row)
            case NoteTopic(topic, safe, sent, holder):
                run(_TOPIC, (topic, safe, sent, holder))
            case ForgetItems(topic, sequence, safe, sent, holder):
                run(_TOPIC, (topic, safe, sent, holder))
                run("DELETE FROM items WHERE topic = ? AND sequence <= ?", (topic, sequence))
            case DropItem(sequence):
                run("DELETE FROM items WHERE sequence = ?", (sequence,))
            case NameTopic(topic):
                run("UPDATE items SET topic = ? WHERE topic = ''", (topic,))
            case NoteConnection(number):
                run(_STATE, ("connection", number))
            case NoteMark(mailbox, number):
                run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (mailbox, number))

    def _close_in_child(self) -> None:
        """Here the lock would outlive the process that has the folder."""
        os.close(self._lock)

    def close(self) -> None:
        """Let others use the folder."""
        watch_no_more(self)
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        os.close(self._lock)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(str(self._path), _cause(error)) from None
        except (sqlite3.DatabaseError, KeyError, ValueError) as error:
            raise StorageError(str(self._path), _damage(str(error))) from None


def _cause(error: sqlite3.OperationalError) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # Python's own: what it read is no text
        return _damage(str(error))
    if code == sqlite3.SQLITE_FULL:
        return (
            "the disk is full. What was published before is kept there: make room, then"
            " connect again"
        )
    return f"{error}; look at the disk, then connect again"


def _damage(reason: str) -> str:
    return (
        f"it is damaged: {reason}. Nothing was changed. Put it back from a copy that is not older"
        " than what the node has sent; or keep the folder aside and connect with an empty one:"
        " what lies here is then not sent"
    )
