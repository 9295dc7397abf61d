"""The short way to a node on the same machine: a Unix socket beside its address.

A serving node listens on its address, and besides on a socket file of its own. Bytes that cross the
file cost a quarter less than those that cross loopback TCP. A reader that finds the file takes it;
who does not, or finds nobody behind it, takes the address. So nobody has to be told, and nothing of
correctness rests on it.

The name of a file says whose it is: the network namespace, the address and the port, which nobody
else can have at the same time. The folder belongs to one user and is closed to others, so whoever
listens there is a node of that user's. Where there is no such folder, or another process has
another view of it (a container), there is no short way.

A node that is killed leaves its file behind. The next node that starts removes it.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from stat import S_ISDIR
from typing import Final
from urllib.parse import urlsplit

SCHEME: Final = "grpc+unix"
PARENT: Final = Path("/tmp")  # noqa: S108 - not $TMPDIR: readers may have another one
LISTENS_WITHIN_S: Final = 0.2
_NAMESPACE: Final = Path("/proc/self/ns/net")
_LONGEST: Final = 100
"""Bytes of a path that every system takes for a socket."""


def near_location(address: str) -> str | None:
    """Where to reach the node of an address by a file; None when there is no such way."""
    file = socket_file(address)
    return None if file is None or not _is_listening(file) else location(file)


def location(file: Path) -> str:
    """A socket file as Flight names it."""
    return f"{SCHEME}://{file}"


def prepared_file(address: str) -> Path | None:
    """The file that the node of an address shall listen on; None when it cannot.

    Makes the folder, and removes files in it that nobody listens on.
    """
    file = socket_file(address, make=True)
    if file is None:
        return None
    for other in file.parent.glob("*.sock"):
        if other == file or not _is_listening(other):
            other.unlink(missing_ok=True)
    return file


def socket_file(address: str, *, make: bool = False) -> Path | None:
    """The file that belongs to an address, if this user's folder is there and safe."""
    parts = urlsplit(address)
    folder = PARENT / f"evenflow-{os.geteuid()}"
    try:
        if make:
            folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        namespace = _NAMESPACE.stat().st_ino
        file = folder / f"{namespace}-{parts.hostname}-{parts.port}.sock"
    except (OSError, ValueError):
        return None
    is_own = S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    is_safe = is_own and not found.st_mode & 0o077
    return file if is_safe and len(str(file)) <= _LONGEST else None


def _is_listening(file: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(LISTENS_WITHIN_S)
        try:
            probe.connect(str(file))
        except OSError:
            return False
    return True
