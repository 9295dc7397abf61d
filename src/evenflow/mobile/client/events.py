"""What the core of a client is told, and what it asks for.

The shell hands events to :meth:`ClientCore.handle` and performs the actions it gets back, in their
order. Notes (`Note`) are for the disk: all notes of a batch of actions are synced before the first
of its other actions is performed, unless every one of them may be late (:data:`LATE`).
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.mobile.link.frames import FromGateway, FromNode, Message

# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Linked:
    """A link that was dialled is up."""

    link: int


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A link could not be made, or is over."""

    link: int
    reason: str
    retry: bool = True
    """Whether another try there can succeed."""
    said: bool = False
    """Whether the gateway said so; otherwise the link was lost."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A frame came by a link."""

    link: int
    frame: FromGateway


@dataclass(frozen=True, slots=True)
class Publish:
    """The application publishes an item. It is sent at the next event, with others."""

    topic: str
    """Empty: the topic that the gateway names first."""
    time: int
    """Microseconds since 1970."""
    payload: bytes
    headers: bytes = b""
    """As a sample of one item has them; empty: none."""


@dataclass(frozen=True, slots=True)
class Handled:
    """The application has handled a message."""

    mailbox: str
    number: int


@dataclass(frozen=True, slots=True)
class Describe:
    """What describes the node has changed."""

    attributes: dict[str, str | float | bool]


@dataclass(frozen=True, slots=True)
class Locate:
    """The node is somewhere else."""

    place: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Renew:
    """The node has another token."""

    token: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, or it is time to send what was published."""


@dataclass(frozen=True, slots=True)
class Close:
    """The node takes its leave."""

    reason: str


Event = Linked | Unlinked | Arrived | Publish | Handled | Describe | Locate | Renew | Tick | Close

# -- actions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dial:
    """Make a link."""

    link: int
    """By this number it is known from now on."""
    address: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame."""

    link: int
    frame: FromNode


@dataclass(frozen=True, slots=True)
class Drop:
    """End a link, or give up making it; nothing more is wanted of it."""

    link: int
    reason: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a message to the application, then tell `Handled`."""

    message: Message


@dataclass(frozen=True, slots=True)
class Attached:
    """The node is attached to a gateway."""

    link: int
    gateway: str
    address: str
    keep_alive_s: float


@dataclass(frozen=True, slots=True)
class Usable:
    """Everything that is published can be sent again."""

    gap_s: float
    """For so long it could not: no connection, or items held up by a former gateway."""


@dataclass(frozen=True, slots=True)
class Detached:
    """There is no connection; another is looked for."""

    reason: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A handover is over."""

    order: str
    origin: str
    target: str
    ok: bool
    reason: str
    milliseconds: float
    in_flight: int
    gap_s: float
    """Seconds during the handover for which there was no connection that could be used."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Every gateway refuses the node; nothing more is tried until it has another token."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """What is kept contradicts what a gateway has accepted; the client must not go on."""

    reason: str


# -- notes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeepItem:
    """An item is the client's to deliver."""

    sequence: int
    """Grows from item to item of the client."""
    topic: str
    time: int
    payload: bytes
    headers: bytes = b""


@dataclass(frozen=True, slots=True)
class DropItem:
    """An item that was never sent is given up."""

    sequence: int


@dataclass(frozen=True, slots=True)
class NoteTopic:
    """How far a topic is sent, and to whom. Before the items are."""

    topic: str
    safe: int
    sent: int
    holder: str


@dataclass(frozen=True, slots=True)
class ForgetItems:
    """The items of a topic up to this sequence are safe."""

    topic: str
    sequence: int
    safe: int
    sent: int
    holder: str


@dataclass(frozen=True, slots=True)
class NameTopic:
    """Items without a topic belong to this one."""

    topic: str


@dataclass(frozen=True, slots=True)
class NoteConnection:
    """This number of a connection is used."""

    number: int


@dataclass(frozen=True, slots=True)
class NoteMark:
    """The messages of a mailbox up to a number are had."""

    mailbox: str
    number: int


Note = KeepItem | DropItem | NoteTopic | ForgetItems | NameTopic | NoteConnection | NoteMark

NOTES = (KeepItem, DropItem, NoteTopic, ForgetItems, NameTopic, NoteConnection, NoteMark)
LATE = (DropItem, ForgetItems, NameTopic)
"""Notes that may reach the disk later: a restart without them only asks again."""

Action = (
    Dial | Send | Drop | Deliver | Attached | Usable | Detached | Moved | Refused | Broken | Note
)
