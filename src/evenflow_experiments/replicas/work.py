"""What an item costs the application, the same in both set-ups."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evenflow_experiments.slices.arrivals import note

if TYPE_CHECKING:
    from evenflow.model.batch import Batch

APP: Final = "evenflow_experiments.replicas.work:work_and_note"
ITEM_S: Final = 0.001
"""CPU seconds of an item."""


def work() -> None:
    """Use the CPU for as long as an item takes."""
    end = time.thread_time() + ITEM_S
    while time.thread_time() < end:
        pass


def work_and_note(batch: Batch) -> None:
    """Process a batch; for ``evenflow node --app``, under the name `APP`."""
    for _ in range(batch.count):
        work()
    note(batch)
