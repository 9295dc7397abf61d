"""What the cores ask their shells to do.

A core takes messages and the time and returns actions; a shell performs them in order and does
nothing else of its own accord. Addressed messages name their recipient: a node's id or a
publisher's writer id.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.batch import Encoded
from evenflow.model.wire import Message


@dataclass(frozen=True, slots=True)
class Send:
    """Write a message; its type names the channel."""

    message: Message
    to: str = ""
    """The recipient's partition (node id, or writer id in hexadecimal); empty = everybody."""


@dataclass(frozen=True, slots=True)
class Resend:
    """Write encoded batches again, to one node's replay partition."""

    node: str
    batches: tuple[Encoded, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Read these slices too; report :class:`Subscribed` when the reader has met every writer."""

    slices: frozenset[int]
    term: int
    """What the report shall name."""


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """These slices need no longer be read (soon, not at once)."""

    slices: frozenset[int]


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Event: the reader asked for with this term is matched with every live writer."""

    term: int


@dataclass(frozen=True, slots=True)
class WriterGone:
    """Event: the publisher with this writer id has left or died."""

    writer: int


@dataclass(frozen=True, slots=True)
class NodeGone:
    """Event: the node with this id has left or died."""

    node: str


Action = Send | Resend | Subscribe | Unsubscribe
