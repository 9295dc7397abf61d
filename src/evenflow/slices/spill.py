"""Room on disk for batches that memory has no room for.

A batch is its encoded bytes, and its columns are views into them. So a batch on disk is the same
batch over a mapped file: nothing is converted, and whoever reads, replays or hands it over needs to
know nothing of it. The operating system keeps in memory what is being read and takes the rest back.

Files are segments that are filled one after the other. A segment has no name (it is unlinked as
soon as it is made), so a process that is killed leaves nothing behind; and it is given back when
the last batch in it is forgotten. Its blocks are reserved before it is used: a full disk is a
refusal here, never a fault later.

Nothing here outlives the process, and nothing has to: what is uncommitted is still at its publisher
when a node dies, and a publisher that dies takes its memory with it as well.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
import weakref
from pathlib import Path
from typing import Final

from evenflow.errors import ConfigError

LARGE_FILES: Final = Path("/var/tmp")  # noqa: S108 - the files in it have no name
"""Where large temporary files belong: unlike ``/tmp`` it is seldom in memory."""
SEGMENT_BYTES: Final = 16 << 20
"""Size of a segment, unless a single batch is larger."""

_LOG = logging.getLogger(__name__)


def open_spill(table: str, folder: str, limit: int) -> Spill | None:
    """The spill that a table of the configuration asks for; None when it asks for none.

    Raises:
        ConfigError: The folder cannot be written.
    """
    if limit == 0:
        return None
    place = Path(folder) if folder else LARGE_FILES
    if not os.access(place, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{table}.spill_dir", folder, f"a folder that can be written; {place} is not"
        )
    return Spill(place, limit)


class Spill:
    """Keeps encoded batches in files, up to a bound.

    Args:
        folder: Where the files are; it must exist.
        limit: Most bytes that all files together take.
        segment: Size of a file.
    """

    def __init__(self, folder: Path, limit: int, *, segment: int = SEGMENT_BYTES) -> None:
        self.limit = limit
        self.failed = 0
        """How often the disk had no room although the bound was not reached."""
        self._folder = folder
        self._segment_size = min(segment, limit)
        self._segments: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._view = memoryview(b"")
        self._used = 0
        self._no_room = False

    @property
    def room(self) -> int:
        """Bytes that may be kept, as far as is known; 0 while the disk itself is full."""
        free = self.limit - self.size
        segments = 0 if self._no_room or free < self._segment_size else free
        return segments + len(self._view) - self._used

    @property
    def size(self) -> int:
        """Bytes of disk in use."""
        return sum(map(len, self._segments))

    def keep(self, encoded: bytes | memoryview) -> memoryview | None:
        """Keep a batch; return it as it lies on disk, or None when there is no room."""
        size = len(encoded)
        if self._used + size > len(self._view) and not self._open_segment(size):
            return None
        kept = self._view[self._used : self._used + size]
        kept[:] = encoded
        self._used += size
        return kept.toreadonly()

    def _open_segment(self, size: int) -> bool:
        length = max(size, self._segment_size)
        # The segment in use may be the only one, and may be held by nothing but this object.
        self._view, self._used = memoryview(b""), 0
        if self.size + length > self.limit:
            return False
        try:
            with tempfile.TemporaryFile(prefix="evenflow-spill-", dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, length)
                segment = mmap.mmap(file.fileno(), length)
        except OSError as error:
            self.failed += 1
            self._no_room = True
            if self.failed == 1:
                _LOG.error("no room to spill in %s: %s", self._folder, error)
            return False
        self._no_room = False
        self._segments.add(segment)
        self._view = memoryview(segment)
        return True
