"""Letters about delegation: a topic goes from one delegate to another, under its home."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.protocol.messages.vocabulary import Label, Position, Shelf
from evenflow.overlay.space.delegation import DelegateList


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
    load: int
    """Octets of the topic, here and at earlier delegates."""


@dataclass(frozen=True, slots=True)
class Adopt:
    """Be ready to take the topic over."""

    shelf: Shelf
    ticket: int
    term: int
    label: Label
    positions: tuple[Position, ...]
    load: int
    """Octets of the topic so far."""


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
