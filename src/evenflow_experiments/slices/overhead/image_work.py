"""The image application of a giving node: notes what CPU time its images cost, and when.

What a move costs a node is a few milliseconds, about as much as two images. So that neither hides
the other, each image's CPU time is written down, and taken off the CPU clock of the process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenflow_experiments.slices.arrivals import FILE_VARIABLE, note
from evenflow_experiments.slices.images import to_grayscale

if TYPE_CHECKING:
    from evenflow.model.batch import Batch, Int64s

APP = "evenflow_experiments.slices.overhead.image_work:convert"
SUFFIX = ".work"


def convert(batch: Batch) -> None:
    """Convert the images of a batch; write down each, then note the batch; under `APP`."""
    rows = np.empty((batch.count, 3), np.int64)
    for row, item in zip(rows, batch, strict=True):
        began, used = time.time_ns(), time.thread_time_ns()
        to_grayscale(item.payload)
        row[:] = began, time.time_ns(), time.thread_time_ns() - used
    with Path(os.environ[FILE_VARIABLE]).with_suffix(SUFFIX).open("ab") as file:
        file.write(rows.tobytes())
    note(batch)


def read_work(folder: Path, name: str) -> Int64s:
    """What a node has written: rows of begin, end, and CPU time, in nanoseconds."""
    file = folder / f"{name}{SUFFIX}"
    rows = np.fromfile(file, np.int64) if file.exists() else np.empty(0, np.int64)
    return rows.reshape(-1, 3)
