"""The node's half of a handover: giver and taker as state machines over a session's slices.

Transitions are the table below; the diagram in ``docs/protocol.md`` is drawn from it. A machine
checks that an order is legal, an order that comes again is answered again, and one that comes too
late or too early is refused with the reason.

A giver that is frozen gives its application nothing more of the slices; what the application has
in hand it may finish, while the other steps are done. The cache waits for that: with it the giver
declares its positions, once, and nothing it declared unprocessed may be processed afterwards. What
arrives for the slices it goes on keeping until then. The cache is a snapshot, positions first, then
the kept samples cut to the slices of the session, in chunks, the same chunks however often they are
asked for. It sends no more than a bound allows: what is left out, the publishers replay to the
taker, so only samples of publishers that are there may be left out. The taker merges when it has
been activated and every chunk is there. Merging is the point of no return: before it a session can
be cancelled, after it the taker owns the slices.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from heapq import merge
from itertools import chain, groupby

from evenflow.model.batch import Batch, Encoded
from evenflow.model.messages import CacheChunk, Step
from evenflow.model.sample import Sample
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.slices.node.cache.kept_samples import only_slices
from evenflow.slices.node.cache.track import Track

CHUNK_BYTES = 128 * 1024
"""Encoded samples in one chunk of a cache, unless a single sample is larger."""
CACHE_BYTES = 256 * 1024
"""Most that is handed over in one session of samples that can be replayed: enough for the taker to
begin with, and no more than some milliseconds' worth."""


class SessionState(Enum):
    """Where a node stands in a session."""

    NEW = auto()
    FROZEN = auto()
    REMOVED = auto()
    SENDING = auto()
    """Giver: the application still has items of these slices in hand."""
    SENT = auto()
    ADDED = auto()
    ACTIVE = auto()
    MERGED = auto()
    CANCELLED = auto()


GIVER = {
    (SessionState.NEW, Step.FREEZE): SessionState.FROZEN,
    (SessionState.FROZEN, Step.FREEZE): SessionState.FROZEN,
    (SessionState.FROZEN, Step.REMOVE): SessionState.REMOVED,
    (SessionState.REMOVED, Step.REMOVE): SessionState.REMOVED,
    (SessionState.REMOVED, Step.SEND_CACHE): SessionState.SENDING,
    (SessionState.SENDING, Step.SEND_CACHE): SessionState.SENDING,
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
        self.states: dict[int, bytes] | None = None
        """What the application gave; None until it has."""
        self.asked = False
        """Whether the application was asked for it."""
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
        self.states = None
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
    for sample in _cut(zip(writers, tracks, strict=True), replayable, limit):
        if size and size + sample.size > CHUNK_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(sample.encoded)
        size += sample.size
    done, known = [track.done for track in tracks], [int(track.known) for track in tracks]
    states = pack_states(session.states or {})
    total = len(parts) + len(states)
    first = CacheChunk(
        topic, session.term, giver, session.taker, 0, total, 0, slices, writers,
        tuple(done), tuple(known), tuple(len(encoded) for encoded in parts[0]), b"".join(parts[0]),
    )  # fmt: skip
    bare = replace(first, slices=(), writers=(), done=(), known=(), lengths=(), batches=b"")
    return (
        first,
        *(
            replace(
                bare,
                index=index,
                lengths=tuple(len(encoded) for encoded in part),
                batches=b"".join(part),
            )
            for index, part in enumerate(parts[1:], 1)
        ),
        *(
            replace(
                bare,
                index=index,
                state_slices=tuple(slice_id for slice_id, _ in part),
                state_lengths=tuple(len(state) for _, state in part),
                state_octets=b"".join(state for _, state in part),
            )
            for index, part in enumerate(states, len(parts))
        ),
    )


def pack_states(states: Mapping[int, bytes]) -> list[list[tuple[int, bytes]]]:
    """States in groups of bounded size; one that is larger is alone."""
    parts: list[list[tuple[int, bytes]]] = []
    size = 0
    for slice_id, state in sorted(states.items()):
        if not parts or (size and size + len(state) > CHUNK_BYTES):
            parts.append([])
            size = 0
        parts[-1].append((slice_id, state))
        size += len(state)
    return parts


def states_in(chunks: Iterable[CacheChunk]) -> dict[int, bytes]:
    """The states that a cache brings."""
    states = {}
    for chunk in chunks:
        start = 0
        for slice_id, length in zip(chunk.state_slices, chunk.state_lengths, strict=True):
            states[slice_id] = bytes(chunk.state_octets[start : start + length])
            start += length
    return states


def _cut(
    tracks: Iterable[tuple[int, Track]], replayable: Container[int], limit: int
) -> Iterator[Sample]:
    """Samples cut to the slices that are kept of them, those of each writer in their order.

    A node that cannot keep up keeps thousands, of which few are sent: no more are looked at.
    """
    by_writer: dict[int, list[Track]] = {}
    for writer, track in tracks:
        by_writer.setdefault(writer, []).append(track)
    total = 0
    for writer in sorted(by_writer):
        for sample, kept in _by_sample(by_writer[writer]):
            if total > limit and writer in replayable:
                break
            cut = only_slices(sample, [batch.slice for batch in kept])
            total += cut.size
            if total <= limit or writer not in replayable:
                yield cut


def _by_sample(tracks: Iterable[Track]) -> Iterator[tuple[Sample, Iterator[Batch]]]:
    """What one writer's tracks keep, sample by sample in the order in which they were made."""
    in_order = merge(*map(_kept, tracks), key=lambda batch: (batch.sample.serial, id(batch.sample)))
    return groupby(in_order, lambda batch: batch.sample)


def _kept(track: Track) -> Iterator[Batch]:
    early = track.out_of_order
    return chain(track.ready, (early[first] for first in sorted(early)))


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
