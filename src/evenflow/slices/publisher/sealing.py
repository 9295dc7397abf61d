"""Where a publisher's items become samples: routed, numbered, encoded once, and kept.

Items gather until they are *sealed*: because there are enough for a sample, because the first of
them has waited long enough, by a flush, or because the epoch ends. Sealing works on whole columns:
items get their slices, one stable sort brings those of one owner together, ordered by slice, each
run of a slice gets its numbers, and what goes to one owner becomes one sample, or several when it
is much. A sealed sample is kept until it is committed, in memory and, when there is a
:class:`~evenflow.slices.spill.Spill`, on disk.

**How long items wait.** One item alone waits for the linger. A steady stream is not cut into more
than :data:`SAMPLES_PER_S` samples a second: items wait for a moment longer and travel together.
Of a served topic nothing can be read before its epoch is closed, so its items wait until then. With
a linger of 0 nothing waits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenflow.model.encoding import ITEM_BYTES, RUN_BYTES, encode_item, encode_sample
from evenflow.model.sample import Sample
from evenflow.slices.publisher.gathering import LATER, Gathering
from evenflow.slices.publisher.renewal import part_of
from evenflow.slices.publisher.retention import Retained, Retention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.config.sections import PublisherConfig
    from evenflow.model.batch import Encoded, Int32s, Int64s, Item
    from evenflow.model.item_headers import Pairs
    from evenflow.slices.outbox.journal import Journal
    from evenflow.slices.publisher.gathering import AssignColumns, Columns
    from evenflow.slices.publisher.sending.routing import Routing
    from evenflow.slices.spill import Spill

SAMPLES_PER_S: Final = 40
"""A steady stream of few items is packed into about this number of samples, over all owners."""
LONGEST_PACE_S: Final = 0.05
"""Most that items wait for the sake of that."""
GATHERED_SHARE: Final = 4
"""Not more than this fraction of the retention gathers, however many owners there are."""
MOST_GATHERED: Final = 1 << 30
"""Bytes that gather at most: a column has 32-bit offsets."""
SAMPLE_BYTES: Final = 120
"""Bytes of a sample besides its runs and items, at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When items are sealed, and how much is kept."""

    batch_items: int
    """Most items in a sample."""
    batch_bytes: int
    """Most bytes of a sample, unless a single item is larger."""
    linger_s: float
    """How long an item may wait for company; 0 = every item is its own sample, at once."""
    retention_bytes: int
    """Bytes of uncommitted samples that may be kept in memory."""
    epoch_s: float
    """How long an epoch lasts, from its first item."""

    @classmethod
    def of(cls, settings: PublisherConfig) -> Limits:
        """Those that are configured."""
        return cls(
            settings.batch_items,
            settings.batch_bytes,
            settings.linger_ms / 1_000,
            settings.retention_bytes,
            settings.epoch_ms / 1_000,
        )


class SealedSample(NamedTuple):
    """A sample to be written to the owner of its slices."""

    node: str
    """Empty when nobody owns them: they wait here until somebody asks for them."""
    sample: Retained


class Runs(NamedTuple):
    """Sorted items as runs of equal slices."""

    slices: Int64s
    starts: Int64s
    """The first row of each run."""
    ends: Int64s
    firsts: Int64s
    """The number of each run's first item."""
    owners: Int32s


class Sealing:
    """What gathers at one writer, and the sealed samples that are kept.

    Args:
        writer: The writer.
        slice_count: How many slices there are.
        limits: When items are sealed, and how much is kept.
        routing: Knows the owners of slices.
        assign: Gives items their slices that have none yet.
        served: Items wait until their epoch ends.
        spill: Takes what memory has no room for.
        journal: Writes every sample down; its room is what counts then.
    """

    def __init__(
        self,
        writer: int,
        slice_count: int,
        limits: Limits,
        *,
        routing: Routing,
        assign: AssignColumns,
        served: bool = False,
        spill: Spill | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.retention = Retention(slice_count)
        self.gathering = Gathering()
        self.epoch = 1
        """The epoch that new items go into."""
        self.serial = 0
        """Number of the newest sample."""
        self._writer, self._limits = writer, limits
        self._routing = routing
        self._assign = assign
        self._spill = spill if journal is None else None
        self._journal = journal
        self._spill_full = self._sealed_in_epoch = False
        self._served = served
        self._opened = 0.0
        self._paced_until = -math.inf
        self.on_routes_changed()

    @property
    def kept(self) -> int:
        """Bytes of everything uncommitted, what waits included."""
        return self.retention.size + self.gathering.size

    @property
    def room(self) -> int:
        """Bytes that may be kept."""
        if self._journal is not None:
            return self.retention.size + self._journal.spare
        return self._limits.retention_bytes if self._spill_full else self.capacity

    @property
    def capacity(self) -> int:
        """Bytes that may be kept when all goes well."""
        spill = 0 if self._spill is None else self._spill.limit
        return (
            self._limits.retention_bytes + spill if self._journal is None else self._journal.limit
        )

    @property
    def has_journal(self) -> bool:
        """Whether every sample is written down."""
        return self._journal is not None

    @property
    def has_full_journal(self) -> bool:
        """Whether there is no room because nothing more can be written down."""
        return self._journal is not None and self._journal.is_full

    @property
    def has_items(self) -> bool:
        """Whether the epoch has items."""
        return bool(self.gathering or self._sealed_in_epoch)

    def renew(self, writer: int, retention: Retention) -> None:
        """Go on as another writer, with what that one keeps."""
        self._writer, self.retention = writer, retention
        self.serial = max([self.serial, *(sample.serial for sample in retention.samples())])
        newest = max((sample.epoch for sample in retention.samples()), default=0)
        self._sealed_in_epoch = newest == self.epoch

    # -- items in ----------------------------------------------------------------------------------

    def opened(self, now: float) -> None:
        """The first item waits from now on.

        Until all are sealed, room only grows: what fits now fits then.
        """
        self._opened = now
        waiting = self.gathering
        waiting.quiet_count = self._enough_items - 1
        waiting.quiet_size = min(self._enough_bytes - 1, self.room - self.retention.size)

    def fills(self, count: int, size: int) -> bool:
        """Whether some items more, with what has gathered, are a sample for each owner."""
        # Asked for every single item: what depends on the routes is worked out when they change.
        gathering = self.gathering
        return gathering.count + count >= self._enough_items or (
            gathering.size + size >= self._enough_bytes
        )

    def on_routes_changed(self) -> None:
        """Work out what depends on the number of owners."""
        self.gathering.quiet_count = 0
        limits, owners = self._limits, self._routing.order.owner_count
        self._enough_items = limits.batch_items * owners if limits.linger_s > 0 else 1
        most = min(limits.retention_bytes // GATHERED_SHARE, MOST_GATHERED)
        self._enough_bytes = min(limits.batch_bytes * owners, max(limits.batch_bytes, most))
        self._pace_s = min(owners / SAMPLES_PER_S, LONGEST_PACE_S)

    # -- samples out -------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When ``seal`` is due; None when nothing waits, or for the end of the epoch alone."""
        if not self.gathering or self._served:
            return None
        return max(self._opened + self._limits.linger_s, self._paced_until)

    def next_epoch(self) -> bool:
        """Begin another epoch, when everything is sealed; False when this one has no items."""
        ended, self._sealed_in_epoch = self._sealed_in_epoch, False
        self.epoch += ended
        return ended

    def seal(self, now: float) -> list[SealedSample]:
        """Make samples of everything that waits."""
        if not self.gathering:
            return []
        self._sealed_in_epoch = True
        self._paced_until = now + self._pace_s
        alone = self.gathering.take_one()
        if alone is not None:
            return [self._seal_one(*alone)]
        items, slices = self.gathering.take(self._assign)
        order = self._routing.order
        ranks = order.rank[slices]
        rows = np.argsort(ranks, kind="stable")
        runs = self._number(ranks[rows])
        columns = items.columns(rows)
        sealed = []
        for owner, start, end in self._cut(columns, runs):
            sample = self._encode(columns.part(start, end), runs, start, end)
            sealed.append(SealedSample(self._routing.node(owner), sample))
        return sealed

    def addressed(self, serial: int) -> list[SealedSample]:
        """A kept sample, cut to what each owner of its slices has to get of it.

        Empty when it is committed, or while a slice of it that is not has no owner.
        """
        sample = self.retention.sample(serial)
        if sample is None:
            return []
        # Without what is committed: an owner that gets a first item takes it for new.
        floors = self.retention.floors[sample.slices]
        left = part_of(sample, np.maximum(sample.firsts, floors + 1), sample.lasts)
        if left is None:
            return []
        owners = self._routing.map.owner_index[left.slices]
        mine = np.unique(owners).tolist()
        if mine[0] == 0:
            return []
        rows, node = Sample(left.encoded), self._routing.node
        return [SealedSample(node(one), Retained.of(rows.only(owners == one))) for one in mine]

    def _seal_one(self, item: Item, slice_id: int, headers: Pairs) -> SealedSample:
        if slice_id == LATER:
            columns = {"id": np.array([item.id]), "time": np.array([item.time])}
            slice_id = int(self._assign({**columns, "sender": [item.sender]})[0])
        number = int(self.retention.newest[slice_id]) + 1
        self.serial += 1
        place = self._writer, self.serial, self.epoch, slice_id, number
        encoded = encode_item(*place, item, headers)
        slices, numbers = np.array([slice_id]), np.array([number])
        owner = int(self._routing.map.owner_index[slice_id])
        return SealedSample(
            self._routing.node(owner), self._keep(encoded, slices, numbers, numbers)
        )

    def _number(self, ranks: Int64s) -> Runs:
        """Find the runs of sorted items, and give them their numbers."""
        order = self._routing.order
        starts = np.concatenate(([0], np.flatnonzero(ranks[1:] != ranks[:-1]) + 1))
        ends = np.concatenate((starts[1:], [len(ranks)]))
        places = ranks[starts]
        slices = order.slices[places]
        firsts = self.retention.newest[slices] + 1
        return Runs(slices, starts, ends, firsts, order.owners[places])

    def _cut(self, columns: Columns, runs: Runs) -> Iterator[tuple[int, int, int]]:
        """Yield (owner, first row, row behind the last) of each sample."""
        limits = self._limits
        changes = np.flatnonzero(runs.owners[1:] != runs.owners[:-1]) + 1
        bounds = [*runs.starts[np.concatenate(([0], changes))].tolist(), len(columns.ids)]
        owners = runs.owners[np.concatenate(([0], changes))].tolist()
        sizes = np.full(len(columns.ids) + 1, ITEM_BYTES, np.int64)
        sizes[runs.starts + 1] += RUN_BYTES
        sizes[0] = 0
        ends = np.cumsum(sizes) + columns.sender_offsets + columns.payload_offsets
        if columns.headers is not None:
            ends += columns.headers.ends(len(columns.ids))
        for owner, begin, end in zip(owners, bounds[:-1], bounds[1:], strict=True):
            start = begin
            while start < end:
                allowed = int(ends[start]) + limits.batch_bytes - SAMPLE_BYTES - RUN_BYTES
                fitting = int(np.searchsorted(ends, allowed, side="right")) - 1
                stop = min(max(fitting, start + 1), start + limits.batch_items, end)
                yield owner, start, stop
                start = stop

    def _encode(self, columns: Columns, runs: Runs, start: int, end: int) -> Retained:
        """Encode and keep the rows ``start`` to ``end - 1``, which may cut a run."""
        inside = slice(
            int(np.searchsorted(runs.ends, start, side="right")),
            int(np.searchsorted(runs.starts, end, side="left")),
        )
        begins = np.maximum(runs.starts[inside], start)
        counts = np.minimum(runs.ends[inside], end) - begins
        firsts: Int64s = runs.firsts[inside] + begins - runs.starts[inside]
        slices = runs.slices[inside]
        self.serial += 1
        writer, serial = self._writer, self.serial
        encoded = encode_sample(writer, serial, self.epoch, slices, counts, firsts, *columns)
        return self._keep(encoded, slices, firsts, firsts + counts - 1)

    def _keep(self, encoded: bytes, slices: Int64s, firsts: Int64s, lasts: Int64s) -> Retained:
        placed = self._placed(encoded)
        sample = Retained(self.serial, self.epoch, placed, slices, firsts, lasts)
        self.retention.keep(sample)
        return sample

    def _placed(self, encoded: bytes) -> Encoded:
        """A sample where there is room for it: in memory while little is kept, then on disk."""
        in_memory = self.retention.size + len(encoded)
        if self._spill is None or in_memory <= self._limits.retention_bytes:
            self._spill_full = False
            return encoded
        spilled = self._spill.keep(encoded)
        # It was accepted, so it is kept; but nothing more is, until memory has room again.
        self._spill_full = spilled is None
        return encoded if spilled is None else spilled


def item_bytes(sender: str, payload: bytes) -> int:
    """Bytes an item adds to its sample, at most."""
    name = len(sender) if sender.isascii() else len(sender.encode())
    return RUN_BYTES + ITEM_BYTES + name + len(payload)
