"""How writers end: who is silent, what a cut is made of, and the balancer's ledger."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from evenflow.model.wire import (
    U64,
    Bool,
    CommitNumbers,
    F64s,
    KeyText,
    KeyU64,
    Number,
    Numbers,
    SliceIds,
    Term,
    Terms,
    Text,
    Texts,
    U8s,
    U64s,
)


class CutStage(IntEnum):
    """How far the end of a writer is."""

    PREPARING = 1
    """Nodes take in nothing more of it, consumers plan nothing more of it, and say what they have.
    The only stage that may be taken back."""
    DECIDED = 2
    """Its stream ends at the numbers of its ``WriterCut``."""
    COMPLETE = 3
    """Every node knows that: the publisher may go on as another writer."""
    CLEARED = 4
    """All that counts of it is committed by everybody: nothing of it is needed any more."""
    FORGOTTEN = 5
    """It has ended, and where is no longer known."""


@dataclass(frozen=True, slots=True)
class WriterSilence:
    """Which writers a node does not hear. Told while there are any, and when they are heard."""

    topic: KeyText
    node: KeyText
    writers: U64s
    """Writers that have been silent for ``node.writer_silence_s``."""
    goodbyes: U64s
    """Writers that have said goodbye: everything of them is committed."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the balancer has written down: ended writers and registered consumers.

    The newest one counts; it is kept for late readers, and repeated.
    """

    topic: KeyText
    version: Term
    """A term: grows with every change, also from one balancer to the next."""
    writers: U64s
    terms: Terms
    """For each writer, the term under which it is being ended or was ended."""
    stages: U8s
    """For each writer, a :class:`CutStage`."""
    consumers: Texts
    """The registered consumers."""
    numbers: CommitNumbers
    """For each consumer, the number of the newest commit of it that is on disk."""


@dataclass(frozen=True, slots=True)
class CutAnswer:
    """What a node or a consumer has of a writer whose cut is being prepared."""

    topic: Text
    writer: U64
    term: Term
    """The term of the preparation."""
    who: Text
    """The node, or the consumer."""
    consumer: Bool
    """Whether it is a consumer."""
    reason: Text
    """Why it does not agree; empty when it takes in, or plans, nothing more of the writer."""
    slices: SliceIds
    """Node: every slice that it owns."""
    owner_terms: Terms
    """For each of them, the term under which it does."""
    have: Numbers
    """For each of them, the number up to which everything is here, and may certainly be given out.
    """
    last: Numbers
    """For each of them, the newest number that was heard of."""
    uncertain: Number
    """Items here of which nobody here knows whether they were processed."""
    epoch: Number
    """Serving node: the newest close that it has whole. Consumer: the newest epoch that it may have
    planned."""
    close_slices: SliceIds
    close_last: Numbers
    """Serving node: what that close names."""


@dataclass(frozen=True, slots=True)
class WriterCut:
    """Where the stream of a writer ends. Made once, the same for everybody; never changes."""

    topic: KeyText
    writer: KeyU64
    term: Term
    epoch: Number
    """Served topics: the last epoch that counts."""
    slices: SliceIds
    upto: Numbers
    """For each slice, the last number that counts. Of an application's topic other slices have
    none; of a served one, what is committed."""
    owner_terms: Terms
    """For each slice of an application's topic, the term of the owner who has it."""
    beyond: Number
    """Items that were announced beyond it. They come again under another writer, or are lost."""


@dataclass(frozen=True, slots=True)
class PendingCuts:
    """Which silent writers have not ended yet, and why; for operators. Told with the ledger."""

    topic: KeyText
    version: Term
    """Of the ledger that it goes with."""
    writers: U64s
    waited_s: F64s
    """For each writer, how long ago a node first named it as silent."""
    reasons: Texts
    """For each writer, why its cut waits; empty when it is being made for the first time."""


@dataclass(frozen=True, slots=True)
class WriterRequest:
    """An operator ends a writer although something of it is lost by that."""

    topic: Text
    request: U64
    writer: U64
