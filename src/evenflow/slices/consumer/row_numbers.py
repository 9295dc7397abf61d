"""Which numbers the rows of a record batch have: runs of consecutive ones, in the order of rows.

A record batch joins the items of many samples. Its metadata says where they come from: for each run
of rows the slice, the writer, and the first and last number. So a reader whose stream breaks off
knows how far it is, and one that keeps the items knows each of them by writer, slice and number,
which nothing else has.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evenflow.errors import DecodeError
from evenflow.slices.consumer.ticket import cursor_from_json, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.batch import Batch


class Run(NamedTuple):
    """Rows of one slice and writer with consecutive numbers."""

    slice: int
    writer: int
    first: int
    last: int

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first + 1


def runs_of(batches: Iterable[Batch]) -> list[Run]:
    """Return the runs of the rows of these batches, joined in their order."""
    runs: list[Run] = []
    for batch in batches:
        before = runs[-1] if runs else None
        if before is not None and (before.slice, before.writer, before.last + 1) == (
            batch.slice,
            batch.writer,
            batch.first,
        ):
            runs[-1] = before._replace(last=batch.last)
        else:
            runs.append(Run(batch.slice, batch.writer, batch.first, batch.last))
    return runs


def encode_runs(runs: Iterable[Run]) -> bytes:
    """Write runs as JSON."""
    return json.dumps([[r.slice, writer_name(r.writer), r.last, r.first] for r in runs]).encode()


def decode_runs(encoded: bytes) -> list[Run]:
    """Read runs; `DecodeError` when these are none."""
    try:
        found: Any = json.loads(encoded)
    except (ValueError, RecursionError):
        raise DecodeError("runs: not JSON", size=len(encoded)) from None
    if not isinstance(found, list) or not all(isinstance(r, list) and len(r) == 4 for r in found):
        raise DecodeError("runs: must be rows of slice, writer, last and first", size=len(encoded))
    runs = []
    for row in found:
        ((place, last),) = cursor_from_json([row[:3]]).items()
        ((_, first),) = cursor_from_json([[*row[:2], row[3]]]).items()
        if first > last:
            raise DecodeError(f"runs: {first} is not up to {last}", size=len(encoded))
        runs.append(Run(*place, first, last))
    return runs


def reached(runs: Iterable[Run]) -> dict[tuple[int, int], int]:
    """Return how far a reader is in each slice and writer after these rows."""
    return {(run.slice, run.writer): run.last for run in runs}
