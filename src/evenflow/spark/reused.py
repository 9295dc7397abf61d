"""Spares Spark's Python processes what each task would pay for again.

Spark uses a process for many tasks. Two things it does for every one of them cost more than what a
small micro-batch asks of the task, 70 ms of CPU in all:

* Before a task, Python forgets what it knows of the module path, and reads the directory of every
  archive on it anew. One is always there: Spark's core JAR, 6,000 classes and no Python module.
* After a task, garbage is collected, among all that was ever imported.

So the JAR is taken off the path, and what is there once everything is imported is set aside.

And of a large one: every record batch comes into memory of its own, which the C library would give
back to the system and ask for anew, page by page. It keeps some of it instead.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Final

REUSED: Final = "SPARK_REUSE_WORKER"
"""Spark sets it in the environment of processes that it means to use again."""
KEPT_BYTES: Final = 64 << 20
"""Memory that a process keeps at most, when what it was needed for is gone."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
_settled: Final[set[str]] = set()


def settle(work: str) -> None:
    """Call when all that some kind of work needs is imported: the first time, set it aside."""
    if REUSED not in os.environ or work in _settled:
        return
    _settled.add(work)
    leave_jars()
    keep_memory()
    gc.collect()
    gc.freeze()


def leave_jars() -> None:
    """Look for modules in Java's archives no more."""
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(".jar")]
    for entry in [entry for entry in sys.path_importer_cache if entry.endswith(".jar")]:
        del sys.path_importer_cache[entry]


def keep_memory() -> None:
    """Let the C library, if it is glibc, keep freed memory for the next record batch."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, KEPT_BYTES // 2)
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
