"""What an outbox holds when it is opened: the state of its writer, and the samples not committed.

Segments are read from the oldest to the newest. Everything in them must follow from what is before:
each segment from the one before it, each sample from the numbers so far. Where it does not, or
where a record is damaged, the error says what can be read and what to do; nothing is left out
silently. Only what was being written when the process or the machine stopped is cut off: a torn
tail, and the samples of a unit whose end is missing. None of it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenflow.errors import DecodeError, OutboxDamaged, OutboxRefused
from evenflow.model.sample import Sample
from evenflow.slices.outbox.records import Kind, Tail, scan
from evenflow.slices.outbox.state import Identity, State, decode_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.slices.outbox.records import Record


class SegmentData(NamedTuple):
    """A segment file, whole."""

    number: int
    """Segments are numbered without a gap."""
    data: memoryview


class Found(NamedTuple):
    """What one segment holds."""

    number: int
    end: int
    """Bytes of it that count; what is behind is to be cut off."""
    last_serial: int
    """Serial number of the newest sample up to its end; -1 when nothing in it counts any more."""


class Recovered(NamedTuple):
    """What an outbox holds."""

    state: State
    samples: list[Sample]
    """Those that are not wholly committed, in the order of their serial numbers."""
    segments: list[Found]


def recover(folder: str, segments: Sequence[SegmentData], identity: Identity) -> Recovered | None:
    """Read all segments, oldest first; None when there are none.

    Raises:
        OutboxRefused: It is the outbox of another topic, slice count or domain.
        OutboxDamaged: Something that was once complete cannot be read.
    """
    if not segments:
        return None
    reading = _Reading(folder, identity)
    for segment in segments:
        reading.read(segment, is_last=segment is segments[-1])
    return reading.result()


class _Reading:
    """One pass over the segments of a folder."""

    def __init__(self, folder: str, identity: Identity) -> None:
        self._folder = folder
        self._identity = identity
        self._state: State | None = None
        self._start: State | None = None
        self._samples: list[Sample] = []
        self._parts: list[tuple[Record, Sample]] = []
        self._found: list[Found] = []
        self._at = ""
        self._epoch = 0
        """Of the newest sample."""

    def read(self, segment: SegmentData, *, is_last: bool) -> None:
        """Read a segment."""
        self._at = f"segment {segment.number}"
        records, end, tail = scan(segment.data)
        if not records or records[0].kind is not Kind.STATE:
            raise self._damage("its beginning cannot be read")
        self._begin(segment.number, State.decode(records[0].body))
        for record in records[1:]:
            self._at = f"segment {segment.number}, byte {record.start}"
            self._take(record)
        self._at = f"segment {segment.number}, byte {end}"
        if tail is Tail.DAMAGED or (tail is Tail.TORN and not is_last):
            raise self._damage("a record that was once complete cannot be read")
        if self._parts:
            if not is_last:
                raise self._damage("the end of a unit is missing")
            end = self._parts[0][0].start
        assert self._state is not None
        self._found.append(Found(segment.number, end, self._state.serial))

    def result(self) -> Recovered:
        """What was found, when it is all of it."""
        state, start = self._state, self._start
        assert state is not None
        assert start is not None
        if (state.floors < start.newest).any():
            raise self._damage("earlier segments with uncommitted items are missing")
        return Recovered(state, self._uncommitted(), self._found)

    def _uncommitted(self) -> list[Sample]:
        if self._state is None:
            return []
        floors = self._state.floors
        return [one for one in self._samples if (one.lasts > floors[one.slices]).any()]

    def _begin(self, index: int, state: State) -> None:
        if state.identity != self._identity:
            raise OutboxRefused(self._folder, _difference(state.identity, self._identity))
        before = self._state
        if before is not None and not self._follows(index, state, before):
            raise self._damage(f"it does not follow segment {self._found[-1].number}")
        # Of the same writer it continues what is before, whatever it says.
        fresh = state.fresh and (before is None or state.writer != before.writer)
        if before is None or fresh:
            self._start = State.decode(memoryview(state.encode()))
            self._samples.clear()
            self._found = [one._replace(last_serial=-1) for one in self._found]
        self._state = state
        self._epoch = 0 if fresh else state.epoch

    def _follows(self, index: int, state: State, before: State) -> bool:
        if index != self._found[-1].number + 1:
            return False
        return state.fresh or (
            (state.writer, state.serial) == (before.writer, before.serial)
            and not (state.newest != before.newest).any()
        )

    def _take(self, record: Record) -> None:
        state = self._state
        assert state is not None
        match record.kind:
            case Kind.NOTE:
                state.apply(record.body)
            case Kind.SAMPLE:
                self._add(self._sample(record))
            case Kind.PART:
                self._parts.append((record, self._sample(record)))
            case Kind.UNIT:
                for _, sample in self._parts:
                    self._add(sample)
                self._parts.clear()
                state.unit = decode_unit(record.body)
            case Kind.STATE:
                raise self._damage("a second beginning")

    def _sample(self, record: Record) -> Sample:
        try:
            sample = Sample(record.body)
        except DecodeError as error:
            raise self._damage(error.reason) from None
        assert self._state is not None
        if sample.writer != self._state.writer:
            raise self._damage("a sample of another writer")
        return sample

    def _add(self, sample: Sample) -> None:
        state = self._state
        assert state is not None
        follows = sample.serial == state.serial + 1 and sample.epoch >= self._epoch
        firsts = sample.firsts.astype(np.int64)
        if not follows or (firsts != state.newest[sample.slices] + 1).any():
            raise self._damage(f"sample {sample.serial} does not follow sample {state.serial}")
        self._epoch = sample.epoch
        slices = sample.slices.astype(np.int64)
        state.add(sample.serial, sample.epoch, slices, sample.lasts)
        self._samples.append(sample)

    def _damage(self, reason: str) -> OutboxDamaged:
        kept = self._uncommitted()
        return OutboxDamaged(
            self._folder,
            f"{self._at}: {reason}",
            samples=len(kept),
            items=sum(one.count for one in kept),
        )


def _difference(found: Identity, wanted: Identity) -> str:
    named = (
        f"topic {identity.topic!r}, {identity.slice_count} slices, domain {identity.domain}"
        for identity in (found, wanted)
    )
    return "it is the outbox of {}, and not of {}: give another folder".format(*named)
