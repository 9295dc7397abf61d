"""What the processes of a domain are told: the domain, topics, publishers, nodes, balancer, store.

Self-management has sections of its own: :mod:`evenflow.config.loop_sections`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.config.section import (
    NAME,
    Section,
    integer,
    names,
    number,
    text,
    text_or_offered,
    texts,
    yes_or_no,
)
from evenflow.config.spans import SIZE, TIME, Keep, keep_of, seconds_of

MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40

NEVER = "never"
"""The policy of a topic of which nothing is left out, whoever orders it."""
DEAD_SUFFIX = ".dead"
"""A topic's dead letters are a topic of its name and this."""
_FIELD = r"[A-Za-z_]\w*"
_NUMBER = r" *[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"


@dataclass(frozen=True, slots=True)
class DomainConfig(Section):
    """``[domain]``: where the processes meet."""

    table: ClassVar[str] = "domain"

    id: int = integer(0, 0, 230)
    """DDS domain id; processes of different ids do not see one another."""
    interface: str = text("lo", r"\S+", "the name or address of a network interface")
    """Network interface the domain uses."""
    peers: tuple[str, ...] = texts()
    """Hosts to look for by unicast; empty: multicast discovery on the interface."""
    liveliness_s: float = number(0.6, 0.1, 30.0)
    """A process that is silent for this long is dead to the others."""
    participant_lease_s: float = number(2.0, 0.5, 60.0)
    """After this silence DDS itself forgets a participant and its endpoints."""


@dataclass(frozen=True, slots=True)
class TopicConfig(Section):
    """``[topics.NAME]``: a balanced topic."""

    table: ClassVar[str] = "topics"

    name: str = text(
        "items",
        rf"{NAME}(\.dead)?",
        "a letter, then letters, digits, '_' or '-' (at most 64 characters)",
    )
    """Name of the topic; the table's own name in the file."""
    slices: int = integer(100, 1, 100_000)
    """Into how many slices the topic is cut; all processes of a domain must agree."""
    assignment: str = text_or_offered(
        "hash:sender",
        rf"random|(modulo|hash):{_FIELD}|range:{_FIELD},{_NUMBER},{_NUMBER}"
        rf"|geo:{_FIELD},{_FIELD}|call:{_DOTTED}:{_DOTTED}",
        "'random', 'modulo:FIELD', 'hash:FIELD', 'range:FIELD,LOW,HIGH', 'geo:LATFIELD,LONFIELD',"
        " 'call:MODULE:NAME'",
        "evenflow.assignments",
    )
    """Which slice an item gets."""
    served: bool = yes_or_no(False)  # noqa: FBT003
    """Whether consumers (Spark) read the items from serving nodes and say when to forget them."""
    consumers: tuple[str, ...] = names()
    """Consumers for whom everything is kept from the start, though they have never run."""
    keep: str = text(
        "", rf"|{TIME}|{SIZE}", "a time such as '1h' or '7d', a size such as '2GiB', or empty"
    )
    """How much is kept, for consumers that come later, of what all have committed: a time, or a
    size of each publisher. Empty: nothing. Publishing never waits for it."""
    encoding: str = text("json", "json|struct|avro", "'json', 'struct' or 'avro'")
    """How the payloads of a served topic are encoded, for columns decoded from them."""
    fields: str = text("", r"[^\n]*", "columns as DDL, as in 'speed DOUBLE, lane INT'")
    """Columns decoded from JSON or struct payloads."""
    avro_schema: str = text("", r"[^\n]*", "a file beside this one")
    """File with the schema of Avro payloads."""
    durable: bool = yes_or_no(False)  # noqa: FBT003
    """Whether the overlay store keeps it: the items of a served topic (``evenflow archive``), the
    state of its application otherwise."""
    on_error: str = text("stop", "stop|dead|skip", "'stop', 'dead' or 'skip'")
    """What becomes of an item that the application cannot process, after ``node.retries``: the
    node stops and leaves it uncommitted; it is put aside in the topic ``NAME.dead``; or it is
    skipped and counted."""
    replies: str = text("publisher", "publisher|mobile", "'publisher' or 'mobile'")
    """Whom ``batch.reply`` answers: the program that published the item, or the mobile node that
    the item's sender names, by way of a mailbox."""
    thin: str = text(
        "never",
        f"{NEVER}|source|instance",
        "'never', 'source' or 'instance' (a reader of a sliced topic cannot leave out numbered"
        " items)",
    )
    """Whether publishers may leave out items of a sender when the topic is overloaded."""
    deadline_s: float = number(0.0, 0.0, 86_400.0)
    """Longest time between two items of a sender; what is left out stays below it. 0: none."""

    def key(self, name: str) -> str:
        """Dotted key of a field of this topic."""
        return f"topics.{self.name}.{name}"

    @property
    def archived(self) -> bool:
        """Whether the items are kept in the overlay store."""
        return self.durable and self.served

    @property
    def keeps_state(self) -> bool:
        """Whether the state of the application is kept in the overlay store."""
        return self.durable and not self.served

    @property
    def kept(self) -> Keep | None:
        """What is kept beyond what is committed; None for nothing."""
        return keep_of(self.keep)

    @property
    def dead_name(self) -> str:
        """The topic of what the application could not process."""
        return f"{self.name}{DEAD_SUFFIX}"

    @property
    def is_dead(self) -> bool:
        """Whether this is a topic of dead letters."""
        return self.name.endswith(DEAD_SUFFIX)

    @property
    def slicing(self) -> str:
        """How items come into slices, in words: what is kept by slice is of no use with another."""
        return f"{self.slices} slices by {self.assignment}"

    @property
    def layout(self) -> str:
        """What all processes of a domain must agree on, in words."""
        kind = "served" if self.served else "processed at the nodes"
        kind += ", with state at the store" if self.keeps_state else ""
        return f"{self.slicing}, {kind}"


@dataclass(frozen=True, slots=True)
class ConsumerConfig(Section):
    """``[consumer]``: the consumers of served topics."""

    table: ClassVar[str] = "consumer"

    expires: str = text("", rf"|{TIME}", "a time such as '12h' or '7d', or empty for never")
    """A consumer that the balancer has not heard for this long is forgotten, unless the file
    declares it. Empty: never."""

    @property
    def expires_s(self) -> float | None:
        """The time in seconds; None for never."""
        return seconds_of(self.expires) if self.expires else None


@dataclass(frozen=True, slots=True)
class PublisherConfig(Section):
    """``[publisher]``: how items are packed and how long they are kept."""

    table: ClassVar[str] = "publisher"

    linger_ms: int = integer(5, 0, 1_000)
    """How long an item alone waits for others; 0 sends at once. Items of a steady stream wait up to
    50 ms, to travel together. In a served topic, where nobody can read it before, any other value
    lets an item wait until its epoch ends."""
    batch_items: int = integer(10_000, 1, 1_000_000)
    """Items that fill a sample."""
    batch_bytes: int = integer(262_144, 1_024, 64 * MIB)
    """Bytes that fill a sample."""
    retention_bytes: int = integer(64 * MIB, MIB, TIB)
    """Memory for what is not yet committed."""
    spill_bytes: int = integer(0, 0, TIB)
    """Disk for what does not fit in memory; when that is full too, publishing blocks."""
    spill_dir: str = text("", r".*", "a folder")
    """Where that is; empty for the system's folder for large temporary files."""
    outbox_bytes: int = integer(GIB, 4 * MIB, TIB)
    """Disk for the outbox of a publisher that has one; when it is full, publishing blocks."""
    epoch_ms: int = integer(100, 10, 60_000)
    """How often an epoch is closed."""
    block_s: float = number(30.0, 0.0, 3_600.0)
    """How long publishing may block before it gives up."""


@dataclass(frozen=True, slots=True)
class NodeConfig(Section):
    """``[node]``: a processing node."""

    table: ClassVar[str] = "node"

    app: str = text("", rf"|{_DOTTED}:{_DOTTED}", "'MODULE:CALLABLE', or empty for none")
    """The application that is given the items."""
    deliver_items: int = integer(256, 1, 1_000_000)
    """Most items given to the application at once."""
    cache_bytes: int = integer(256 * MIB, MIB, TIB)
    """Memory for the uncommitted items of all slices."""
    spill_bytes: int = integer(4 * GIB, 0, TIB)
    """Disk for what does not fit in memory; when that is full too, items wait at the publishers."""
    spill_dir: str = text("", r".*", "a folder")
    """Where that is; empty for the system's folder for large temporary files."""
    commit_ms: int = integer(100, 1, 60_000)
    """How often processed epochs are committed."""
    report_ms: int = integer(250, 10, 60_000)
    """How often the node reports its slices and load."""
    lease_s: float = number(30.0, 0.5, 3_600.0)
    """A node that has not heard from the balancer for this long stops delivering."""
    stall_s: float = number(1.0, 0.1, 60.0)
    """A node that did not run for this long checks its term before it goes on."""
    writer_silence_s: float = number(20.0, 0.5, 86_400.0)
    """A publisher that no node hears for this long is ended by a cut; it goes on as another."""
    retries: int = integer(5, 0, 1_000)
    """How often an item on which the application raised an exception is given to it again, alone;
    then ``topics.NAME.on_error`` counts."""
    retry_ms: int = integer(100, 0, 10_000)
    """How long such an item waits at first; each time twice as long, at most 10 s."""
    state_bytes: int = integer(MIB, 1, 256 * MIB)
    """How large the state of a slice may be that an application gives when the slice moves."""
    snapshot_ms: int = integer(1_000, 50, 3_600_000)
    """How often the states of slices are stored, of a durable topic with an application. What is
    not stored is not committed."""
    dead_dir: str = text("evenflow-dead", r".+", "a folder")
    """Where nodes keep what they put aside until it is replayed or dropped, in a folder for each
    domain; relative to that of the configuration file, else to the working folder."""
    flight_port: int = integer(0, 0, 65_535)
    """Port at which a serving node is read, the next one for its next topic; 0 takes any."""


@dataclass(frozen=True, slots=True)
class BalancerConfig(Section):
    """``[balancer]``: who decides on slices."""

    table: ClassVar[str] = "balancer"

    algorithm: str = text("weighted", rf"{NAME}", "the name of a balancing algorithm")
    """Name of the balancing algorithm."""
    beat_ms: int = integer(200, 10, 10_000)
    """How often the balancer tells the nodes the term and the assignment."""
    state_dir: str = text("evenflow-state", r".+", "a folder")
    """Where it keeps which publishers have ended and which consumers are registered, in a folder
    for each domain; relative to that of the configuration file, else to the working folder."""
    settle_s: float = number(1.0, 0.0, 60.0)
    """How long a new balancer listens to the nodes' reports before it decides."""
    step_deadline_s: float = number(5.0, 0.1, 60.0)
    """How long one step of a handover may take before it is taken back."""
    analyze_s: float = number(10.0, 0.0, 3_600.0)
    """How often the loads are looked at; twice in a row uneven means a plan. 0: never."""
    quiet_items: float = number(10.0, 0.0, 1e9)
    """A topic is quiet when no node gets more items a second than this..."""
    quiet_busy: float = number(5.0, 0.0, 100.0)
    """... and none is busy for more than this, in percent of a core; then loads are left alone."""
    least_gain: float = number(0.1, 0.0, 1.0)
    """The least load worth moving, as a part of the mean load of a node."""
    season_s: float = number(0.0, 0.0, 31_622_400.0)
    """Length of the season that ``forecast`` learns, 86400 for one of the day; 0: none."""
    item_weight: float = number(1.0, 0.0, 1e9)
    """What one item a second adds to the load of a slice."""
    byte_weight: float = number(0.0, 0.0, 1e9)
    """What one payload byte a second adds."""
    busy_weight: float = number(0.0, 0.0, 1e9)
    """What one second of the application's work in each second adds."""


@dataclass(frozen=True, slots=True)
class StoreConfig(Section):
    """``[store]``: the overlay store, which keeps topics on brokers."""

    table: ClassVar[str] = "store"

    brokers: tuple[str, ...] = texts()
    """Addresses (host:port) of some brokers, for those who write durable topics or read them."""
    level: int = integer(2, 1, 3)
    """Resilience level of durable topics."""
    balance_s: float = number(0.0, 0.0, 86_400.0)
    """How often a broker gives a topic away if that makes loads more even; 0: never."""
    shift_bytes: int = integer(0, 0, TIB)
    """Bytes a second of a topic that a broker hands on to the one that has taken it over; 0: what
    came before a move stays where it is until it expires."""
    topic_bytes: int = integer(0, 0, TIB)
    """What a topic is expected to take; brokers that balance then place new ones by load. 0: new
    topics stay where their names put them until they are given away."""
    selection: str = text(
        "gossip",
        "gossip|planned|individual|local|regional|global",
        "'gossip', 'planned', 'individual', 'local', 'regional' or 'global'",
    )
    """How brokers that balance find a better place: they tell one another all loads, and place new
    topics by a plan (``planned``); or they ask, by one of SeDAX's selections. The same for all
    brokers of a store."""
    queries: int = integer(10, 1, 1000)
    """Coordinates that a broker asks for a decision; all brokers with ``global``."""
