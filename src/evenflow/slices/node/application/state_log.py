"""The log of snapshots: whose records count, in the order in which the store keeps them.

Of a durable topic every node writes into one log at the store: *claims*, when it has been given
slices, and *snapshots* of the states of its slices. The states themselves lie beside it; a record
names where. All who read the log fold it in the same order by the same rule, so they agree.

**What counts.** A record counts for a slice when no record before it names a newer term for the
slice, or the same term and a later round of its node. So a claim fences: nothing of an older term
counts behind it, whenever it was written. And what a node wrote and the network brought late does
not replace what the same node wrote afterwards.

**What nobody needs.** What counts only moves on. So everything before the oldest of the snapshots
that count, one for each slice, is needed by nobody: neither the states that were stored before its
own, nor the records before its own. Whoever has read the log may have both trimmed, at any time.
Who reads it from there on finds the same: the record of a slice's newest snapshot is behind that
point, and sets the fence that the trimmed ones have led to. It may take an older one for counting
before it has come that far; nothing is decided before the log is read up to its end.
"""

from __future__ import annotations

from typing import NamedTuple


class StateRecord(NamedTuple):
    """A claim, or a snapshot of some slices."""

    node: str
    """Who wrote it."""
    number: int
    """Its round: claims and snapshots of a node are counted together."""
    slices: tuple[int, ...]
    terms: tuple[int, ...]
    """Under which term the node owned each."""
    bundle: str = ""
    """Names the states; empty: it is a claim."""
    since: int = 0
    """None of the states was stored before this time of the store."""
    until: int = 0
    """None of them was stored at this time or later."""
    at: int = 0
    """When the record itself was stored, in the log."""


class Found(NamedTuple):
    """The newest snapshot of a slice that counts."""

    term: int
    record: StateRecord


class Superseded(NamedTuple):
    """Up to which times of the store nobody needs anything any more."""

    states: int
    records: int


class StateLog:
    """The log of one topic, as far as it was read."""

    def __init__(self) -> None:
        self._newest: dict[int, Found] = {}
        self._fences: dict[int, tuple[int, int]] = {}
        """Of each slice the newest term, and the latest round under it."""

    def add(self, record: StateRecord) -> frozenset[int]:
        """Read on; return the slices for which the record counts."""
        counting = set()
        for slice_id, term in zip(record.slices, record.terms, strict=True):
            fence = (term, record.number)
            if fence < self._fences.get(slice_id, (0, 0)):
                continue
            counting.add(slice_id)
            self._fences[slice_id] = fence
            if record.bundle:
                self._newest[slice_id] = Found(term, record)
        return frozenset(counting)

    def superseded(self, slice_count: int) -> Superseded | None:
        """Up to where nobody needs states and records; None: a slice has no snapshot yet."""
        found = [self._newest.get(slice_id) for slice_id in range(slice_count)]
        records = [each.record for each in found if each is not None]
        if not records or len(records) < slice_count:
            return None
        return Superseded(min(r.since for r in records), min(r.at for r in records))

    def term_of(self, slice_id: int) -> int:
        """The newest term that anybody has claimed or stored a slice under; 0: none."""
        return self._fences.get(slice_id, (0, 0))[0]

    def newest(self, slice_id: int) -> Found | None:
        """The newest snapshot of a slice that counts."""
        return self._newest.get(slice_id)
