"""What a mailbox's core is told besides messages of the domain, and what it wants done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.mobile.mailbox.delivery import Post

if TYPE_CHECKING:
    from evenflow.model.messages import GroupMembers, SendReply

# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """Letters are on disk, all that were to be kept up to this number."""

    number: int


@dataclass(frozen=True, slots=True)
class NotKept:
    """The disk has refused all letters up to this number that were still to be kept."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class NotPosted:
    """A letter could not be written to a gateway."""

    post: Post


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


# -- actions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keep:
    """Write a letter down, with the request that it came by; then say `Kept`."""

    number: int
    source: int
    request: int
    sender: str
    group: str
    time: int
    expires: int
    nodes: tuple[str, ...]
    payload: bytes


@dataclass(frozen=True, slots=True)
class Forget:
    """Letters that nobody waits for any more."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoteHad:
    """Note how far a node has everything; may be lost in a crash."""

    node: str
    number: int


@dataclass(frozen=True, slots=True)
class NoteNodes:
    """Note when nodes were seen, their attributes and places; may be lost in a crash."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForgetNodes:
    """Nodes that are away for long."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer somebody."""

    message: SendReply | GroupMembers


Action = Keep | Forget | NoteHad | NoteNodes | ForgetNodes | Post | Reply
