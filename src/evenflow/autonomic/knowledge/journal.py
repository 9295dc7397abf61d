"""The journal: entries in an SQLite file that is bounded and never fails who writes to it.

In WAL mode a write costs tens of microseconds and survives the death of the process (that of the
machine may take the last ones). A disk that is full or read-only must not end a balancer: what
cannot be written is counted and told in the log, kept in memory up to a bound, and written when
the disk allows it again. What did not fit into the bound is gone; an entry of the kind ``gap`` then
says how many are missing.

The file is bounded by the number of entries and by their size: the oldest go, but nothing of a plan
that is not over. To be used by one thread at a time.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_LOG = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    kind TEXT NOT NULL,      -- event, plan, action, deed or gap
    name TEXT NOT NULL,      -- id of the event, plan or action; cause of the deed
    plan TEXT NOT NULL,      -- id of the plan; empty when there is none
    state TEXT NOT NULL,     -- phase of the event, state of the plan or action, outcome of the deed
    attempt INTEGER NOT NULL,
    reason TEXT NOT NULL,
    body TEXT NOT NULL       -- properties of an event, contents of a new plan or deed, as JSON
);
CREATE INDEX IF NOT EXISTS entries_of_plan ON entries (plan);
CREATE INDEX IF NOT EXISTS entries_of_event ON entries (kind, name);
CREATE VIEW IF NOT EXISTS finished AS
    SELECT plan FROM entries
    WHERE kind = 'plan' AND state IN ('done', 'rolled back', 'broken');
"""
PRUNE_EVERY = 1_000
"""Entries written between two looks at the bounds."""
MOST_UNWRITTEN = 1_000
"""Entries kept in memory while they cannot be written."""
LOCKED_S = 0.5
"""How long a write may wait for another process."""
GAP = "gap"
_TROUBLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
}
"""What may pass: not a fault of the file, and not of whoever named it."""
_OS_TROUBLE = {errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO}

Row = tuple[float, str, str, str, str, int, str, str]
"""Time, kind, name, plan, state, attempt, reason, body."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    number: int
    time: float
    kind: str
    """``event``, ``plan``, ``action``, ``deed`` or ``gap``."""
    name: str
    plan_id: str
    state: str
    attempt: int
    reason: str
    body: str


class Journal:
    """The file.

    Args:
        path: The file; it is made if it is not there.
        keep: About how many entries are kept.
        keep_octets: About how large they may be together.
        read_only: Only to be read; it must be there.

    Raises:
        ConfigError: The file is no history, or it may not be opened.
    """

    def __init__(self, path: Path, *, keep: int, keep_octets: int, read_only: bool = False) -> None:
        self.failures = 0
        """Times that the disk refused a write."""
        self.missing = 0
        """Entries that were never written and are gone."""
        self._path, self._keep, self._keep_octets = path, keep, keep_octets
        self._written = 0
        self._unwritten: deque[Row] = deque()
        self._untold = 0
        """Missing entries that no entry of the file tells of yet."""
        self._in_trouble = False
        self._db: sqlite3.Connection | None = None
        try:
            self._db = _reader(path) if read_only else _writer(path)
        except (sqlite3.Error, OSError) as error:
            if read_only or not _may_pass(error, path):
                can = "read" if read_only else "written"
                allowed = f"must be a history file that can be {can} ({error})"
                raise ConfigError("history.path", str(path), allowed) from error
            self._count_failure(error)

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()

    def read(self, query: str, *parameters: float | str) -> list[Any]:
        """Rows of a query; none while the file cannot be opened."""
        return self._db.execute(query, parameters).fetchall() if self._db is not None else []

    def write(self, row: Row) -> None:
        """Add an entry, after those that are still to be written."""
        self._unwritten.append(row)
        try:
            if self._db is None:
                self._db = _writer(self._path)
            self._write_all(self._db)
        except (sqlite3.Error, OSError) as error:
            self._count_failure(error)
            if len(self._unwritten) > MOST_UNWRITTEN:
                self._unwritten.popleft()
                self.missing += 1
                self._untold += 1

    def _write_all(self, db: sqlite3.Connection) -> None:
        late = len(self._unwritten) - 1
        if self._untold:
            oldest = self._unwritten[0][0]
            self._insert(db, (oldest, GAP, "", "", "", 0, f"{self._untold} entries missing", ""))
            self._untold = 0
        while self._unwritten:
            self._insert(db, self._unwritten[0])
            self._unwritten.popleft()
        if self._written >= PRUNE_EVERY:
            self._written = 0
            self._prune(db)
        if self._in_trouble:
            self._in_trouble = False
            _LOG.warning(
                "the history %s is written again: %d entries late, %d missing",
                self._path, late, self.missing,
            )  # fmt: skip

    def _insert(self, db: sqlite3.Connection, row: Row) -> None:
        db.execute(
            "INSERT INTO entries (time, kind, name, plan, state, attempt, reason, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        self._written += 1

    def _prune(self, db: sqlite3.Connection) -> None:
        _drop(db, "(SELECT max(number) FROM entries) - ?", self._keep)
        if _octets(db) > self._keep_octets:
            _drop(db, "(SELECT (min(number) + max(number)) / 2 FROM entries) + ?", 0)

    def _count_failure(self, error: Exception) -> None:
        self.failures += 1
        if not self._in_trouble:
            self._in_trouble = True
            _LOG.error(
                "the history %s cannot be written (%s): balancing goes on without it, the newest"
                " %d entries are kept in memory; make room or make it writable",
                self._path, error, MOST_UNWRITTEN,
            )  # fmt: skip


def _writer(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=LOCKED_S)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _reader(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        db.execute("SELECT number FROM entries LIMIT 1")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _may_pass(error: Exception, path: Path) -> bool:
    """Whether the disk is to blame, so that waiting may help."""
    if isinstance(error, OSError):
        return error.errno in _OS_TROUBLE
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN:
        return bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY)
    return code in _TROUBLE


def _octets(db: sqlite3.Connection) -> int:
    """How much of the file is in use."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _drop(db: sqlite3.Connection, upto: str, number: int) -> None:
    """Drop entries up to a number, but nothing of a plan that is not over."""
    db.execute(
        f"DELETE FROM entries WHERE number <= {upto}"  # noqa: S608 - our own text
        " AND (plan = '' OR kind = 'deed' OR plan IN (SELECT plan FROM finished))",
        (number,),
    )
