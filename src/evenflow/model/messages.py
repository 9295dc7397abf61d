"""The messages of the domain, each the type of one DDS topic.

Who says what to whom (one evenflow topic; ``docs/protocol.md`` tells the whole story):

=================  ======================  =====================================================
message            from -> to              meaning
=================  ======================  =====================================================
``EpochClose``     publisher -> nodes      newest number of every slice that has uncommitted items
``ReplayRequest``  node -> publisher       "I own these slices since this term; resend what I lack"
``ReplayAnswer``   publisher -> node       where the numbers start (all below are committed)
``Commit``         node -> publisher       processed up to these numbers; forget them
``ConsumerCommit`` consumer -> everybody   of a served topic: processed up to these epochs
``Progress``       serving node -> all     epochs of which nothing is missing here, and its address
``Order``          balancer -> node        one step of a handover, or a takeover
``Ack``            node -> balancer        the step is done, or refused and why
``CacheChunk``     giver -> taker          positions and cached batches of the slices handed over
``NodeReport``     node -> everybody       the slices it holds, their states and terms, and its load
``SliceLoads``     node -> balancer        what each of its slices has cost so far
``SliceReads``     node -> consumer        what a task of the consumer has read of each slice
``SliceCosts``     consumer -> balancer    the work that each slice asks of the consumer
``Beat``           balancer -> nodes       "I heard your report number n": renews the nodes' leases
``SliceMap``       balancer -> everybody   the assignment: owner and term of every slice
``Receipt``        balancer -> everybody   what one move did
``MoveRequest``    operator -> balancer    move slices from one node to another
``MoveReply``      balancer -> operator    accepted, or refused and why
``PropertyReport`` any process -> all      what its monitors read, when something changed its range
``EventNotice``    any process -> all      a local event began or ended there
=================  ======================  =====================================================

Items travel in :class:`evenflow.model.batch.Batch`. Every message may be lost, repeated, delayed or
reordered: each carries what makes it safe to handle late or twice (a term, a number, a sequence).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from evenflow.model.wire import (
    F64,
    U8,
    U32,
    U64,
    Bool,
    F64s,
    KeyText,
    KeyU64,
    Octets,
    Text,
    Texts,
    U8s,
    U32s,
    U64s,
)


class SliceState(IntEnum):
    """State of a slice at one node (DPSLB thesis, figure 12; the session seen from both sides)."""

    AVAILABLE = 0
    """The node processes the items of the slice."""
    GIVING = 1
    """In Load Balancing Session as giver: items are cached, not processed."""
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
    """``addSlice`` at the taker, In Load Balancing Session; done when its reader is matched."""
    REMOVE = 3
    """``removeSlice`` at the giver: stop reading the slices."""
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
class EpochClose:
    """A publisher closed an epoch. Cumulative, so that a later one makes up for a lost one."""

    writer: KeyU64
    """The publisher's writer id, new for each run of a publisher."""
    topic: Text
    """The evenflow topic."""
    epoch: U64
    """The epoch that this message closes; batches carry the epoch they belong to."""
    slice_count: U32
    """How many slices the publisher cuts the topic into."""
    slices: U32s
    """Slices that have uncommitted items."""
    last: U64s
    """For each of ``slices``, the newest sequence number in this or an earlier epoch."""
    closing: Bool
    """The publisher takes no more items and leaves when these are committed."""
    committed: U64 = 0
    """Served topics: all registered consumers have committed up to this epoch; nodes forget it."""
    items: U64 = 0
    """Items published up to the end of this epoch."""
    committed_items: U64 = 0
    """Served topics: items published up to the end of the committed epoch."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A node tells a publisher which slices it owns since which term, and what it lacks of them."""

    topic: Text
    writer: U64
    """The writer that is asked."""
    node: Text
    """Who asks; the answer goes to this node alone."""
    request: U64
    """Number of the request at this node; the answer repeats it."""
    slices: U32s
    terms: U64s
    """Term of ownership of each slice: from now on the publisher refuses commits of older terms."""
    have: U64s
    """For each slice: everything up to this number is here; 0 when nothing is known."""


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """Where the numbers start. The lacking batches follow on the node's replay partition."""

    topic: Text
    writer: U64
    node: Text
    request: U64
    slices: U32s
    floor: U64s
    """Everything up to this number is committed and must not be processed again."""
    last: U64s
    """Newest number of the slice; what lies between is being resent."""
    refused: U32s
    """Slices whose term was older than one the publisher has seen: the asker is no owner."""
    refused_terms: U64s
    """The newer term that the publisher has seen for each refused slice."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A node processed these items; the publisher may forget them."""

    topic: Text
    writer: U64
    node: Text
    consumer: Text
    """Which consumer group commits; the nodes' own application is the group ``""``."""
    slices: U32s
    terms: U64s
    upto: U64s
    """For each slice: every item up to this number is processed."""


@dataclass(frozen=True, slots=True)
class ConsumerCommit:
    """A consumer of a served topic has processed everything up to a position, and is registered.

    Its first commit registers it, with its starting position. The newest one is kept for late
    readers, and repeated.
    """

    topic: KeyText
    consumer: KeyText
    """Name of the consumer; it stays registered when its process dies, and comes back by it."""
    number: U64
    """Grows with every commit of a consumer, also across its restarts; older ones are ignored."""
    writers: U64s
    epochs: U64s
    """For each writer: everything up to the end of this epoch is processed; others: nothing is."""
    ended: Bool
    """The consumer is no longer registered: nothing has to be kept for it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a serving node has the items of the slices it owns."""

    topic: KeyText
    node: KeyText
    address: Text
    """Where its items are read, as in ``grpc://127.0.0.1:31337``."""
    writers: U64s
    epochs: U64s
    """For each writer: the newest closed epoch up to which nothing is missing here."""
    consumers: Texts
    """Registered consumers it knows of, so that who comes later keeps items for them too."""


@dataclass(frozen=True, slots=True)
class Order:
    """The balancer orders one step. Repeated until acknowledged; repeating does no harm."""

    topic: Text
    node: Text
    """Who shall do it."""
    term: U64
    """The session's term; for TAKE the term of the new ownership."""
    step: U8
    """A :class:`Step`."""
    slices: U32s
    peer: Text
    """The other node of the session; empty for TAKE."""


@dataclass(frozen=True, slots=True)
class Ack:
    """A node did a step, or refuses it and says why."""

    topic: Text
    node: Text
    term: U64
    step: U8
    """The :class:`Step` that is answered."""
    ok: Bool
    reason: Text
    """Why not, when ``ok`` is false."""
    moved: U64
    """MERGED: items that came with the giver's cache."""
    repeated: U64
    """MERGED: items the giver processed after it had declared its positions (must be 0)."""
    replayed: U64
    """SETTLED: items that publishers had to resend."""
    lost: U64
    """SETTLED: items that nobody has any more."""


@dataclass(frozen=True, slots=True)
class CacheChunk:
    """A part of the giver's cache (the papers' CacheTopic). Chunk 0 carries the positions."""

    topic: Text
    term: U64
    """The session."""
    giver: Text
    taker: Text
    index: U32
    """Number of this chunk, from 0."""
    total: U32
    """How many chunks there are."""
    repeated: U64
    """Items the giver processed after it had declared its positions (must be 0)."""
    slices: U32s
    writers: U64s
    done: U64s
    """For each (slice, writer): processed up to this number. Only in chunk 0."""
    known: U8s
    """For each (slice, writer): 1 when that is certain; 0 when a former owner may have come further
    and the giver had not yet heard how far."""
    lengths: U32s
    """Length of each encoded batch in ``batches``."""
    batches: Octets
    """Encoded :class:`~evenflow.model.batch.Batch` samples, one after the other."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a node holds and does. The last one of each node is kept for late readers."""

    topic: KeyText
    node: KeyText
    """Id of the node: its name and, after a ``~``, a number that is new for each run."""
    number: U64
    """Counts the node's reports; a ``Beat`` says which one the balancer heard."""
    seen_term: U64
    """The newest term this node has met anywhere."""
    leaving: Bool
    """The node wants to give all its slices away and leave."""
    slices: U32s
    states: U8s
    """A :class:`SliceState` for each slice."""
    terms: U64s
    """Term of ownership of each slice; for GIVING and TAKING the term of the session."""
    items: U64
    """Items processed since start."""
    octets: U64
    """Payload bytes processed since start."""
    backlog_items: U64
    """Items received and not yet processed."""
    backlog_octets: U64
    lost: U64
    """Items that nobody could replay."""
    repeated: U64
    """Items that arrived again and were dropped."""
    failed: U64
    """Items whose processing raised an error in the application."""
    damaged: U64
    """Samples that could not be decoded and were skipped."""
    busy_s: F64
    """Seconds the application has been at work since start."""
    host: Text
    pid: U32


@dataclass(frozen=True, slots=True)
class SliceLoads:
    """What the slices of a node have cost since it holds them; the balancer takes differences."""

    topic: KeyText
    node: KeyText
    slices: U32s
    terms: U64s
    """Term of ownership of each slice: under a new one the counts begin anew."""
    items: U64s
    """Items processed (or, of a served topic, received)."""
    octets: U64s
    """Payload bytes of them."""
    busy_us: U64s
    """Microseconds the application worked on them."""
    arrived: U64s
    """Items that have come in meanwhile, processed or not."""


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
    slices: U32s
    items: U64s
    """Items read of each slice."""
    octets: U64s
    """Payload bytes of them."""
    damaged: U64
    """Items whose payload could not be decoded."""


@dataclass(frozen=True, slots=True)
class SliceCosts:
    """What the slices of a topic cost a consumer. The newest one counts, while it runs."""

    topic: KeyText
    consumer: KeyText
    slices: U32s
    work_ns: U64s
    """For each slice: nanoseconds of work in each second. Those of other slices are 0."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The balancer is there and has heard these reports, from which the nodes' leases count."""

    topic: KeyText
    balancer: U64
    """Incarnation of the balancer."""
    version: U64
    """Version of the newest ``SliceMap``: a node that waits for a beat waits for that map too.
    Of a balancer that is still listening, a number below its first map and above all before."""
    nodes: Texts
    numbers: U64s
    """For each node: the number of its newest report."""


@dataclass(frozen=True, slots=True)
class SliceMap:
    """The assignment."""

    topic: KeyText
    balancer: U64
    version: U64
    """Grows with each change, also across restarts of the balancer."""
    nodes: Texts
    """The names that ``owners`` points into."""
    owners: U32s
    """For each slice: 0 when unowned, else 1 + index into ``nodes``."""
    terms: U64s
    """For each slice: the term under which its owner owns it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one move did."""

    topic: Text
    term: U64
    cause: Text
    """``handover``, ``takeover``, ``assign`` (first owner), ``return`` (way back), ``recovered``
    (begun by a former balancer) or ``plan`` and its id."""
    giver: Text
    taker: Text
    slices: U32s
    outcome: Text
    """``done``, or why it did not happen."""
    time: F64
    """Wall clock when it started, seconds since 1970."""
    ms: F64
    """From the first order until the taker owned the slices."""
    moved: U64
    replayed: U64
    lost: U64
    repeated: U64
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
    slices: U32s


@dataclass(frozen=True, slots=True)
class MoveReply:
    """The balancer's answer; the receipt of the term follows when the move is over."""

    topic: Text
    request: U64
    accepted: Bool
    reason: Text
    term: U64


@dataclass(frozen=True, slots=True)
class PropertyReport:
    """What the monitors of a process read (MAPE-SDDL, section III.B.1). Always the whole state."""

    source: KeyText
    """Id of the process: a node's id for a node."""
    time: F64
    """Seconds since 1970, by the source's clock."""
    names: Texts
    """The properties."""
    values: F64s
    """For each property: its newest value."""
    ranges: U32s
    """For each property: the operation range it is in, from 0."""


@dataclass(frozen=True, slots=True)
class EventNotice:
    """A local event began or ended (MAPE-SDDL, Listing 1)."""

    source: KeyText
    """Id of the process where it happened."""
    event: KeyText
    """Id of the event."""
    raised: Bool
    """Whether it began; else it ended."""
    time: F64
    """Seconds since 1970, by the source's clock."""
    names: Texts
    """The properties that were seen then."""
    values: F64s
    times: F64s
    """For each property: when it was read."""
