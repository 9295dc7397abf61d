"""Snapshots of an application's states at the store: what is written, read and waited for.

The rules are in ``docs/protocol.md``, "State after a crash". The store is somebody else's to talk
to: this core names one *job* after the other, the same one until it is done, and is told what the
log says. A job may be done twice, late, or by a node that is dead meanwhile: what counts is decided
by the log alone (:mod:`~evenflow.slices.node.application.state_log`).

``Claim``
    Write a claim of slices that were taken, and read the log.
``Fetch``
    Read the states of a snapshot.
``Write``
    Write a snapshot of slices that have changed, and read the log.

A round begins every so often when the one before is stored, with at most `MOST_SLICES` slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.slices.node.application.state_log import StateLog

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from evenflow.slices.node.application.state_log import StateRecord
    from evenflow.slices.node.settings import NodeSettings

MOST_SLICES: Final = 256
"""Slices in one round; others come in the next, which follows at once."""


@dataclass(frozen=True, slots=True)
class Row:
    """The state of a slice, and the positions that it agrees with."""

    slice: int
    term: int
    positions: Mapping[int, int]
    """Up to which number the items of each writer are in the state."""
    state: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim slices, and read the log."""

    number: int
    slices: tuple[int, ...]
    terms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Store a snapshot, and read the log."""

    number: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Read states of a snapshot, of slices that were claimed under these terms."""

    record: StateRecord
    slices: tuple[int, ...]
    terms: tuple[int, ...]


Job = Claim | Write | Fetch


class Source(Enum):
    """Where a slice goes on from."""

    NOTHING = auto()
    """There is no snapshot."""
    OWN = auto()
    """What the node has of it itself: nobody else has committed anything since."""
    SNAPSHOT = auto()
    LOST = auto()
    """There should be a snapshot, and it is not there."""


class Begun(NamedTuple):
    """The log has said where a slice goes on from."""

    slice: int
    term: int
    source: Source
    row: Row | None = None


class Saved(NamedTuple):
    """A snapshot counts: what is in it may be committed."""

    rows: tuple[Row, ...]


class Snapshots:
    """The snapshots of one node and topic.

    Args:
        node: The node.
        every: Seconds between two rounds.
        limit: Bytes that a state may have.
    """

    def __init__(self, node: str, every: float, limit: int) -> None:
        self.log = StateLog()
        self.unsaved: dict[int, str] = {}
        """Slices whose state could not be stored the last time, and why."""
        self.rounds = 0
        """Snapshots that were stored."""
        self._node = node
        self._every = every
        self._limit = limit
        self._changed: dict[int, None] = {}
        """Slices that have come further than their newest snapshot; who waits longest is first."""
        self._claims: dict[int, tuple[int, int]] = {}
        """Slices to be claimed: the term of each, and that of the state that is here."""
        self._fetches: list[Fetch] = []
        self._write: Write | None = None
        self._job: Job | None = None
        self._taken: dict[int, tuple[int, dict[int, int]]] = {}
        """Slices whose states are being given: the term and the positions of each."""
        self._gone: set[int] = set()
        """Slices that were dropped while their states were being given or written."""
        self._number = 0
        self._next = 0.0

    # -- slices ---------------------------------------------------------------------------------

    def claim(self, slice_id: int, term: int, own: int) -> None:
        """A slice was taken: nothing of it is certain before the log has been read.

        Args:
            slice_id: The slice.
            term: The term under which it was taken.
            own: The term under which the node has a state of it; 0: it has none.
        """
        self._claims[slice_id] = (term, own)
        self._changed.pop(slice_id, None)
        self._gone.discard(slice_id)

    def change(self, slice_id: int) -> None:
        """A slice has come further, or came from another node."""
        self._changed[slice_id] = None
        self._gone.discard(slice_id)

    def drop(self, slices: Collection[int]) -> None:
        """Slices are somebody else's."""
        for slice_id in slices:
            for kept in (self._claims, self._changed, self.unsaved):
                kept.pop(slice_id, None)
        if self._taken or self._write is not None:
            self._gone.update(slices)

    @property
    def behind(self) -> int:
        """Slices of which something is in no snapshot that counts: it is not committed."""
        written = () if self._write is None else (row.slice for row in self._write.rows)
        return len({*self._changed, *self._taken, *written} - self._gone)

    # -- rounds ---------------------------------------------------------------------------------

    def due(self, now: float, usable: Callable[[int], bool]) -> tuple[int, ...]:
        """The slices whose states are to be given now; those that are not usable wait."""
        if now < self._next or self._write is not None or self._taken or not self._changed:
            return ()
        self._gone.clear()
        found = tuple(islice(filter(usable, self._changed), MOST_SLICES))
        self._next = now + (self._every if len(found) < MOST_SLICES else 0.0)
        return found

    def begin(self, positions: Mapping[int, tuple[int, dict[int, int]]]) -> None:
        """The application is asked for states: these are their terms and positions."""
        self._taken = dict(positions)
        for slice_id in positions:
            self._changed.pop(slice_id, None)

    def end(self, states: Mapping[int, bytes], faults: Mapping[int, str]) -> None:
        """The application has given them, as far as it could."""
        rows = []
        for slice_id, (term, positions) in self._taken.items():
            state = states.get(slice_id)
            fault = faults.get(slice_id, "") or self._fault_of(state)
            if state is None or fault:
                self._put_back(slice_id, fault)
            else:
                self.unsaved.pop(slice_id, None)
                rows.append(Row(slice_id, term, positions, state))
        self._taken = {}
        if rows:
            self._write = Write(self._count(), tuple(rows))

    def _put_back(self, slice_id: int, fault: str = "") -> None:
        """The state of a slice is still to be stored, unless the slice has gone meanwhile."""
        if slice_id not in self._gone:
            self._changed.setdefault(slice_id)
            if fault:
                self.unsaved[slice_id] = fault

    def _fault_of(self, state: bytes | None) -> str:
        if state is None:
            return "it was not given"
        if len(state) > self._limit:
            return f"it has {len(state):,} bytes, more than node.state_bytes = {self._limit:,}"
        return ""

    def _count(self) -> int:
        self._number += 1
        return self._number

    # -- the store ------------------------------------------------------------------------------

    def next_job(self) -> Job | None:
        """What is to be done at the store now: the same until the log says that it is done."""
        if self._job is None:
            if self._claims:
                slices = tuple(sorted(self._claims))
                terms = tuple(self._claims[slice_id][0] for slice_id in slices)
                self._job = Claim(self._count(), slices, terms)
            elif self._fetches:
                self._job = self._fetches.pop(0)
            else:
                self._job = self._write
        return self._job

    def on_records(self, records: Iterable[StateRecord]) -> list[Begun | Saved]:
        """The log goes on with these."""
        happened: list[Begun | Saved] = []
        for record in records:
            counting = self.log.add(record)
            job = self._job
            if record.node != self._node or isinstance(job, Fetch | None):
                continue
            if record.number == job.number:
                self._job = None
                happened += self._on_done(job, counting)
        return happened

    def _on_done(self, job: Claim | Write, counting: frozenset[int]) -> list[Begun | Saved]:
        if isinstance(job, Claim):
            return list(self._on_claimed(job, counting))
        self._write = None
        self.rounds += 1
        for row in job.rows:
            if row.slice not in counting:
                self._put_back(row.slice)
        return [Saved(tuple(row for row in job.rows if row.slice in counting))]

    def _on_claimed(self, job: Claim, counting: frozenset[int]) -> list[Begun]:
        """What the log has before the claim is the last word on these slices."""
        begun: list[Begun] = []
        wanted: dict[StateRecord, list[tuple[int, int]]] = {}
        for slice_id, term in zip(job.slices, job.terms, strict=True):
            claimed, own = self._claims.get(slice_id, (0, 0))
            if claimed != term:
                continue  # dropped, or taken again under another term
            del self._claims[slice_id]
            if slice_id not in counting:
                continue  # somebody owns it under a newer term: the map will tell
            found = self.log.newest(slice_id)
            if own and (found is None or found.term <= own):
                begun.append(Begun(slice_id, term, Source.OWN))
            elif found is None:
                begun.append(Begun(slice_id, term, Source.NOTHING))
            else:
                wanted.setdefault(found.record, []).append((slice_id, term))
        for record, claims in wanted.items():
            slices, terms = zip(*claims, strict=True)
            self._fetches.append(Fetch(record, slices, terms))
        return begun

    def on_states(self, fetch: Fetch, rows: Iterable[Row]) -> list[Begun]:
        """The states of a snapshot, as far as they are there."""
        if self._job != fetch:
            return []
        self._job = None
        found = {row.slice: row for row in rows}
        begun = []
        for slice_id, term in zip(fetch.slices, fetch.terms, strict=True):
            row = found.get(slice_id)
            if row is None and self.log.term_of(slice_id) > term:
                continue  # trimmed, because another node owns it and has stored more
            source = Source.LOST if row is None else Source.SNAPSHOT
            begun.append(Begun(slice_id, term, source, row))
        return begun


def snapshots_of(node: str, settings: NodeSettings) -> Snapshots | None:
    """The snapshots of a node; None when its states are not stored."""
    if not (settings.stateful and settings.durable):
        return None
    return Snapshots(node, settings.snapshot_every, settings.state_bytes)
