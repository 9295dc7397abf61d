"""Items on their way: what publishers and nodes say about numbers, gaps and commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evenflow.model.wire import (
    U64,
    Bool,
    I64s,
    KeyU64,
    Number,
    Numbers,
    Octets,
    SliceCount,
    SliceId,
    SliceIds,
    Terms,
    Text,
    Texts,
    U32s,
)

ANY: Final = 1 << 48
"""No limit: more bytes than a publisher keeps, more epochs than it closes."""


@dataclass(frozen=True, slots=True)
class EpochClose:
    """A publisher closed an epoch. Cumulative, so that a later one makes up for a lost one."""

    writer: KeyU64
    """The publisher's writer id, new for each run of a publisher."""
    topic: Text
    """The evenflow topic."""
    epoch: Number
    """The epoch that this message closes; batches carry the epoch they belong to."""
    slice_count: SliceCount
    """How many slices the publisher cuts the topic into."""
    slices: SliceIds
    """Slices that have uncommitted items."""
    last: Numbers
    """For each of ``slices``, the newest sequence number in this or an earlier epoch."""
    closing: Bool
    """Goodbye: everything is committed, and the writer says nothing more."""
    committed: Number = 0
    """Served topics: all registered consumers have committed up to this epoch; nodes forget it."""
    items: Number = 0
    """Items published up to the end of this epoch."""
    committed_items: Number = 0
    """Served topics: items published up to the end of the committed epoch."""
    thinned: Number = 0
    """Items left out before they were numbered, from this writer's start to the end of this epoch,
    in a goodbye to its own end. Who is started again with its outbox is the same writer."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A node tells a publisher which slices it owns since which term, and what it lacks of them."""

    topic: Text
    writer: U64
    """The writer that is asked."""
    node: Text
    """Who asks; the answer goes to this node alone."""
    request: Number
    """Number of the request at this node; the answer repeats it."""
    slices: SliceIds
    terms: Terms
    """Term of ownership of each slice: from now on the publisher refuses commits of older terms."""
    have: Numbers
    """For each slice: everything up to this number is here; 0 when nothing is known."""
    until: Numbers = ()
    """For each slice: what lies beyond this number is not asked for. Empty: everything is."""
    room: Number = ANY
    """Bytes of items to send again, the oldest first, and a sample at least; 0: send none."""
    epoch: Number = ANY
    """Send nothing of later epochs again."""


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """Where the numbers start. The lacking batches follow on the node's replay partition."""

    topic: Text
    writer: U64
    node: Text
    request: Number
    slices: SliceIds
    floor: Numbers
    """Everything up to this number is committed and must not be processed again."""
    last: Numbers
    """Newest number of the slice; what lies between is being resent."""
    refused: SliceIds
    """Slices whose term was older than one the publisher has seen: the asker is no owner."""
    refused_terms: Terms
    """The newer term that the publisher has seen for each refused slice."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A node processed these items; the publisher may forget them."""

    topic: Text
    writer: U64
    node: Text
    consumer: Text
    """Which consumer group commits; the nodes' own application is the group ``""``."""
    slices: SliceIds
    terms: Terms
    upto: Numbers
    """For each slice: every item up to this number is processed."""


@dataclass(frozen=True, slots=True)
class ItemReplies:
    """What a node's application answers to items of one writer and slice, ordered by number."""

    topic: Text
    writer: U64
    """The writer whose items they are."""
    node: Text
    slice: SliceId
    numbers: Numbers
    """For each reply: the number of the item. One may be answered several times."""
    senders: Texts
    ids: I64s
    lengths: U32s
    """For each reply: bytes of it in ``payloads``."""
    payloads: Octets
    headers: Octets
    """Empty when no reply has any; else as behind the payloads of a sample, by the rows of
    replies."""
