"""What brokers and clients of the live store say to one another.

A *shelf* is a topic at a coordinate: the messages of the times for which the coordinate is
responsible. It lies on the brokers closest to the coordinate, its primary and its secondary.

=====================================  ===========================  ============================
on a link between two brokers          from -> to                   meaning
=====================================  ===========================  ============================
``Hello`` ``Welcome``                  whoever connects             who is there
``Members``                            neighbour -> neighbour       who lives and who died
``Heartbeat``                          neighbour -> neighbour       alive; my members look so
``Routed``                             towards a coordinate         a letter: all that follows
-------------------------------------  ---------------------------  ----------------------------
``Inquire`` ``Known``                  unsure broker -> around      who has this shelf, how new?
``Sync`` ``Synced`` ``Refused``        primary -> secondary         a new term begins
``Replicate`` ``Replicated``           primary -> secondary         keep this; it is on disk
``Pull`` ``Pulled``                    who lacks -> who has         the history of a shelf
``Lead``                               primary -> secondary         you are closer: begin a term
``Check`` ``Dismissed``                holder -> primary            am I still needed? no
``Freeze`` ``Frozen``                  home -> delegate             take no more; here is the rest
``Adopt`` ``Adopted``                  home -> new delegate         be ready to take over
``AskList`` ``ListIs``                 delegate -> home             which list is in force?
``Emptied``                            old delegate -> home         all of it has expired
-------------------------------------  ---------------------------  ----------------------------
``Join`` ``Joined``                    client -> home -> delegate   where is this topic now?
``Publish`` ``Published``              client -> delegate           store it; it is stored
``Fetch`` ``Fetched``                  client -> responsible        what came after this time?
``Moved``                              broker -> client             ask there; here is the list
``Move`` ``Done`` ``Failed``           operator -> home             move a topic
``Status`` ``Condition``               operator -> any broker       how are you?
=====================================  ===========================  ============================

Every letter may be lost, late, repeated or overtaken: each carries a term, a ticket, a sequence or
a time that makes it safe to handle anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from evenflow.errors import OverlayError
from evenflow.overlay.delegation import DelegateList
from evenflow.overlay.frames import Codec
from evenflow.overlay.geometry import Coordinate, geographic_hash

_home = lru_cache(1 << 16)(geographic_hash)

LONGEST_PAYLOAD = 4 << 20
"""Octets a published message may have."""


@dataclass(frozen=True, slots=True)
class Member:
    """A broker, as others know it."""

    name: str
    coordinate: Coordinate
    address: str
    """``host:port`` that brokers and clients connect to."""
    incarnation: int
    """Grows with every start of the broker, and when it was taken for dead and is not."""
    alive: bool = True


@dataclass(frozen=True, slots=True)
class Shelf:
    """A topic at a coordinate."""

    topic: str
    coordinate: Coordinate

    @property
    def home(self) -> Coordinate:
        """The topic's home coordinate."""
        return _home(self.topic)

    @property
    def at_home(self) -> bool:
        """Whether this is the shelf that keeps the topic's delegate list."""
        return self.coordinate == self.home


@dataclass(frozen=True, slots=True)
class Message:
    """A published message as it is kept."""

    time: int
    """When the store took it, in nanoseconds; no two messages of a topic share one."""
    publisher: int
    """Who published it."""
    sequence: int
    """The publisher's own count, from 1."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class Position:
    """How far a publisher's messages are stored."""

    publisher: int
    sequence: int
    """Its newest stored message."""
    time: int
    """When that was stored."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A term of a shelf and the first time it speaks for."""

    term: int
    start: int


@dataclass(frozen=True, slots=True)
class Label:
    """What is written on a shelf besides its messages; both copies have the same."""

    revision: int
    """Counts the changes of the label within a term."""
    level: int
    """Resilience level of the topic."""
    version: int
    """Ticket of the newest move in the list, 0 before the first."""
    delegates: DelegateList
    """Who is responsible when, as far as this shelf was told. At home: the truth."""
    ticket: int = 0
    """Not 0: a move with this ticket is under way, and nothing new is taken."""
    ticket_term: int = 0
    """Term of the home shelf that ordered it."""
    floor: int = 0
    """All before this time has expired."""

    def __post_init__(self) -> None:
        if self.level not in (1, 2, 3):
            raise OverlayError(f"resilience level {self.level}: choose 1, 2 or 3")


# -- on a link ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a client, or of a broker (then with itself)."""

    member: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to a client's hello: the brokers alive, for when this one dies."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """What the sender knows of these brokers."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life."""

    digest: int
    """Of all the sender knows of members; when it differs from ours, we tell what we know."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A letter on its way over the overlay."""

    target: Coordinate
    node: str
    """Broker it is for; empty: whoever is closest to the target."""
    hops: int
    """Links it may still take."""
    origin: str
    """Broker where it entered."""
    client: int
    """Client of that broker, to whom answers go; 0: the broker itself."""
    request: int
    """The client's number for its question; answers carry the same."""
    answer: bool
    """Whether this is the way back, to the client itself."""
    body: bytes
    """The message inside, encoded; brokers on the way do not look at it."""


# -- copies of a shelf --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inquire:
    """Who has this shelf?"""

    shelf: Shelf


@dataclass(frozen=True, slots=True)
class Known:
    """The answer: how new our copy is."""

    shelf: Shelf
    confirmed: int
    """Newest term both copies agreed on, as far as we know; 0: we have no copy."""
    primary: str
    """Who leads in that term."""


@dataclass(frozen=True, slots=True)
class Sync:
    """A term begins: the sender is primary, the receiver secondary."""

    shelf: Shelf
    term: int
    base: int
    """Term the sender had agreed on before; who knows a newer one refuses."""
    copy: bool
    """Whether the receiver is to fetch the history too."""
    since: int
    """The sender holds everything from this time on."""
    former: str
    """Who may have what the sender lacks."""
    epochs: tuple[Epoch, ...]
    label: Label
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Synced:
    """The receiver follows, or has fetched more of the history."""

    shelf: Shelf
    term: int
    since: int
    """It holds everything from this time on."""
    whole: bool
    """It wants no more history."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The receiver knows a newer term."""

    shelf: Shelf
    term: int
    """Newest term it was asked to follow."""
    confirmed: int
    """Newest term it follows or leads."""


@dataclass(frozen=True, slots=True)
class Replicate:
    """New messages, or a new label, for the secondary."""

    shelf: Shelf
    term: int
    previous: int
    """Time of the message before the first; who lacks it waits for a repetition."""
    messages: tuple[Message, ...]
    committed: int
    """All up to this time is on both disks."""
    label: tuple[Label, ...]
    """The label, when it changed."""
    positions: tuple[Position, ...]
    """Publishers that came with a move."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """All up to this time, and this label, is on the secondary's disk."""

    shelf: Shelf
    term: int
    last: int
    revision: int


@dataclass(frozen=True, slots=True)
class Pull:
    """Send me what you have of these times."""

    shelf: Shelf
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """A part of the history."""

    shelf: Shelf
    start: int
    end: int
    """The messages are all that there are from start up to here."""
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Lead:
    """You are closer and have everything: begin a term of your own."""

    shelf: Shelf
    term: int


@dataclass(frozen=True, slots=True)
class Check:
    """Do you need my copy of this shelf?"""

    shelf: Shelf
    confirmed: int
    """Newest term it agreed on."""
    since: int
    """It holds everything from this time on, as of that term."""
    unsure: bool
    """Whether it waits for a term to begin."""


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Others have all of it: delete your copy."""

    shelf: Shelf
    term: int


# -- delegation ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Freeze:
    """Take no more messages of this topic, and tell what you took."""

    shelf: Shelf
    ticket: int
    term: int
    """Term of the home shelf."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """Nothing newer than this time will be taken here under the old list."""

    shelf: Shelf
    ticket: int
    last: int
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Adopt:
    """Be ready to take the topic over."""

    shelf: Shelf
    ticket: int
    term: int
    label: Label
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Adopted:
    """Ready, on as many disks as the level asks."""

    shelf: Shelf
    ticket: int


@dataclass(frozen=True, slots=True)
class AskList:
    """Which delegate list is in force, and what became of a ticket?"""

    shelf: Shelf
    """The shelf that asks."""
    ticket: int


@dataclass(frozen=True, slots=True)
class ListIs:
    """The list in force."""

    shelf: Shelf
    """The shelf that asked."""
    ticket: int
    pending: bool
    """Whether the move with that ticket is still under way."""
    term: int
    """Term of the home shelf."""
    version: int
    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Emptied:
    """This past delegate has no data before a time any more."""

    shelf: Shelf
    floor: int


# -- clients ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """A client wants to publish to or read a topic."""

    shelf: Shelf
    """Where the letter goes: first home, then the delegate."""
    level: int
    """Resilience level, when the topic is new; 0: do not make it."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The topic is here."""

    level: int
    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Publish:
    """Store these, in this order."""

    shelf: Shelf
    publisher: int
    first: int
    """Sequence of the first; all before it are acknowledged."""
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """All up to this sequence are stored as the level asks."""

    publisher: int
    sequence: int
    time: int
    """When the last was stored."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """What came after this time?"""

    shelf: Shelf
    after: int
    until: int
    """Only before this time; 0: without end."""
    limit: int
    """Messages in one answer, at most."""
    wait_ms: int
    """How long to wait for the next message when there is none yet."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came, in order of time."""

    messages: tuple[Message, ...]
    cursor: int
    """Nothing is missing up to this time."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Another coordinate is responsible."""

    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Move:
    """Make another coordinate responsible for what comes; to home: the delegate retires."""

    shelf: Shelf
    """The home shelf."""
    to: Coordinate


@dataclass(frozen=True, slots=True)
class Done:
    """The move is in force."""

    delegates: DelegateList


@dataclass(frozen=True, slots=True)
class Failed:
    """What was asked cannot be done."""

    reason: str


@dataclass(frozen=True, slots=True)
class Status:
    """How are you?"""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a broker holds and knows."""

    name: str
    members: int
    """Brokers it takes for alive."""
    links: int
    shelves: int
    leading: int
    """Shelves it leads and serves."""
    settled: int
    """Of these, shelves with all the copies that their level asks for."""
    unsettled: int
    """Shelves that are neither led and settled nor rightly followed."""
    octets: int
    """Payload it keeps."""


LINK = Codec((Hello, Welcome, Members, Heartbeat, Routed))
"""What travels on a connection."""

LETTERS = Codec(
    (
        Inquire, Known, Sync, Synced, Refused, Replicate, Replicated, Pull, Pulled, Lead, Check,
        Dismissed, Freeze, Frozen, Adopt, Adopted, AskList, ListIs, Emptied, Join, Joined, Publish,
        Published, Fetch, Fetched, Moved, Move, Done, Failed, Status, Condition,
    )
)  # fmt: skip
"""What is inside a `Routed`."""
