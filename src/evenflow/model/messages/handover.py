"""Slices change their owner: orders of the balancer, acknowledgements, and the giver's cache."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from evenflow.model.wire import (
    U8,
    U32,
    Bool,
    Number,
    Numbers,
    Octets,
    SliceIds,
    Term,
    Text,
    U8s,
    U32s,
    U64s,
)


class SliceState(IntEnum):
    """State of a slice at one node (DPSLB thesis, figure 12; the session seen from both sides)."""

    AVAILABLE = 0
    """The node processes the items of the slice."""
    GIVING = 1
    """In Load Balancing Session as giver, or shut out by a publisher that knows a newer term: items
    are cached, not processed."""
    TAKING = 2
    """In Load Balancing Session as taker: items are cached, not processed."""


class Step(IntEnum):
    """What an ``Order`` asks and an ``Ack`` answers.

    The first five are the actions of the papers in their order; the others begin, end
    or undo what these cannot.
    """

    FREEZE = 1
    """``updateSliceState`` at the giver: In Load Balancing Session."""
    ADD = 2
    """``addSlice`` at the taker, In Load Balancing Session: keep what arrives for the slices."""
    REMOVE = 3
    """``removeSlice`` at the giver: it will not own the slices again in this session. It keeps what
    still arrives for them, until it sends its cache."""
    ACTIVATE = 4
    """``updateSliceState`` at the taker: Available as soon as the cache is merged."""
    SEND_CACHE = 5
    """``sendCacheToNode`` at the giver. The taker, not the giver, ends this step by MERGED."""
    MERGED = 6
    """Only in an ``Ack``: the taker merged the cache and owns the slices from now on."""
    CANCEL = 7
    """At the taker: promise never to merge this session (or answer MERGED if it is too late)."""
    TAKE = 8
    """Own these slices under this term; publishers' replay stands in for a giver's cache."""
    SETTLED = 9
    """Only in an ``Ack``: all gaps that a change of owner left are closed."""


@dataclass(frozen=True, slots=True)
class Order:
    """The balancer orders one step. Repeated until acknowledged; repeating does no harm."""

    topic: Text
    node: Text
    """Who shall do it."""
    term: Term
    """The session's term; for TAKE the term of the new ownership."""
    step: U8
    """A :class:`Step`."""
    slices: SliceIds
    peer: Text
    """The other node of the session; empty for TAKE."""


@dataclass(frozen=True, slots=True)
class Ack:
    """A node did a step, or refuses it and says why."""

    topic: Text
    node: Text
    term: Term
    step: U8
    """The :class:`Step` that is answered."""
    ok: Bool
    reason: Text
    """Why not, when ``ok`` is false."""
    moved: Number
    """MERGED: items that came with the giver's cache."""
    repeated: Number
    """MERGED: items the giver processed after it had declared its positions (must be 0)."""
    replayed: Number
    """SETTLED: items that publishers had to resend."""


@dataclass(frozen=True, slots=True)
class CacheChunk:
    """A part of the giver's cache (the papers' CacheTopic). Chunk 0 carries the positions."""

    topic: Text
    term: Term
    """The session."""
    giver: Text
    taker: Text
    index: U32
    """Number of this chunk, from 0."""
    total: U32
    """How many chunks there are."""
    repeated: Number
    """Items the giver processed after it had declared its positions (must be 0)."""
    slices: SliceIds
    writers: U64s
    done: Numbers
    """For each (slice, writer): processed up to this number. Only in chunk 0."""
    known: U8s
    """For each (slice, writer): 1 when that is certain; 0 when a former owner may have come further
    and the giver had not yet heard how far."""
    lengths: U32s
    """Length of each encoded sample in ``batches``."""
    batches: Octets
    """Encoded :class:`~evenflow.model.sample.Sample` after sample, each cut to the session's slices
    unless it is mostly of them."""
    state_slices: SliceIds = ()
    """Slices whose states are in this chunk; the application's, as of the positions."""
    state_lengths: U32s = ()
    state_octets: Octets = b""
