"""Letters about the copies of a shelf: who leads, who follows, and what each of them has."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.protocol.messages.vocabulary import Epoch, Label, Message, Position, Shelf


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
    """Who leads in that term; empty when the answering broker has begun another since."""


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
    primary: str
    """Who leads in the newest term it agreed on; empty when it has begun another since."""


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Others have all of it: delete your copy."""

    shelf: Shelf
    term: int
