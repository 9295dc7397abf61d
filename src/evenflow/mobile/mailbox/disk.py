"""A mailbox's disk: a folder with one SQLite file, used by one process at a time.

=============  ====================================================================================
``letters``    a row for each message, with its payload and the names of its nodes, once
``requests``   by which request each came, for repeated ones; the newest
``nodes``      how far each node has everything; when it was seen, its attributes and its place
``meta``       the mailbox's id, made with the file
=============  ====================================================================================

Letters and requests are written in one transaction that is synced (WAL, ``synchronous = FULL``):
what :meth:`MailDisk.keep` has returned from is on disk. The rest (what was had, what is known of
nodes) is gathered and written now and then without a sync of its own. If a crash takes it back, a
node is sent again what it has, and drops it.

Numbers of letters never come back, also when the letters are long forgotten (``AUTOINCREMENT``).
Who throws the folder away gets a new id with the next one, so that nodes do not take its numbers
for those of the old one.

A disk without room refuses letters and nothing else: what could not be forgotten or noted is kept
in memory and tried again. A forgotten letter's room is used again; the file does not shrink.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections import OrderedDict
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.errors import StorageError
from evenflow.folders import sync_folder
from evenflow.mobile.mailbox.folder import lock_folder
from evenflow.mobile.mailbox.records import KeptLetter, KnownNode, Memory
from evenflow.mobile.mailbox.settings import REMEMBERED
from evenflow.model.ids import NodeId
from evenflow.model.messages import Mail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from evenflow.mobile.mailbox.actions import Keep
    from evenflow.mobile.mailbox.delivery import Post

FORMAT: Final = 1
MOST_REQUESTS: Final = 200_000
"""Requests that are remembered, the newest ones."""
CACHED: Final = 16 << 20
"""Bytes of letters that are kept in memory beside the disk, for being sent."""
_LETTERS: Final = """CREATE TABLE letters (
    number INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, audience TEXT NOT NULL,
    time INTEGER NOT NULL, expires INTEGER NOT NULL, nodes TEXT NOT NULL, payload BLOB NOT NULL)"""
_REQUESTS: Final = """CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, number INTEGER NOT NULL,
    recipients INTEGER NOT NULL, UNIQUE (source, number))"""
_NODES: Final = """CREATE TABLE nodes (
    name TEXT PRIMARY KEY, had INTEGER NOT NULL DEFAULT 0, seen REAL NOT NULL DEFAULT 0,
    attributes TEXT NOT NULL DEFAULT '{}', latitude REAL, longitude REAL) WITHOUT ROWID"""
_META: Final = "CREATE TABLE meta (id TEXT NOT NULL)"
_SEPARATOR: Final = "\n"
"""Between the names of a letter's nodes; no name has white space."""


class MailDisk(Closing):
    """The disk of one mailbox.

    Args:
        folder: Its folder; made if it is not there.
        name: The mailbox's name, for a new one.

    Raises:
        StorageError: Another process uses it, or it cannot be used.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder
        self._cache: OrderedDict[int, tuple[Any, ...]] = OrderedDict()
        self._cached = 0
        self._forget: set[int] = set()
        self._had: dict[str, int] = {}
        self._nodes: dict[str, KnownNode] = {}
        self._gone: set[str] = set()
        self.failures = 0
        """Times that the disk refused something."""
        self._lock = lock_folder(folder)
        with ExitStack() as opened:
            opened.callback(os.close, self._lock)
            try:
                self._base = opened.enter_context(closing(_opened(folder / "mail.db")))
                self.id = self._identity(name)
                """The mailbox's id, ``name~run``: new for each folder."""
                sync_folder(folder)
            except sqlite3.Error as error:
                full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
                todo = "make room" if full else "repair or remove it; what waits there is lost then"
                raise StorageError(str(folder), f"{error}: {todo}") from None
            except OSError as error:
                raise StorageError(str(folder), f"cannot be synced: {error.strerror}") from None
            opened.pop_all()

    def load(self) -> Memory:
        """Everything but the payloads."""
        letters = self._base.execute(
            "SELECT number, time, expires, length(payload), nodes FROM letters ORDER BY number"
        )
        nodes = self._base.execute(
            "SELECT name, had, seen, attributes, latitude, longitude FROM nodes"
        )
        requests = self._base.execute("SELECT source, number, recipients FROM requests ORDER BY id")
        newest = self._base.execute("SELECT seq FROM sqlite_sequence WHERE name = 'letters'")
        return Memory(
            newest=int((newest.fetchone() or (0,))[0]),
            letters=[
                KeptLetter(number, sent, expires, octets, tuple(names.split(_SEPARATOR)))
                for number, sent, expires, octets, names in letters
            ],
            nodes=[
                KnownNode(name, had, seen, attributes, None if y is None else (y, x))
                for name, had, seen, attributes, y, x in nodes
            ],
            requests=[(int(row[0], 16), row[1], row[2]) for row in requests],
        )

    def keep(self, letters: Sequence[Keep]) -> None:
        """Write letters and their requests down; they are on disk when this returns.

        Raises:
            StorageError: They are not, none of them.
        """
        with self._transaction("FULL"):
            self._base.executemany(
                "INSERT INTO letters VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (one.number, one.sender, one.group, one.time, one.expires,
                     _SEPARATOR.join(one.nodes), one.payload)
                    for one in letters
                ),
            )  # fmt: skip
            self._base.executemany(
                "INSERT OR REPLACE INTO requests (source, number, recipients) VALUES (?, ?, ?)",
                ((f"{one.source:016x}", one.request, len(one.nodes)) for one in letters),
            )
            self._base.executemany(
                "DELETE FROM requests WHERE source = ? AND number <= ?",
                ((f"{one.source:016x}", one.request - REMEMBERED) for one in letters),
            )
            self._base.execute(
                "DELETE FROM requests WHERE id <= (SELECT max(id) FROM requests) - ?",
                (MOST_REQUESTS,),
            )
        for one in letters:
            self._remember(one.number, (one.sender, one.group, one.time, one.expires, one.payload))

    def mail(self, mailbox: str, post: Post) -> Mail | None:
        """The message to a gateway that a post stands for; None: the letter is forgotten."""
        found = self._letter(post.number)
        if found is None:
            return None
        sender, group, sent, expires, payload = found
        numbers = (post.number,) * len(post.nodes)
        return Mail(
            mailbox, post.nodes, numbers, post.previous, sender, group, sent, expires, payload
        )

    # -- what may be lost -------------------------------------------------------------------------

    def forget(self, numbers: Iterable[int]) -> None:
        """Letters are not wanted any more."""
        for number in numbers:
            self._forget.add(number)
            dropped = self._cache.pop(number, None)
            if dropped is not None:
                self._cached -= len(dropped[-1])

    def note_had(self, node: str, number: int) -> None:
        """A node has everything up to a number."""
        self._had[node] = number
        self._gone.discard(node)

    def note_node(self, node: KnownNode) -> None:
        """What is known of a node."""
        self._nodes[node.name] = node
        self._gone.discard(node.name)

    def forget_nodes(self, names: Iterable[str]) -> None:
        """Nodes are not known any more."""
        for name in names:
            self._gone.add(name)
            self._had.pop(name, None)
            self._nodes.pop(name, None)

    def flush(self) -> bool:
        """Write down what was noted since; False when the disk does not take it, for now."""
        if not (self._forget or self._had or self._nodes or self._gone):
            return True
        try:
            with self._transaction("NORMAL"):
                self._write_notes()
        except StorageError:
            return False
        self._forget.clear()
        self._had.clear()
        self._nodes.clear()
        self._gone.clear()
        return True

    def _write_notes(self) -> None:
        self._base.executemany(
            "INSERT INTO nodes (name, seen, attributes, latitude, longitude)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET seen = excluded.seen,"
            " attributes = excluded.attributes, latitude = excluded.latitude,"
            " longitude = excluded.longitude",
            (
                (one.name, one.seen, one.attributes, *(one.place or (None, None)))
                for one in self._nodes.values()
            ),
        )
        self._base.executemany(
            "INSERT INTO nodes (name, had) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET had = excluded.had",
            self._had.items(),
        )
        self._base.executemany("DELETE FROM nodes WHERE name = ?", ((one,) for one in self._gone))
        self._base.executemany(
            "DELETE FROM letters WHERE number = ?", ((one,) for one in self._forget)
        )

    def close(self) -> None:
        """Write down what was noted, and let others use the folder."""
        self.flush()
        self._base.close()
        os.close(self._lock)

    # -- SQLite -----------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, synchronous: str) -> Iterator[None]:
        """One transaction; `StorageError` when it is not done."""
        try:
            self._base.execute(f"PRAGMA synchronous = {synchronous}")
            self._base.execute("BEGIN IMMEDIATE")
            yield
            self._base.execute("COMMIT")
        except sqlite3.Error as error:
            self.failures += 1
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            raise StorageError(str(self.path), f"the disk refuses it: {error}") from None

    def _letter(self, number: int) -> tuple[Any, ...] | None:
        found = self._cache.get(number)
        if found is None and number not in self._forget:
            rows = self._base.execute(
                "SELECT sender, audience, time, expires, payload FROM letters WHERE number = ?",
                (number,),
            )
            found = rows.fetchone()
            if found is not None:
                self._remember(number, found)
        return found

    def _remember(self, number: int, letter: tuple[Any, ...]) -> None:
        self._cache[number] = letter
        self._cached += len(letter[-1])
        while self._cached > CACHED:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= len(dropped[-1])

    def _identity(self, name: str) -> str:
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            made = NodeId.of(name, secrets.token_hex(3))
            self._base.execute("BEGIN")
            for statement in (_LETTERS, _REQUESTS, _NODES, _META):
                self._base.execute(statement)
            self._base.execute("INSERT INTO meta VALUES (?)", (made,))
            self._base.execute(f"PRAGMA user_version = {FORMAT}")
            self._base.execute("COMMIT")
            return made
        if version != FORMAT:
            raise sqlite3.DatabaseError(f"format {version}; this is evenflow with format {FORMAT}")
        return str(self._base.execute("SELECT id FROM meta").fetchone()[0])


def _opened(file: Path) -> sqlite3.Connection:
    base = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = FULL")
    base.execute("SELECT count(*) FROM sqlite_master")
    return base
