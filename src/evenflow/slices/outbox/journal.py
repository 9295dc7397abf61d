"""What an outbox writes next, and where; which segments it may delete.

Samples are queued as they are sealed and written in *groups*, as many as wait; with each group goes
a note of what has been committed since the last one. A group lies in one segment. When it does not
fit into the newest one, another begins with the state as it is; the segments together stay within
the bound. The end of every segment is kept free for notes: when the outbox or the disk is full,
commits can still be written down, and they are what makes room.

A segment is deleted when everything up to its end is committed, and that is written down and synced
in a later place. They go in the order in which they came, so a missing one is noticed.

Pure: the outbox's thread asks, writes, and tells what it has written.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.slices.outbox.records import Kind, record_bytes
from evenflow.slices.outbox.state import encode_note, encode_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenflow.model.batch import Encoded
    from evenflow.slices.outbox.state import Progress, State
    from evenflow.slices.publisher.sealing import SealedSample

SEGMENT_BYTES: Final = 16 << 20
"""Size of a segment, unless a single group is larger or the outbox smaller."""
GROUP_BYTES: Final = 512 << 10
"""Most of a group, unless a single entry is larger: what is sent at once must not flood a node."""
QUEUE_BYTES: Final = 2 << 20
"""When more than this waits to be written, nothing more is accepted for the moment."""
SEGMENTS: Final = 4
"""An outbox has room for so many at least."""
NOTES_BYTES: Final = 64 << 10
"""Room for notes at the end of a segment, and so much for each slice:"""
SLICE_BYTES: Final = 32
LARGEST_SHARE: Final = 2
"""Nothing that is accepted at once is larger than this fraction of an outbox."""
SPARED: Final = 4
"""So much room for notes is never accepted items': segments that they take begin with states."""


class Entry(NamedTuple):
    """Samples that are written together."""

    sealed: Sequence[SealedSample]
    unit: int | None
    """The unit that they are, all of them and nothing else."""
    size: int


class Group(NamedTuple):
    """What is written at once, then synced."""

    records: list[tuple[Kind, Encoded]]
    size: int
    entries: int
    note: bytes | None
    oldest: int
    """Serial number of the oldest sample that was kept when the note was taken."""


class Segment:
    """A segment, as far as it is used."""

    __slots__ = ("index", "last_serial", "size", "used")

    def __init__(self, index: int, size: int, used: int, last_serial: int) -> None:
        self.index = index
        self.size = size
        """Bytes reserved on disk."""
        self.used = used
        self.last_serial = last_serial
        """Serial number of the newest sample up to its end."""


class Journal:
    """The queue, the state as it is written down, and the segments of one outbox.

    Args:
        state: The state as it is written down.
        segments: Those that are there, the oldest first; the newest is not written to any more.
        limit: Most bytes of all segments.
        memory: Most bytes that wait to be written.
    """

    def __init__(
        self, state: State, segments: Iterable[Segment], *, limit: int, memory: int
    ) -> None:
        self.state = state
        self.segments = list(segments)
        reserve = NOTES_BYTES + SLICE_BYTES * state.identity.slice_count
        self._reserve = reserve
        self.segment_bytes = max(min(SEGMENT_BYTES, limit // SEGMENTS), SEGMENTS * reserve)
        self.limit = max(limit, SEGMENTS * self.segment_bytes)
        self._memory = memory
        self._queue: deque[Entry] = deque()
        self._queued = 0
        self.newest_unit = state.unit
        """The newest unit that was queued or written."""
        self.is_full = False
        """Whether what is queued has found no room."""
        self.spare = 0
        """Bytes that may still be accepted."""
        self._count_spare()

    # -- in ----------------------------------------------------------------------------------------

    def append(self, sealed: Sequence[SealedSample], unit: int | None = None) -> None:
        """Queue samples, which follow those before; a unit may have none."""
        size = sum(record_bytes(len(one.encoded)) for _, one in sealed)
        if unit is not None:
            self.newest_unit = unit
            size += record_bytes(len(encode_unit(unit)))
        self._queue.append(Entry(sealed, unit, size))
        self._queued += size
        self._count_spare()

    @property
    def has_entries(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._queue)

    def first(self, count: int | None) -> list[Entry]:
        """The first so many entries that wait, or all."""
        return list(islice(self._queue, count))

    @property
    def largest(self) -> int:
        """Bytes that may be written at once."""
        return self.limit // LARGEST_SHARE - self._reserve

    @property
    def least_segment(self) -> int:
        """Bytes of a segment that has room for notes alone."""
        return record_bytes(len(self.state.encode())) + self._reserve

    def is_worn(self, oldest: int) -> bool:
        """Whether the newest segment is large, and of no use when all before a sample is committed.

        Another one then takes its place, so that it can be deleted: nothing else might find room.
        """
        newest = self.segments[-1]
        return newest.used > self.limit // SEGMENTS and newest.last_serial < oldest

    # -- out ---------------------------------------------------------------------------------------

    def next_group(self, progress: Progress, *, notes_only: bool = False) -> Group | None:
        """What to write now; None when there is nothing. It stays queued until it is written."""
        records: list[tuple[Kind, Encoded]] = []
        size = entries = 0
        for entry in () if notes_only else self._queue:
            if entries and size + entry.size > GROUP_BYTES:
                break
            kind = Kind.SAMPLE if entry.unit is None else Kind.PART
            records += [(kind, one.encoded) for _, one in entry.sealed]
            if entry.unit is not None:
                records.append((Kind.UNIT, encode_unit(entry.unit)))
            size += entry.size
            entries += 1
        note = encode_note(self.state, progress)
        if note is not None:
            records.append((Kind.NOTE, note))
            size += record_bytes(len(note))
        return Group(records, size, entries, note, progress.oldest) if records else None

    def new_segment(self, group: Group | None) -> int | None:
        """How large a segment the group needs: 0 when the newest has room, None when there is none.

        Notes always find room: an outbox that is full must be able to become empty.
        """
        newest = self.segments[-1] if self.segments else None
        wanted = 0 if group is None else group.size
        has_samples = group is not None and group.entries > 0
        end = self._reserve if has_samples else 0
        if newest is not None and group is not None and newest.used + wanted + end <= newest.size:
            return 0
        needed = record_bytes(len(self.state.encode())) + wanted + self._reserve
        left = self.limit - sum(one.used for one in self.segments)
        if has_samples and needed > left:
            self.is_full = True
            self.spare = 0
            return None
        return max(needed, min(self.segment_bytes, left))

    def on_segment_begun(self, index: int, size: int, used: int) -> None:
        """Another segment is there, with nothing but the state in it."""
        if self.segments:
            self.segments[-1].size = self.segments[-1].used
        self.segments.append(Segment(index, size, used, self.state.serial))
        self.state.fresh = False  # the next one continues this one
        self._count_spare()

    def on_written(self, group: Group) -> list[Entry]:
        """A group is synced; return what may be sent now."""
        entries = [self._queue.popleft() for _ in range(group.entries)]
        state, newest = self.state, self.segments[-1]
        for entry in entries:
            self._queued -= entry.size
            for _, one in entry.sealed:
                state.add(one.serial, one.epoch, one.slices, one.lasts)
            if entry.unit is not None:
                state.unit = entry.unit
        if group.note is not None:
            state.apply(memoryview(group.note))
        newest.used += group.size
        newest.last_serial = state.serial
        if group.entries:
            self.is_full = False
        self._count_spare()
        return entries

    def take_deletable(self, oldest: int) -> list[int]:
        """The segments of which nothing is needed, when all samples before one are committed."""
        deletable = []
        while len(self.segments) > 1 and self.segments[0].last_serial < oldest:
            deletable.append(self.segments.pop(0).index)
        if deletable:
            self.is_full = False
            self._count_spare()
        return deletable

    def on_rehomed(self, state: State, segment: Segment) -> None:
        """Another writer's state and samples are in a segment, and nothing else counts."""
        self.state, self.segments = state, [segment]
        self._queue.clear()
        self._queued = 0
        self.is_full = False
        self._count_spare()

    def on_no_room(self) -> None:
        """The disk is full: nothing more can be accepted for now."""
        self.is_full = True
        self.spare = 0

    def _count_spare(self) -> None:
        if self.is_full:
            self.spare = 0
            return
        free = self.limit - sum(one.used for one in self.segments) - SPARED * self._reserve
        # Who publishes faster than samples are written and sent waits, and leaves them the machine.
        room = min(free, self._memory) - self._queued
        self.spare = room if self._queued <= QUEUE_BYTES else 0
