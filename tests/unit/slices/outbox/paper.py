"""A publisher's core and its journal over a disk of paper: all but threads and files."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.unit.slices.publisher.items import (
    AT_ONCE,
    SLICES,
    WRITER,
    core_with,
    decoded,
    table_of,
)

from evenflow.model.given_headers import given_headers
from evenflow.model.headers import headers_of
from evenflow.model.sample import Sample
from evenflow.slices.outbox.journal import Journal, Segment
from evenflow.slices.outbox.records import Kind, encode_record
from evenflow.slices.outbox.recovery import Recovered, SegmentData, recover
from evenflow.slices.outbox.state import Identity, Progress, State
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.outlet import restore
from evenflow.testing.samples import headers_of_item

IDENTITY = Identity("items", SLICES, 7)
LIMIT = 4 << 20
LIMITS = replace(AT_ONCE, linger_s=1.0, batch_items=5)


class Paper:
    """The disk: segments by number, of which the last write may be torn."""

    def __init__(self) -> None:
        self.segments: dict[int, bytearray] = {}
        self.last_write = (0, 0, 0)
        """Segment, first byte and byte behind the last, of the newest write."""

    def begin(self, index: int, size: int, head: bytes) -> None:
        self.segments[index] = bytearray(head.ljust(size, b"\0"))
        self.last_write = (index, len(head), len(head))

    def write(self, index: int, at: int, data: bytes) -> None:
        self.segments[index][at : at + len(data)] = data
        self.last_write = (index, at, at + len(data))

    def tear(self, random: Random) -> None:
        """Of the newest write any bytes are missing, in blocks, as after a loss of power."""
        index, start, end = self.last_write
        for block in range(start, end, 64):
            if random.random() < 0.5:
                stop = min(block + 64, end)
                self.segments[index][block:stop] = bytes(stop - block)

    def recover(self) -> Recovered | None:
        found = [SegmentData(n, memoryview(bytes(b))) for n, b in sorted(self.segments.items())]
        return recover("folder", found, IDENTITY)


class Life:
    """One life of a writer on a disk of paper."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper
        found = paper.recover()
        state, uses, self.samples = State(IDENTITY, WRITER), [], []
        if found is not None:
            state, self.samples = found.state, found.samples
            for index, end, last_serial in found.segments:
                del paper.segments[index][end:]
                uses.append(Segment(index, end, end, last_serial))
        self.journal = Journal(state, uses, limit=LIMIT, memory=1 << 20)
        self.core = core_with(LIMITS, ["a"] * SLICES)
        restore(self.core, self)  # type: ignore[arg-type]
        size = self.journal.new_segment(None)
        assert size
        self._begin(size)
        self._delete(self.core.retention.oldest(state.serial + 1))

    @property
    def state(self) -> State:
        return self.journal.state

    def seal(self, placed: list[tuple[int, int]], unit: int | None = None) -> None:
        """Publish items given as (slice, id)."""
        if placed:
            table, slices, size = table_of(placed)
            headers = headers_of([given_headers(headers_of_item(number)) for _, number in placed])
            size += 0 if headers is None else headers.octets
            self.core.add_table(replace(table, headers=headers), slices, size)
        self.journal.append(self.core.seal(0.0), unit)

    def write(self, torn: Random | None = None) -> list[Sample]:
        """Write a group, and return what may be sent from now on; torn, it is this life's last."""
        group = self.journal.next_group(self.progress())
        if group is None:
            return []
        size = self.journal.new_segment(group)
        assert size is not None
        if size:
            self._begin(size)
        newest = self.journal.segments[-1]
        pieces = (encode_record(kind, body, newest.used) for kind, body in group.records)
        self.paper.write(newest.index, newest.used, b"".join(map(b"".join, pieces)))
        if torn is not None:
            self.paper.tear(torn)
            return []
        entries = self.journal.on_written(group)
        self._delete(group.oldest)
        return [sample for entry in entries for sample in decoded(entry.sealed)]

    def progress(self) -> Progress:
        core = self.core
        return Progress(
            core.counts.committed,
            core.epochs.committed,
            core.retention.floors,
            core.fencing.newest,
            core.epochs.thinned(core.counts.thinned),
            core.retention.oldest(core.sealing.serial + 1),
            core.retention.size,
        )

    def end_epoch(self) -> None:
        self.journal.append(self.core.end_epoch(0.0))

    def _begin(self, size: int) -> None:
        segments = self.journal.segments
        index = segments[-1].index + 1 if segments else 1
        if segments:
            del self.paper.segments[segments[-1].index][segments[-1].used :]
        head = b"".join(encode_record(Kind.STATE, self.state.encode(), 0))
        self.paper.begin(index, size, head)
        self.journal.on_segment_begun(index, size, len(head))

    def _delete(self, oldest: int) -> None:
        for index in self.journal.take_deletable(oldest):
            del self.paper.segments[index]


def numbered(samples: list[Sample]) -> dict[tuple[int, int], int]:
    """The id of each (slice, number), of which each has its own headers."""
    for item in (one for sample in samples for one in sample.rows):
        assert item.headers == headers_of_item(item.id)
    return {
        (batch.slice, number): item.id
        for sample in samples
        for batch in sample.batches()
        for number, item in enumerate(batch, batch.first)
    }


def uncommitted(core: PublisherCore) -> dict[tuple[int, int], int]:
    """The id of each (slice, number) that a publisher keeps and that is not committed."""
    kept = core.retention.lacking(range(SLICES), [0] * SLICES)
    floors = core.retention.floors
    found = numbered([Sample(one.retained.encoded) for one in kept])
    return {key: number for key, number in found.items() if key[1] > floors[key[0]]}
