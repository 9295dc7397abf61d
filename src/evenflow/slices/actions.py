"""What the cores ask their shells to do, and the events that shells tell them of.

A core takes messages, events and the time, and returns what to send; a shell sends it in order and
does nothing else of its own accord. Addressed messages name their recipient: a node's id or a
publisher's writer id.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import Message


@dataclass(frozen=True, slots=True)
class Send:
    """Write a message; its type names the channel."""

    message: Message
    to: str = ""
    """The recipient's partition (node id, or writer id in hexadecimal); empty = everybody."""


@dataclass(frozen=True, slots=True)
class WriterGone:
    """Event: the publisher with this writer id has left or died."""

    writer: int


@dataclass(frozen=True, slots=True)
class NodeGone:
    """Event: the node with this id has left or died."""

    node: str


@dataclass(frozen=True, slots=True)
class ConsumerGone:
    """Event: the process of the consumer with this name has left or died."""

    consumer: str
