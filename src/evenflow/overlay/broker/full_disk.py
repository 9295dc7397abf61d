"""What an operator is told when a broker's disk fails: what is wrong, which disk, what to do.

SQLite says "database or disk is full", and of some disks that are full "disk I/O error". Neither
names the disk. A broker that cannot write ends, as PostgreSQL does without room for its log: what
it had not committed nobody has heard of, others go on with their copies, and it can be started
again when there is room.
"""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PRIMARY = 0xFF
"""SQLite's extended codes have the primary one in the lowest octet."""


def explained(error: OSError | sqlite3.Error, path: Path) -> str:
    """Return what is wrong with a broker's file, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code == sqlite3.SQLITE_FULL:
        return (
            f"the disk is full: {_disk(path)}. Nothing was acknowledged that is not on disk. "
            "Make room and start the broker again"
        )
    if code == sqlite3.SQLITE_IOERR:
        return f"{error}: {_disk(path)}. Make room or mend the disk, and start the broker again"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{error}; is another broker using it?"
    return str(error)


def _disk(path: Path) -> str:
    """Name the folder of a file, and the disk under it with the room that it has."""
    folder = path.resolve().parent
    mount = next(place for place in (folder, *folder.parents) if place.is_mount())
    usage = shutil.disk_usage(folder)
    room = f"{usage.free / 1e6:,.1f} of {usage.total / 1e6:,.1f} MB free"
    return f"folder {folder} on the disk mounted at {mount} ({room})"
