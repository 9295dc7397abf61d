"""Forked children, for those who test what is left to the parent."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from evenflow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 20
"""A child that waits for something that only its parent could do is ended."""


def said_by_child(work: Callable[[], object]) -> str:
    """Do something in a forked child; return what it says, an error in words or "done"."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE_S)
        said = "something else"
        try:
            work()
            said = "done"
        except UsageError as error:
            said = str(error)
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said
