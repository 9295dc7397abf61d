"""The folder of an outbox: its lock, its segment files, what is written and synced.

A folder belongs to one process at a time: an exclusive lock (``flock``) on the file ``lock``, which
goes with the process however it ends. A segment is made under another name, reserved on disk, given
its state, synced, and then renamed: what is called a segment begins with a state. Every change of
names is synced too, also that of the folder itself.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.errors import OutboxRefused, StorageError
from evenflow.folders import make_folder
from evenflow.forking import watch, watch_no_more

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.model.batch import Encoded

_SEGMENT: Final = re.compile(r"(\d{12})\.segment")
_DRAFT: Final = ".draft"
_MOST_PIECES: Final = 1_000
"""Pieces of one write; the system takes no more than 1024."""


class OutboxFolder:
    """The files of one outbox, locked.

    Raises:
        OutboxRefused: Another process uses it.
        StorageError: It cannot be made or read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._newest = -1
        self._map: mmap.mmap | None = None
        self._map_size = 0
        try:
            make_folder(path)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StorageError(str(path), f"cannot be an outbox: {error.strerror}") from None
        self._take_lock()
        watch(self, OutboxFolder._close_in_child)
        for draft in path.glob(f"*{_DRAFT}"):
            draft.unlink()

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 200, 0).decode(errors="replace").strip() or "a process"
            os.close(self._lock)
            os.close(self._folder)
            reason = f"{holder} uses it: stop that one, or give another folder"
            raise OutboxRefused(str(self.path), reason, in_use=True) from None
        except OSError as error:
            os.close(self._lock)
            os.close(self._folder)
            raise StorageError(str(self.path), f"cannot be locked: {error.strerror}") from None
        os.ftruncate(self._lock, 0)
        # The name is only told; a full disk is found, and told in words, by what needs the room.
        with suppress(OSError):
            os.pwrite(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    # -- segments ---------------------------------------------------------------------------------

    def segments(self) -> list[tuple[int, memoryview]]:
        """All segments, the oldest first, mapped."""
        found = []
        for path in sorted(self.path.iterdir()):
            name = _SEGMENT.fullmatch(path.name)
            if name is not None:
                found.append((int(name[1]), _mapped(path)))
        return found

    def begin(self, index: int, size: int, head: Sequence[Encoded]) -> None:
        """Make a segment of this size that begins so; it is the newest from now on.

        Raises:
            OSError: There is no room; nothing has changed.
        """
        path = self._path(index)
        draft = path.with_suffix(_DRAFT)
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(file, 0, size)
            _write(file, head, 0)
            os.fsync(file)
            draft.rename(path)
            os.fsync(self._folder)
        except OSError:
            os.close(file)
            draft.unlink(missing_ok=True)
            raise
        if self._newest >= 0:
            os.close(self._newest)
        self._newest, self._map, self._map_size = file, None, size

    def write(self, pieces: Sequence[Encoded], at: int) -> None:
        """Write into the newest segment, and sync."""
        _write(self._newest, pieces, at)
        os.fdatasync(self._newest)

    def view(self, start: int, end: int) -> memoryview:
        """What lies in the newest segment, mapped."""
        if self._map is None:
            self._map = mmap.mmap(self._newest, self._map_size, access=mmap.ACCESS_READ)
        return memoryview(self._map)[start:end]

    def cut(self, index: int, end: int) -> None:
        """Give back what a segment does not use, or must not have."""
        with self._path(index).open("r+b") as file:
            if os.fstat(file.fileno()).st_size > end:
                os.ftruncate(file.fileno(), end)
                os.fsync(file.fileno())

    def delete(self, indexes: Sequence[int]) -> None:
        """Delete segments, the oldest first."""
        for index in indexes:
            self._path(index).unlink(missing_ok=True)
        if indexes:
            os.fsync(self._folder)

    def _close_in_child(self) -> None:
        """Here the lock would outlive the process that has the folder."""
        self.close()

    def close(self) -> None:
        """Let others use the folder."""
        watch_no_more(self)
        if self._newest >= 0:
            os.close(self._newest)
        os.close(self._folder)
        os.close(self._lock)

    def _path(self, index: int) -> Path:
        return self.path / f"{index:012d}.segment"


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))


def _write(file: int, pieces: Sequence[Encoded], at: int) -> None:
    for begin in range(0, len(pieces), _MOST_PIECES):
        some = [piece for piece in pieces[begin : begin + _MOST_PIECES] if len(piece)]
        size = sum(map(len, some))
        written = os.pwritev(file, some, at)
        if written < size:
            # Rare: a signal, or very large. Once more, by one piece.
            rest = b"".join(some)
            while written < size:
                written += os.pwrite(file, rest[written:], at + written)
        at += size
