"""What becomes of the states of a node's application: between it, the store, and the slices held.

Hands the application its tasks, one after the other. Of a durable topic it also has states given
every so often, with the positions of that moment, and begins slices that were taken as the log at
the store says. The rules are in ``docs/protocol.md``, "State after a crash".

The positions of a snapshot are read when the application is asked for its states: it has nothing in
hand then and is given nothing before it has answered, so both are of one moment, whatever
publishers say meanwhile.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from evenflow.model.messages import SliceState
from evenflow.slices.node.application.snapshots import Saved, Source
from evenflow.slices.node.application.states import GiveState, SnapshotState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.slices.actions import Send
    from evenflow.slices.node.application.snapshots import Begun, Fetch, Job, Row
    from evenflow.slices.node.application.state_log import StateRecord, Superseded
    from evenflow.slices.node.application.states import Task
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.orders import Orders
    from evenflow.slices.node.ownership import Ownership
    from evenflow.slices.node.writers import Writers

REFRESH_S: Final = 60.0
"""How often slices are stored that have not changed: brokers may let old snapshots expire."""

_log = logging.getLogger(__name__)


class StateKeeping:
    """The states of one node and topic.

    Args:
        writers: What is held here, and the states.
        ownership: Which slices are this node's.
        orders: Who waits for states to be given.
    """

    def __init__(self, writers: Writers, ownership: Ownership, orders: Orders) -> None:
        self._writers, self._ownership, self._orders = writers, ownership, orders
        self._cache = writers.cache
        self._states, self._snapshots = writers.states, writers.snapshots
        self._next_refresh = 0.0
        self._told: set[int] = set()
        """Slices of which it was said that their states cannot be stored."""

    # -- the application --------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether the application has something to do before it gets items."""
        return self._states is not None and self._states.pending

    def next_task(self) -> Task | None:
        """What the application, which has nothing in hand, shall do with states now."""
        if self._states is None:
            return None
        task = self._states.next()
        if isinstance(task, SnapshotState) and self._snapshots is not None:
            agreeing = self._states.agreeing(task.slices)
            held = (self._cache.held.get(slice_id) for slice_id in agreeing)
            usable = {one.slice: one for one in held if one is not None and one.usable}
            self._snapshots.begin(
                {one: (each.term, positions_of(each)) for one, each in usable.items()}
            )
            return SnapshotState(tuple(usable))
        return task

    def task_done(
        self, task: Task, given: Mapping[int, bytes], faults: Mapping[int, str]
    ) -> list[Send]:
        """The application is through with a task; it gave these states, or cannot and why."""
        assert self._states is not None
        self._states.finish()
        match task:
            case GiveState(term):
                fault = next(iter(faults.values()), "") or self._states.fault_of(given)
                return self._orders.on_states_given(term, dict(given), fault)
            case SnapshotState() if self._snapshots is not None:
                self._snapshots.end(given, faults)
                self._tell_unsaved(self._snapshots.unsaved)
        return []

    def _tell_unsaved(self, unsaved: Mapping[int, str]) -> None:
        """Once for each slice, until its state can be stored again."""
        self._told &= unsaved.keys()
        for slice_id in unsaved.keys() - self._told:
            self._told.add(slice_id)
            _log.error(
                "the state of slice %d is not stored, and nothing of it committed, for now: %s",
                slice_id,
                unsaved[slice_id],
            )

    def poll(self, now: float) -> None:
        """Have states given when it is time."""
        if self._snapshots is None or self._states is None:
            return
        if now >= self._next_refresh:
            self._next_refresh = now + REFRESH_S
            for held in self._cache.available():
                self._snapshots.change(held.slice)
        if not self._states.pending:
            slices = self._snapshots.due(now, self._is_usable)
            if slices:
                self._states.save(slices)

    def _is_usable(self, slice_id: int) -> bool:
        held = self._cache.held.get(slice_id)
        return held is not None and held.usable

    # -- the store --------------------------------------------------------------------------------

    def next_job(self) -> Job | None:
        """What is to be done at the store now."""
        return self._snapshots.next_job() if self._snapshots is not None else None

    def superseded(self) -> Superseded | None:
        """Up to where nobody needs the log of states any more, as far as it was read."""
        assert self._snapshots is not None
        return self._snapshots.log.superseded(self._writers.slice_count)

    def on_records(self, records: Iterable[StateRecord], now: float) -> None:
        """The log goes on with these."""
        assert self._snapshots is not None
        for one in self._snapshots.on_records(records):
            if isinstance(one, Saved):
                self._on_saved(one.rows)
            else:
                self._on_begun(one, now)

    def on_states(self, fetch: Fetch, rows: Iterable[Row], now: float) -> None:
        """The states of a snapshot, as far as they are there."""
        assert self._snapshots is not None
        for one in self._snapshots.on_states(fetch, rows):
            self._on_begun(one, now)

    def _on_saved(self, rows: Iterable[Row]) -> None:
        """What is in a snapshot that counts is committed."""
        for row in rows:
            held = self._cache.held.get(row.slice)
            for writer, number in row.positions.items() if held is not None else ():
                self._save(held, writer, number)

    def _save(self, held: HeldSlice | None, writer: int, number: int) -> None:
        track = held.tracks.get(writer) if held is not None else None
        if held is not None and track is not None and number > track.saved:
            track.saved = number
            self._writers.commits.dirty.add((held.slice, writer))

    def _on_begun(self, begun: Begun, now: float) -> None:
        """A slice that was taken goes on from here."""
        assert self._states is not None
        assert self._snapshots is not None
        slice_id, term, source, row = begun
        held = self._cache.held.get(slice_id)
        if held is None or held.term != term or not held.loading:
            return
        if source in (Source.SNAPSHOT, Source.LOST) and self._states.has(slice_id):
            held = self._hold_anew(held, now)
        held.loading = False
        if row is not None:
            behind = self._start(held, row, now)
            self._states.adopt(slice_id, term, row.state)
            if behind:
                self._states.on_floor(slice_id, term, known=True)
        elif source is Source.OWN:
            self._states.keep(slice_id, term)
            self._snapshots.change(slice_id)  # what is in no snapshot comes in no item any more
        else:
            self._states.begin(slice_id, term, lost=source is Source.LOST)
        self._cache.wake_all([slice_id])

    def _hold_anew(self, held: HeldSlice, now: float) -> HeldSlice:
        """Another node went further: what is here of the slice counts for nothing."""
        self._cache.drop([held.slice])
        again = self._cache.hold(held.slice, held.state, held.term)
        if again.state is SliceState.AVAILABLE:  # else a publisher has refused it meanwhile
            self._ownership.begin(frozenset({held.slice}), held.term, now)
        return again

    def _start(self, held: HeldSlice, row: Row, now: float) -> bool:
        """Begin at the positions of a snapshot; whether publishers' floors lie beyond them."""
        behind = any(
            track.done > row.positions.get(writer, 0) for writer, track in held.tracks.items()
        )
        for writer, number in row.positions.items():
            if self._writers.may_count(writer):
                # A writer we never heard of is taken for gone until it speaks: it may be.
                self._writers.gone_since.setdefault(writer, now)
                self._cache.start(held, writer, number, known=False)
                self._save(held, writer, number)
        return behind


def positions_of(held: HeldSlice) -> dict[int, int]:
    """Up to which number the items of each writer were processed."""
    return {writer: track.done for writer, track in held.tracks.items() if track.done}
