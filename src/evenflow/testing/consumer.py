"""A simulated consumer: plans, reads and commits as a Spark query does, and may die in between.

It writes the end of a batch into its offset log, reads the batch from whoever owns the slices, in
pieces that may break off at any point, puts the result into its sink under the number of the batch
(again, if the batch is run again), notes the batch in its commit log, and only then commits to the
domain. It may die between any two of these steps; logs and sink survive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.counts import Run, limited
from evenflow.slices.consumer.splits import BEGIN, Point, range_between
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.testing.invariants import Violation
from evenflow.testing.node import SimNode
from evenflow.testing.publishers import TOPIC


class SimConsumer:
    """One query: its logs and its sink, and while it lives its core and the batch in hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.offsets = [BEGIN]
        """The offset log: the end of every planned batch, and where the first one began."""
        self.committed = 0
        """The commit log: the newest batch that is done."""
        self.sink: dict[int, list[int]] = {}
        """The ids of items, by batch."""
        self.core: ConsumerCore | None = None
        self.told: ConsumerCommit | None = None
        self.next_repeat = 0.0
        self.commits_late = False
        """Whether a batch is committed only when the next one is planned, as Spark does."""
        self._lives = 0
        self._pending: dict[int, dict[tuple[int, int], int]] = {}
        """Slices still to be read; for each, how far each writer's items are here."""
        self._read: list[int] = []
        self._runs: list[tuple[int, int, int, int]] = []
        self._sunk: dict[int, list[tuple[int, int, int, int]]] = {}
        """By batch: writer, slice, first and last number of what was read."""
        self.is_newcomer = False
        """Whether it came late and asked for all that is kept."""
        self.may_lack = False
        """Whether a publisher may let go of what it has planned, because it has not heard of this
        newcomer: then it begins anew with what is kept."""
        self.answered_at = 0.0
        self.limit = 0
        """About how many items a batch may have; 0: any number."""
        self.count: Callable[[Range, int], list[Run] | None] | None = None
        """Asks all owners how many items there are; then the limit is exact, and splits epochs."""
        self.sizes: dict[int, int] = {}
        """By batch: how many items it has, when they were counted."""
        self.since = 0
        """Items up to this one were published before it was there."""

    def start(self) -> None:
        """Come to life and register, at the last committed position."""
        self._lives += 1
        self.core = ConsumerCore(TOPIC, self.name, self._lives << 32)
        self.core.note_planned(self.offsets[-1].planned)
        self.next_repeat = 0.0
        self._commit()
        self._pending, self._read, self._runs = {}, [], []

    def _on_forgotten(self, refusal: Refusal) -> None:
        """What is planned is not there any more: a violation, unless it was only kept."""
        if not self.may_lack:
            raise Violation(f"{self.name} was refused: {refusal}")
        self.offsets, self.committed = [BEGIN], 0
        self.sink, self._sunk, self.sizes = {}, {}, {}
        self.start()

    def die(self) -> None:
        """``kill -9``."""
        self.core = self.told = None

    @property
    def has_everything(self) -> bool:
        """Whether it is registered, and there is nothing that it could read."""
        start, core = self.offsets[self.committed], self.core
        if core is None or core.lacking() or not core.is_confirmed or not core.is_kept_for:
            return False
        return start.covers(core.point(start))

    @property
    def in_hand(self) -> bool:
        """Whether a batch is being read."""
        return bool(self._pending)

    def plan(self, slice_count: int) -> None:
        """Begin the next batch: one from the log that is not done, or a new one."""
        if self.core is None or self.in_hand:
            return
        start = self.offsets[self.committed]
        if len(self.offsets) == self.committed + 1:
            end = self._end(start, self.core)
            if start.covers(end):
                return
            self.offsets.append(end)
            self._commit()
        elif not self.core.is_confirmed:
            return
        self._pending = {slice_id: {} for slice_id in range(slice_count)}
        self._read, self._runs = [], []

    def _end(self, start: Point, core: ConsumerCore) -> Point:
        """Where the next batch ends; where it begins when there is none."""
        newest = core.point(start)
        if not self.limit:
            return newest
        if self.count is None:
            return Point(core.limited(start.position, newest.position, self.limit))
        newest = core.bounded(start, newest, self.limit)
        runs = self.count(range_between(start, newest), self.limit)
        if runs is None:
            return start
        end = limited(start, newest, runs, self.limit)
        planned = sum(run.items for run in runs)
        self.sizes[len(self.offsets)] = min(planned, self.limit)
        return end

    def read(self, node: SimNode, slices: list[int], most: int) -> None:
        """Ask a node for slices; the answer breaks off after ``most`` batches."""
        slices = [slice_id for slice_id in slices if slice_id in self._pending]
        serving = node.core.serving
        if not slices or serving is None:
            return
        after = {key: at for s in slices for key, at in self._pending[s].items()}
        asked = range_between(self.offsets[self.committed], self.offsets[self.committed + 1])
        answer = serving.select(replace(asked, slices=tuple(slices), after=after))
        if isinstance(answer, Refusal):
            if answer.reason == "forgotten":
                self._on_forgotten(answer)
            return
        for batch in answer[:most]:
            self._pending[batch.slice][batch.slice, batch.writer] = batch.last
            self._read += batch.ids.tolist()
            self._runs.append((batch.writer, batch.slice, batch.first, batch.last))
        if most >= len(answer):
            for slice_id in slices:
                del self._pending[slice_id]
            if not self._pending:
                self._finish()

    def _finish(self) -> None:
        batch = self.committed + 1
        if len(self._read) > self.sizes.get(batch, len(self._read)):
            raise Violation(f"{self.name} may read {self.sizes[batch]}, has {len(self._read)}")
        self.sink[batch], self._sunk[batch] = self._read, self._runs
        self.committed = batch
        if not self.commits_late:
            self._commit()

    def commit_in_time(self) -> None:
        """Commit what is done, and from now on each batch when it is."""
        if self.commits_late:
            self.commits_late = False
            self._commit()

    def _commit(self) -> None:
        """Tell the domain that the newest batch that is done may be forgotten."""
        assert self.core is not None
        self.told = self.core.commit(self.offsets[self.committed].position)
        self.next_repeat = 0.0

    def items(self) -> list[int]:
        """Everything in the sink."""
        return [item for batch in self.sink.values() for item in batch]

    def numbers(self) -> dict[tuple[int, int], set[int]]:
        """The numbers of everything in the sink, by writer and slice."""
        found: dict[tuple[int, int], set[int]] = {}
        for runs in self._sunk.values():
            for writer, slice_id, first, last in runs:
                found.setdefault((writer, slice_id), set()).update(range(first, last + 1))
        return found
