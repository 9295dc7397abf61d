"""The application of the experiments: notes when which item was processed, and adds the notes up.

Each node appends ``(id, published, processed)`` of its items, times in microseconds since 1970, to
a file of its own, before it says that they are processed. Who published what is known to the
experiment, so the files tell what was lost, what was repeated and how long each item took.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.model.batch import Batch, Int64s

FILE_VARIABLE = "EVENFLOW_ARRIVALS"
_files: dict[str, int] = {}


def note(batch: Batch) -> None:
    """Note a batch; for ``evenflow node --app evenflow_experiments.slices.arrivals:note``."""
    path = os.environ[FILE_VARIABLE]
    if path not in _files:
        _files[path] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    notes = np.empty((batch.count, 3), np.int64)
    notes[:, 0] = batch.ids
    notes[:, 1] = batch.times
    notes[:, 2] = time.time_ns() // 1000
    os.write(_files[path], notes.tobytes())


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The notes of all nodes together."""

    ids: Int64s
    published: Int64s
    processed: Int64s

    @classmethod
    def read(cls, folder: Path) -> Arrivals:
        """Read the notes of all nodes, ``*.arrivals`` in a folder."""
        files = [np.fromfile(file, np.int64) for file in sorted(folder.glob("*.arrivals"))]
        notes = np.concatenate([np.empty(0, np.int64), *files]).reshape(-1, 3)
        return cls(notes[:, 0], notes[:, 1], notes[:, 2])

    def lost(self, published: int) -> int:
        """How many of the ids 1 to ``published`` were never processed."""
        return published - len(np.unique(self.ids))

    @property
    def repeated(self) -> int:
        """How many items were processed again."""
        return len(self.ids) - len(np.unique(self.ids))

    def delays_ms(
        self, start_s: float, end_s: float
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Delays of the items published between two moments of the wall clock."""
        chosen = (self.published >= start_s * 1e6) & (self.published <= end_s * 1e6)
        return (self.processed[chosen] - self.published[chosen]) / 1000.0
