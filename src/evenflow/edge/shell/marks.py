"""How far each client's items are accepted, on disk: the marks of all topics in one SQLite file.

The marks of a unit are written and synced before the unit itself goes to the outbox, with the
unit's number and the marks before it. So after a crash between the two the marks are one step
ahead, and the outbox says so: a mark whose unit is newer than the newest in the outbox is taken
back to what it was before (:meth:`Marks.recover`). One unit of a topic is on its way at a time, so
a mark is never more than one step ahead; one that is shows that marks and outbox do not belong
together.

The marks of a client's former run are deleted when they are as old as ``KEEP_S`` and it has had
another run since: nobody sends its items again.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.errors import StorageError
from evenflow.folders import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evenflow.edge.actions import Client, Mark

KEEP_S: Final = 30 * 86_400.0
# On disk a client is called node and a door gateway: files were made before there were others.
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS marks (
        node TEXT NOT NULL, run TEXT NOT NULL, topic TEXT NOT NULL,
        number INTEGER NOT NULL, unit INTEGER NOT NULL, before INTEGER NOT NULL,
        time REAL NOT NULL,
        PRIMARY KEY (node, run, topic)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS forgotten (gateway TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class Marks(Closing):
    """The marks of one door; any thread may ask.

    Args:
        file: The database; made when it is not there.

    Raises:
        StorageError: It cannot be used.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            make_folder(file.parent)
            self._writer = self._open()
            self._writer.executescript(_TABLES)
            # A reader of its own: it does not wait while the other one syncs.
            self._reader = self._open()
        except (OSError, sqlite3.Error) as error:
            raise StorageError(str(file), f"marks cannot be kept here: {error}") from None
        self._writing, self._reading = threading.Lock(), threading.Lock()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        # Synced at every commit: a unit must not be on disk without its marks.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def recover(self, topic: str, newest_unit: int) -> int:
        """Take back the marks of a unit that the outbox does not have; return how many.

        Raises:
            StorageError: The marks are ahead of the outbox by more than a crash explains.
        """
        with self._writing:
            ahead = self._writer.execute(
                "SELECT max(unit) FROM marks WHERE topic = ?", (topic,)
            ).fetchone()[0]
            if ahead is not None and ahead > newest_unit + 1:
                raise StorageError(
                    str(self._file),
                    f"knows unit {ahead} of topic {topic!r}, the outbox beside it only"
                    f" {newest_unit}: they do not belong together. Put back the folder whole, or"
                    " begin under another name",
                )
            done = self._execute(
                "UPDATE marks SET number = before, unit = ? WHERE topic = ? AND unit > ?",
                (newest_unit, topic, newest_unit),
            )
            return done.rowcount

    def write(self, topic: str, unit: int, marks: Mapping[Client, Mark], wall: float) -> None:
        """Write the marks of a unit and sync.

        Raises:
            StorageError: The disk is full or has failed.
        """
        rows = [
            (client, run, topic, mark.number, unit, mark.before, wall)
            for (client, run), mark in marks.items()
        ]
        with self._writing:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                self._writer.executemany("REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                self._writer.execute("COMMIT")
            except sqlite3.Error as error:
                todo = "clients keep what is not safe: make room or mend the disk, and start again"
                raise StorageError(str(self._file), f"cannot be written: {error}; {todo}") from None

    def of(self, client: str, run: str) -> dict[str, int]:
        """How far a run of a client is accepted, by topic."""
        with self._reading:
            found = self._reader.execute(
                "SELECT topic, number FROM marks WHERE node = ? AND run = ?", (client, run)
            )
            return {topic: number for topic, number in found if number}

    def tidy(self, wall: float) -> int:
        """Delete the marks of former runs that are old; return how many."""
        with self._writing:
            done = self._execute(
                "DELETE FROM marks WHERE time < ? AND EXISTS (SELECT 1 FROM marks AS newer"
                " WHERE newer.node = marks.node AND newer.run != marks.run"
                " AND newer.time > marks.time)",
                (wall - KEEP_S,),
            )
            return done.rowcount

    # -- doors that were given up ------------------------------------------------------------------

    def forgotten(self) -> list[str]:
        """Doors that an operator has given up."""
        with self._reading:
            return [name for (name,) in self._reader.execute("SELECT gateway FROM forgotten")]

    def forget(self, doors: Iterable[str]) -> None:
        """Remember that doors were given up."""
        with self._writing:
            for door in doors:
                self._execute("INSERT OR IGNORE INTO forgotten VALUES (?)", (door,))

    def _execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._writer.execute(statement, values)
        except sqlite3.Error as error:
            raise StorageError(str(self._file), f"cannot be written: {error}") from None

    def close(self) -> None:
        """Close the file."""
        with self._writing, self._reading, closing(self._reader), closing(self._writer):
            pass
