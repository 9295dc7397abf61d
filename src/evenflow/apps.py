"""Small ready-made applications for ``evenflow node --app``: to look at a stream, to try things."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.model.batch import Batch


def discard(batch: Batch) -> None:
    """Process nothing: the cost of everything but the application."""
    del batch


def echo(batch: Batch) -> None:
    """Print every item: slice, sender, id and the payload as text."""
    for item in batch:
        text = item.payload.decode(errors="replace")
        sys.stdout.write(f"{batch.slice}\t{item.sender}\t{item.id}\t{text}\n")
    sys.stdout.flush()


def busy(batch: Batch) -> None:
    """Work for a millisecond of CPU time on each item."""
    end = time.thread_time() + 0.001 * len(batch)
    while time.thread_time() < end:
        pass
