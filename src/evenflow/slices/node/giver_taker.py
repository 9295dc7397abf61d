"""The node's half of a handover: giver and taker as state machines over a session's slices.

Transitions are the table below; the diagram in ``docs/protocol.md`` is drawn from it. A machine
checks that an order is legal, an order that comes again is answered again, and one that comes too
late or too early is refused with the reason.

The giver declares its positions once, when it freezes: nothing it declared unprocessed may be
processed afterwards. What it then sends is a snapshot: positions first, then the cached batches in
chunks, the same chunks however often they are asked for. It sends no more than a bound allows: what
is left out, the publishers replay to the taker, so only batches of publishers that are there may be
left out. The taker merges when it has been
activated and every chunk is there. Merging is the point of no return: before it a session can be
cancelled, after it the taker owns the slices.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from enum import Enum, auto

from evenflow.model.batch import Batch, Encoded
from evenflow.model.messages import CacheChunk, Step
from evenflow.slices.node.cache import HeldSlice

CHUNK_BYTES = 128 * 1024
"""Encoded batches in one chunk of a cache, unless a single batch is larger."""
CACHE_BYTES = 64 * 1024 * 1024
"""Most that is handed over in one session of batches that can be replayed."""


class SessionState(Enum):
    """Where a node stands in a session."""

    NEW = auto()
    FREEZING = auto()
    """Giver: the application still has items of these slices in hand."""
    FROZEN = auto()
    REMOVED = auto()
    SENT = auto()
    ADDING = auto()
    """Taker: its reader is not yet matched."""
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
    (SessionState.NEW, Step.ADD): SessionState.ADDING,
    (SessionState.ADDING, Step.ADD): SessionState.ADDING,
    (SessionState.ADDED, Step.ADD): SessionState.ADDED,
    (SessionState.ADDED, Step.ACTIVATE): SessionState.ACTIVE,
    (SessionState.ACTIVE, Step.ACTIVATE): SessionState.ACTIVE,
    (SessionState.MERGED, Step.ACTIVATE): SessionState.MERGED,
    (SessionState.MERGED, Step.ADD): SessionState.MERGED,
    (SessionState.MERGED, Step.CANCEL): SessionState.MERGED,
    (SessionState.NEW, Step.CANCEL): SessionState.CANCELLED,
    (SessionState.ADDING, Step.CANCEL): SessionState.CANCELLED,
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
    """Cut positions and cached batches into chunks of bounded size.

    Args:
        topic: The topic.
        session: The session.
        giver: The node that gives.
        held: The slices that it gives.
        replayable: Writers that are there to replay what is left out.
        limit: Bytes beyond which their batches are left out.
    """
    slices: list[int] = []
    writers: list[int] = []
    done: list[int] = []
    known: list[int] = []
    parts: list[list[Encoded]] = [[]]
    size = total = 0
    for slice_held in held:
        for writer, track in slice_held.tracks.items():
            slices.append(slice_held.slice)
            writers.append(writer)
            done.append(track.done)
            known.append(int(track.known))
            for batch in track.batches():
                total += batch.size
                if total > limit and writer in replayable:
                    break
                if size and size + batch.size > CHUNK_BYTES:
                    parts.append([])
                    size = 0
                parts[-1].append(batch.encoded)
                size += batch.size
    first = CacheChunk(
        topic, session.term, giver, session.taker, 0, len(parts), 0, tuple(slices), tuple(writers),
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

    def receive(self, chunk: CacheChunk) -> None:
        """Keep a chunk, whenever it comes."""
        if self.state in (SessionState.ADDING, SessionState.ADDED, SessionState.ACTIVE):
            self._chunks.setdefault(chunk.index, chunk)

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


def batches_in(chunk: CacheChunk) -> list[Batch]:
    """Decode the batches of a chunk."""
    batches = []
    start = 0
    for length in chunk.lengths:
        batches.append(Batch(bytes(chunk.batches[start : start + length])))
        start += length
    return batches
