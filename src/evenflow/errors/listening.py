"""Why a process cannot listen at an address, in words and without the system's numbers."""

from __future__ import annotations

import errno
from typing import Final

_REASONS: Final = {
    errno.EADDRINUSE: "another program listens there: stop it",
    errno.EADDRNOTAVAIL: "this machine has no such address",
    errno.EACCES: "ports below 1024 are for root",
}


def why_not_listening(error: OSError) -> str:
    """Say what is wrong with the address."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))
