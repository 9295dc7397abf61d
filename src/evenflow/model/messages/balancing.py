"""The state of nodes and of the assignment, and moves that operators ask for."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import (
    F64,
    U8,
    U32,
    U64,
    BalancerNumber,
    Bool,
    KeyPage,
    KeyText,
    Number,
    Numbers,
    SliceCount,
    SliceIds,
    Term,
    Terms,
    Text,
    Texts,
    U8s,
    U32s,
)


@dataclass(frozen=True, slots=True)
class NewerTerm:
    """A publisher or a consumer hears an older balancer than the newest it has heard.

    It goes by the newer one, which is silent: who leads has to claim above it.
    """

    topic: KeyText
    source: KeyText
    """Who says so."""
    term: Term
    """The newest that the newer balancer can have given out."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a node holds and does. The last one of each node is kept for late readers."""

    topic: KeyText
    node: KeyText
    """Id of the node: its name and, after a ``~``, a number that is new for each run."""
    number: Number
    """Counts the node's reports; a ``Beat`` says which one the balancer heard."""
    seen_term: Term
    """The newest term this node has met anywhere."""
    leaving: Bool
    """The node wants to give all its slices away and leave."""
    slices: SliceIds
    states: U8s
    """A :class:`SliceState` for each slice."""
    terms: Terms
    """Term of ownership of each slice; in a session the term of that."""
    items: Number
    """Items processed since start."""
    octets: Number
    """Payload bytes processed since start."""
    backlog_items: Number
    """Items received and not yet processed."""
    backlog_octets: Number
    repeated: Number
    """Items that arrived again and were dropped."""
    failed: Number
    """Items that the application could not process and that were given up, dead or skipped."""
    damaged: Number
    """Samples that could not be decoded and were skipped."""
    busy_s: F64
    """Seconds the application has been at work since start."""
    host: Text
    pid: U32
    cpu: F64 = 0.0
    """Percent of all cores of its machine that are busy, whoever keeps them so."""
    process_cpu: F64 = 0.0
    """Percent of all cores of its machine that its own process keeps busy."""
    memory: F64 = 0.0
    """Percent of the memory of its machine that is in use."""
    state: U8 = 1
    """A :class:`~evenflow.model.load.NodeState`."""
    replayed: Number = 0
    """Items that publishers had to send again."""
    refused: Number = 0
    """Items refused because the cache was full; they are sent again."""
    stray: Number = 0
    """Items of slices that the node does not hold."""
    misfits: U32 = 0
    """Publishers that cut the topic into another number of slices; their items are left alone."""
    spill_failures: Number = 0
    """Times that items could not be put on disk."""
    retried: Number = 0
    """Times that the application failed."""
    dead: Number = 0
    """Items that were given up and are in the dead-letter topic."""
    foreign: U32 = 0
    """Writers that send items and do not speak the protocol."""
    foreign_items: Number = 0
    """Items that came of them: nobody can process or commit them."""
    layout: Text = ""
    """How it has the topic set up: slices, assignment, served or not. The balancer compares."""
    balancer: BalancerNumber = 0
    """Number of the newest balancer whose beats it hears; 0 when it hears none."""
    ledger: Term = 0
    """Version of the newest ``Ledger`` of which the node has every cut."""
    ledger_heard: Term = 0
    """Version of the newest ``Ledger`` that it has heard."""
    decided: Terms = ()
    """Terms of the cuts that this ledger names as decided."""
    complete: Terms = ()
    """Terms of complete cuts that the balancer may not know: all while it listens, then those that
    its ledger does not name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node does not fit the topic as the balancer knows it, and is given no slices."""

    topic: KeyText
    node: KeyText
    reason: Text
    """In words that say what to do."""


@dataclass(frozen=True, slots=True)
class SliceLoads:
    """What the slices of a node have cost since it holds them; the balancer takes differences."""

    topic: KeyText
    node: KeyText
    slices: SliceIds
    terms: Terms
    """Term of ownership of each slice: under a new one the counts begin anew."""
    items: Numbers
    """Items processed (or, of a served topic, received)."""
    octets: Numbers
    """Payload bytes of them."""
    busy_us: Numbers
    """Microseconds the application worked on them."""
    arrived: Numbers
    """Items that have come in meanwhile, processed or not."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The balancer is there and has heard these reports, from which the nodes' leases count."""

    topic: KeyText
    balancer: U64
    """Incarnation of the balancer."""
    version: Term
    """The newest version of any ``MapPage``. Of a balancer that is still listening, a number below
    its first one and above all before."""
    nodes: Texts
    numbers: Numbers
    """For each node: the number of its newest report."""
    pages: Terms
    """The version of each page of the map: a node that waits for a beat waits for these pages too.
    Empty while the balancer is still listening."""


@dataclass(frozen=True, slots=True)
class MapPage:
    """A page of the slice map: the assignment of up to 256 slices that follow one another.

    :mod:`evenflow.model.slice_map` puts the pages together. The last one of each is kept for late
    readers.
    """

    topic: KeyText
    page: KeyPage
    """Counts from 0; slice 256 is the first on page 1."""
    balancer: U64
    version: Term
    """Grows with each change of the page, also across restarts of the balancer."""
    slice_count: SliceCount
    """Of the whole topic."""
    nodes: Texts
    """The names that ``owners`` points into."""
    owners: U32s
    """For each slice of the page: 0 when unowned, else 1 + index into ``nodes``."""
    terms: Terms
    """For each slice of the page: the term under which its owner owns it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one move did."""

    topic: Text
    term: Term
    cause: Text
    """``handover``, ``takeover``, ``assign`` (first owner), ``return`` (way back), ``recovered``
    (begun by a former balancer) or ``plan`` and its id."""
    giver: Text
    taker: Text
    slices: SliceIds
    outcome: Text
    """``done``, or why it did not happen."""
    time: F64
    """Wall clock when it started, seconds since 1970."""
    ms: F64
    """From the first order until the taker owned the slices."""
    moved: Number
    replayed: Number
    repeated: Number
    why: Text
    """The reason in words: who joined, left or died, who asked for it."""


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """An operator asks for a move."""

    topic: Text
    request: U64
    giver: Text
    taker: Text
    count: U32
    """How many slices, when ``slices`` is empty."""
    slices: SliceIds


@dataclass(frozen=True, slots=True)
class MoveReply:
    """The balancer's answer; the receipt of the term follows when the move is over."""

    topic: Text
    request: U64
    accepted: Bool
    reason: Text
    term: Term
