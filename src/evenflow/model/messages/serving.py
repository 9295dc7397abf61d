"""Served topics: how far consumers and serving nodes are, and what slices cost a consumer."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import (
    U32,
    U64,
    Bool,
    CommitNumber,
    KeyText,
    Number,
    Numbers,
    SliceIds,
    Text,
    Texts,
    U64s,
)


@dataclass(frozen=True, slots=True)
class ConsumerCommit:
    """A consumer of a served topic has processed everything up to a position, and is registered.

    Its first commit registers it, with its starting position. The newest one is kept for late
    readers, and repeated.
    """

    topic: KeyText
    consumer: KeyText
    """Name of the consumer; it stays registered when its process dies, and comes back by it."""
    number: CommitNumber
    """Grows with every commit of a consumer, also across its restarts; older ones are ignored."""
    writers: U64s
    epochs: Numbers
    """For each writer: everything up to the end of this epoch is processed; others: nothing is."""
    ended: Bool
    """The consumer is no longer registered: nothing has to be kept for it."""
    planned_writers: U64s = ()
    planned_epochs: Numbers = ()
    """The end of the batch it is about to process, when the domain shall remember it: after a crash
    the same batch comes again."""


@dataclass(frozen=True, slots=True)
class CommitCopy:
    """The newest commit of a consumer whose process is gone, kept by a node until it comes back."""

    topic: KeyText
    consumer: KeyText
    node: KeyText
    """The node that keeps it."""
    away: Bool
    """Whether the process is gone; else it has come back, and this commit is not its newest."""
    number: CommitNumber
    writers: U64s
    epochs: Numbers
    ended: Bool
    planned_writers: U64s
    planned_epochs: Numbers


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a serving node has the items of the slices it owns."""

    topic: KeyText
    node: KeyText
    address: Text
    """Where its items are read, as in ``grpc://127.0.0.1:31337``."""
    writers: U64s
    epochs: Numbers
    """For each writer: the newest closed epoch up to which nothing is missing here."""
    consumers: Texts
    """Registered consumers it knows of, so that who comes later keeps items for them too."""


@dataclass(frozen=True, slots=True)
class RoomWanted:
    """A serving node is nearly full: what is kept beyond what is committed may go, oldest first.

    Repeated while that is so.
    """

    topic: Text
    node: Text


@dataclass(frozen=True, slots=True)
class SliceReads:
    """What one task of a consumer's batch has read; passed on by the node that the task asked."""

    topic: Text
    consumer: Text
    """Name of the consumer."""
    query: Text
    """The query, as the consumer's own system calls it."""
    stage: U32
    """The stage the task belongs to, as the consumer's own system numbers it."""
    task: U64
    """The task; never the same again in one run of the consumer."""
    slices: SliceIds
    items: Numbers
    """Items read of each slice."""
    octets: Numbers
    """Payload bytes of them."""
    damaged: Number
    """Items whose payload could not be decoded."""


@dataclass(frozen=True, slots=True)
class SliceCosts:
    """What the slices of a topic cost a consumer. The newest one counts, while it runs."""

    topic: KeyText
    consumer: KeyText
    slices: SliceIds
    work_ns: Numbers
    """For each slice: nanoseconds of work in each second. Those of other slices are 0."""
