"""How many files a process may open, and how many of them connections may take.

A TCP connection is an open file. A process that has none left cannot write what it has accepted, so
whoever opens a thousand connections would end a gateway. So the limit is raised as far as the
system allows, and some files are kept for the process itself.

The kernel gives a new file the smallest number that is free. So the number of a connection's file
says how many there are, of the whole process and without counting.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

SPARE: Final = 512
"""Files that no connection takes: for disk and domain, and for connections that are turned away."""


def files_for_connections() -> int:
    """Raise the limit, and return the number that the file of a connection must be below."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # not allowed: go on with what there is
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return max(soft - SPARE, soft // 2)
