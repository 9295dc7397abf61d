"""A folder that one process uses at a time.

An exclusive lock (``flock``) on the file ``lock``, which goes with the process however it ends. The
file says who has it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from evenflow.errors import StorageError
from evenflow.folders import make_folder

if TYPE_CHECKING:
    from pathlib import Path


def lock_folder(folder: Path) -> int:
    """Lock a folder, made if it is not there, until the returned file is closed.

    Raises:
        StorageError: Another process uses it, or it cannot be made.
    """
    try:
        make_folder(folder)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(str(folder), f"cannot hold a mailbox: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 200, 0).decode(errors="replace").strip() or "a process"
        os.close(lock)
        raise StorageError(
            str(folder), f"{holder} uses it: stop that one, or give another name"
        ) from None
    os.ftruncate(lock, 0)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    # The name is only told; a full disk is found, and told in words, by what needs the room.
    with suppress(OSError):
        holder = f"process {os.getpid()} on {socket.gethostname()} since {since}\n"
        os.pwrite(lock, holder.encode(), 0)
    return lock
