"""The node's half of a handover: giver and taker as state machines over a session's slices.

Transitions are the table below; the diagram in ``docs/protocol.md`` is drawn from it. A machine
checks that an order is legal, an order that comes again is answered again, and one that comes too
late or too early is refused with the reason.

The giver declares its positions once, when it freezes: nothing it declared unprocessed may be
processed afterwards. What arrives for the slices it goes on keeping until it sends its cache: that
is a snapshot, positions first, then the kept samples cut to the slices of the session, in chunks,
the same chunks however often they are asked for. It sends no more than a bound allows: what is left
out, the publishers replay to the taker, so only samples of publishers that are there may be left
out. The taker merges when it has been activated and every chunk is there. Merging is the point of
no return: before it a session can be cancelled, after it the taker owns the slices.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto

from evenflow.model.batch import Encoded
from evenflow.model.messages import CacheChunk, Step
from evenflow.model.sample import Sample
from evenflow.slices.node.cache import HeldSlice
from evenflow.slices.node.kept_samples import only_slices, slices_kept

CHUNK_BYTES = 128 * 1024
"""Encoded samples in one chunk of a cache, unless a single sample is larger."""
CACHE_BYTES = 256 * 1024
"""Most that is handed over in one session of samples that can be replayed: enough for the taker to
begin with, and no more than some milliseconds' worth."""


class SessionState(Enum):
    """Where a node stands in a session."""

    NEW = auto()
    FREEZING = auto()
    """Giver: the application still has items of these slices in hand."""
    FROZEN = auto()
    REMOVED = auto()
    SENT = auto()
    ADDED = auto()
    ACTIVE = auto()
    MERGED = auto()
    CANCELLED = auto()


GIVER = {
    (SessionState.NEW, Step.FREEZE): SessionState.FREEZING,
    (SessionState.FREEZING, Step.FREEZE): SessionState.FREEZING,
    (SessionState.FROZEN, Step.FREEZE): SessionState.FROZEN,
    (SessionState.FROZEN, Step.REMOVE): SessionState.REMOVED,
    (SessionState.REMOVED, Step.REMOVE): SessionState.REMOVED,
    (SessionState.REMOVED, Step.SEND_CACHE): SessionState.SENT,
    (SessionState.SENT, Step.SEND_CACHE): SessionState.SENT,
}
TAKER = {
    (SessionState.NEW, Step.ADD): SessionState.ADDED,
    (SessionState.ADDED, Step.ADD): SessionState.ADDED,
    (SessionState.ADDED, Step.ACTIVATE): SessionState.ACTIVE,
    (SessionState.ACTIVE, Step.ACTIVATE): SessionState.ACTIVE,
    (SessionState.MERGED, Step.ACTIVATE): SessionState.MERGED,
    (SessionState.MERGED, Step.ADD): SessionState.MERGED,
    (SessionState.MERGED, Step.CANCEL): SessionState.MERGED,
    (SessionState.NEW, Step.CANCEL): SessionState.CANCELLED,
    (SessionState.ADDED, Step.CANCEL): SessionState.CANCELLED,
    (SessionState.ACTIVE, Step.CANCEL): SessionState.CANCELLED,
    (SessionState.CANCELLED, Step.CANCEL): SessionState.CANCELLED,
}


class Giver:
    """The slice-giving side of one session."""

    def __init__(self, term: int, slices: frozenset[int], taker: str) -> None:
        self.term = term
        self.slices = slices
        self.taker = taker
        self.state = SessionState.NEW
        self.repeated = 0
        """Items processed after the positions were declared (must stay 0)."""
        self._chunks: tuple[CacheChunk, ...] = ()

    def step(self, step: Step) -> bool:
        """Do a step; False when it is not legal now."""
        state = GIVER.get((self.state, step))
        if state is None:
            return False
        self.state = state
        return True

    def cancel(self) -> None:
        """The slices are somebody's under another term: nothing of this session is needed."""
        self.state = SessionState.CANCELLED
        self._chunks = ()

    def chunks(
        self, topic: str, giver: str, held: Iterable[HeldSlice], replayable: Container[int]
    ) -> tuple[CacheChunk, ...]:
        """The cache as chunks; made at the first call, the same ever after."""
        if not self._chunks:
            self._chunks = chunk_cache(topic, self, giver, held, replayable)
        return tuple(replace(chunk, repeated=self.repeated) for chunk in self._chunks)


def chunk_cache(
    topic: str,
    session: Giver,
    giver: str,
    held: Iterable[HeldSlice],
    replayable: Container[int],
    limit: int = CACHE_BYTES,
) -> tuple[CacheChunk, ...]:
    """Cut positions and kept samples into chunks of bounded size.

    Args:
        topic: The topic.
        session: The session.
        giver: The node that gives.
        held: The slices that it gives.
        replayable: Writers that are there to replay what is left out.
        limit: Bytes beyond which their samples are left out.
    """
    rows = [(one.slice, *row) for one in held for row in one.tracks.items()]
    slices, writers, tracks = zip(*rows, strict=True) if rows else ((), (), ())
    parts: list[list[Encoded]] = [[]]
    size = 0
    for sample in _cut(slices_kept(tracks), replayable, limit):
        if size and size + sample.size > CHUNK_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(sample.encoded)
        size += sample.size
    done, known = [track.done for track in tracks], [int(track.known) for track in tracks]
    first = CacheChunk(
        topic, session.term, giver, session.taker, 0, len(parts), 0, slices, writers,
        tuple(done), tuple(known), tuple(len(encoded) for encoded in parts[0]), b"".join(parts[0]),
    )  # fmt: skip
    return (
        first,
        *(
            replace(
                first,
                index=index,
                slices=(),
                writers=(),
                done=(),
                known=(),
                lengths=tuple(len(encoded) for encoded in part),
                batches=b"".join(part),
            )
            for index, part in enumerate(parts[1:], 1)
        ),
    )


def _cut(
    kept: Mapping[Sample, list[int]], replayable: Container[int], limit: int
) -> Iterator[Sample]:
    """Samples cut to the slices that are kept of them, those of each writer in their order."""
    total = 0
    for sample in sorted(kept, key=lambda sample: (sample.writer, sample.serial)):
        if total > limit and sample.writer in replayable:
            continue
        cut = only_slices(sample, kept[sample])
        total += cut.size
        if total <= limit or sample.writer not in replayable:
            yield cut


class Taker:
    """The slice-taking side of one session."""

    def __init__(self, term: int, slices: frozenset[int], giver: str) -> None:
        self.term = term
        self.slices = slices
        self.giver = giver
        self.state = SessionState.NEW
        self.moved = 0
        """Items that came with the cache."""
        self.repeated = 0
        self._chunks: dict[int, CacheChunk] = {}

    def step(self, step: Step) -> bool:
        """Do a step; False when it is not legal now."""
        state = TAKER.get((self.state, step))
        if state is None:
            return False
        self.state = state
        return True

    def cancel(self) -> None:
        """The slices are somebody's under another term: nothing of this session is needed."""
        self.state = SessionState.CANCELLED
        self._chunks.clear()

    def receive(self, chunk: CacheChunk) -> bool:
        """Keep a chunk, whenever it comes; False when it is none of this session."""
        if self.state in (SessionState.ADDED, SessionState.ACTIVE):
            others = next(iter(self._chunks.values()), chunk)
            foreign = chunk.giver != self.giver or chunk.total != others.total
            if foreign or not self.slices.issuperset(chunk.slices):
                return False
            self._chunks.setdefault(chunk.index, chunk)
        return True

    def complete(self) -> list[CacheChunk]:
        """The whole cache in order, once activated and once nothing is missing; else empty."""
        first = self._chunks.get(0)
        if (
            self.state is not SessionState.ACTIVE
            or first is None
            or len(self._chunks) < first.total
        ):
            return []
        chunks = [self._chunks[index] for index in range(first.total)]
        self._chunks.clear()
        return chunks


def samples_in(chunk: CacheChunk) -> list[Sample]:
    """Decode the samples of a chunk."""
    samples = []
    start = 0
    for length in chunk.lengths:
        samples.append(Sample(bytes(chunk.batches[start : start + length])))
        start += length
    return samples
