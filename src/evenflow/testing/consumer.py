"""A simulated consumer: plans, reads and commits as a Spark query does, and may die in between.

It writes the end of a batch into its offset log, reads the batch from whoever owns the slices, in
pieces that may break off at any point, puts the result into its sink under the number of the batch
(again, if the batch is run again), notes the batch in its commit log, and only then commits to the
domain. It may die between any two of these steps; logs and sink survive.
"""

from __future__ import annotations

from evenflow.model.ids import Position
from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.testing.invariants import Violation
from evenflow.testing.node import SimNode
from evenflow.testing.publishers import TOPIC


class SimConsumer:
    """One query: its logs and its sink, and while it lives its core and the batch in hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.offsets = [Position()]
        """The offset log: the end of every planned batch, and the initial position."""
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
        self.answered_at = 0.0
        self.limit = 0
        """About how many items a batch may have; 0: any number."""
        self.since = 0
        """Items up to this one were published before it was there."""

    def start(self) -> None:
        """Come to life and register, at the last committed position."""
        self._lives += 1
        self.core = ConsumerCore(TOPIC, self.name, self._lives << 32)
        self.core.note_planned(self.offsets[-1])
        self.next_repeat = 0.0
        self.told = self.core.commit(self.offsets[self.committed])
        self._pending, self._read, self._runs = {}, [], []

    def die(self) -> None:
        """``kill -9``."""
        self.core = self.told = None

    @property
    def has_everything(self) -> bool:
        """Whether it is registered, and there is nothing that it could read."""
        start, core = self.offsets[self.committed], self.core
        if core is None or core.lacking() or not core.is_confirmed:
            return False
        return core.latest(start) == start

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
            end = self.core.latest(start)
            if end == start:
                return
            if self.limit:
                end = self.core.limited(start, end, self.limit)
            self.offsets.append(end)
            self._commit()
        elif not self.core.is_confirmed:
            return
        self._pending = {slice_id: {} for slice_id in range(slice_count)}
        self._read, self._runs = [], []

    def read(self, node: SimNode, slices: list[int], most: int) -> None:
        """Ask a node for slices; the answer breaks off after ``most`` batches."""
        slices = [slice_id for slice_id in slices if slice_id in self._pending]
        serving = node.core.serving
        if not slices or serving is None:
            return
        after = {key: at for s in slices for key, at in self._pending[s].items()}
        start, end = self.offsets[self.committed], self.offsets[self.committed + 1]
        answer = serving.select(Range(tuple(slices), start, end, after))
        if isinstance(answer, Refusal):
            if answer.reason == "forgotten":
                raise Violation(f"{self.name} was refused: {answer}")
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
        self.told = self.core.commit(self.offsets[self.committed])
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
