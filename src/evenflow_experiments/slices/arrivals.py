"""The application of the experiments: notes when which item was processed, and adds the notes up.

Each node appends ``(id, published, processed)`` of its items, times in microseconds since 1970, to
a file of its own, before it says that they are processed. Who published what is known to the
experiment, so the files tell what was lost, what was repeated and how long each item took.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenflow.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.batch import Batch, Int64s

APP = "evenflow_experiments.slices.arrivals:note"
IMAGE_APP = "evenflow_experiments.slices.arrivals:convert"
FILE_VARIABLE = "EVENFLOW_ARRIVALS"
"""Names the file of a node."""
ROUNDS_VARIABLE = "EVENFLOW_IMAGE_ROUNDS"
"""How often `convert` converts each image: a slower application."""
CALM = "calm"
"""While a file of this name lies beside a node's notes, `convert` converts nothing."""
_files: dict[str, int] = {}


def note(batch: Batch) -> None:
    """Note a batch; for ``evenflow node --app``, under the name `APP`."""
    path = os.environ[FILE_VARIABLE]
    if path not in _files:
        _files[path] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    notes = np.empty((batch.count, 3), np.int64)
    notes[:, 0] = batch.ids
    notes[:, 1] = batch.times
    notes[:, 2] = time.time_ns() // 1000
    os.write(_files[path], notes.tobytes())


def convert(batch: Batch) -> None:
    """Convert a batch of images, then note it; under the name `IMAGE_APP`."""
    from evenflow_experiments.slices.images import to_grayscale  # noqa: PLC0415 - for images alone

    calm = Path(os.environ[FILE_VARIABLE]).with_name(CALM).exists()
    rounds = 0 if calm else int(os.environ.get(ROUNDS_VARIABLE, "1"))
    for item in batch:
        for _ in range(rounds):
            to_grayscale(item.payload)
    note(batch)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The notes of all nodes together."""

    ids: Int64s
    published: Int64s
    processed: Int64s

    @classmethod
    def read(cls, folder: Path) -> Arrivals:
        """Read what all nodes have noted so far, ``*.arrivals`` in a folder."""
        return cls._of(_notes(file) for file in sorted(folder.glob("*.arrivals")))

    def lost(self, published: int) -> int:
        """How many of the ids 1 to ``published`` were never processed."""
        return published - len(np.unique(self.ids))

    @classmethod
    def of_node(cls, folder: Path, name: str) -> Arrivals:
        """Read what one node has noted so far."""
        file = folder / f"{name}.arrivals"
        return cls._of([_notes(file)] if file.exists() else [])

    @classmethod
    def _of(cls, files: Iterable[Int64s]) -> Arrivals:
        notes = np.concatenate([np.empty((0, 3), np.int64), *files])
        return cls(notes[:, 0], notes[:, 1], notes[:, 2])

    @property
    def repeated(self) -> int:
        """How many items were processed again."""
        return len(self.ids) - len(np.unique(self.ids))

    def audit(self, spans: Iterable[range]) -> list[tuple[int, int]]:
        """Count what became of items that several publishers have numbered.

        Args:
            spans: The ids that each publisher has published; those of two are never the same.

        Returns:
            For each: how many were never processed, and how many processed again.
        """
        found, known = [], 0
        for span in spans:
            mine = self.ids[(self.ids >= span.start) & (self.ids < span.stop)] - span.start
            times = np.bincount(mine, minlength=len(span))
            lacking = int(np.count_nonzero(times == 0))
            found.append((lacking, int(np.sum(times[times > 1] - 1))))
            known += len(mine)
        if known != len(self.ids):
            raise ExperimentError(
                "arrivals", f"{len(self.ids) - known} items were processed that nobody published"
            )
        return found

    def delays_ms(
        self, start_s: float, end_s: float
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Delays of the items published between two moments of the wall clock."""
        chosen = (self.published >= start_s * 1e6) & (self.published <= end_s * 1e6)
        return (self.processed[chosen] - self.published[chosen]) / 1000.0


def _notes(file: Path) -> Int64s:
    """The notes of a node, which may still be at work: the last may be there in part."""
    notes = np.fromfile(file, np.int64)
    return notes[: len(notes) - len(notes) % 3].reshape(-1, 3)
