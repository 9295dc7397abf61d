"""Messages about the copies of a shelf: who leads, who follows, and what each of them has."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import (
    Label,
    Message,
    PublisherState,
    ShelfId,
    TermStart,
)
from evenflow.overlay.values import Natural, Sendable, Text


class Inquire(Sendable, frozen=True):
    """Who has this shelf?"""

    shelf: ShelfId


class Known(Sendable, frozen=True):
    """The answer: how new our copy is."""

    shelf: ShelfId
    confirmed: Natural
    """Newest term both copies agreed on, as far as we know; 0: we have no copy."""
    primary: Text
    """Who leads in that term; empty when the answering broker has begun another since."""


class Sync(Sendable, frozen=True):
    """A term begins: the sender is primary, the receiver secondary."""

    shelf: ShelfId
    term: Natural
    base: Natural
    """Term the sender had agreed on before; who knows a newer one refuses."""
    catch_up: bool
    """Whether the receiver is to fetch the messages of earlier terms too."""
    since: Natural
    """The sender holds everything from this time on."""
    former: Text
    """Who may have what the sender lacks."""
    terms: tuple[TermStart, ...]
    label: Label
    publishers: tuple[PublisherState, ...]


class Synced(Sendable, frozen=True):
    """The receiver follows, or has fetched more messages of earlier terms."""

    shelf: ShelfId
    term: Natural
    since: Natural
    """It holds everything from this time on."""
    whole: bool
    """Whether it has caught up."""


class Refused(Sendable, frozen=True):
    """The receiver knows a newer term."""

    shelf: ShelfId
    term: Natural
    """Newest term it was asked to follow."""
    confirmed: Natural
    """Newest term it follows or leads."""


class Replicate(Sendable, frozen=True):
    """New messages, or a new label, for the secondary."""

    shelf: ShelfId
    term: Natural
    previous: Natural
    """Time of the message before the first; a secondary that lacks it waits for the repetition."""
    messages: tuple[Message, ...]
    committed: Natural
    """All up to this time is on both disks."""
    label: tuple[Label, ...]
    """The label, when it changed."""
    publishers: tuple[PublisherState, ...]
    """How far publishers are stored, when the label changed."""


class Replicated(Sendable, frozen=True):
    """All up to this time, and this label, is on the secondary's disk."""

    shelf: ShelfId
    term: Natural
    last: Natural
    revision: Natural


class Pull(Sendable, frozen=True):
    """Send me what you have of these times."""

    shelf: ShelfId
    start: Natural
    end: Natural


class Pulled(Sendable, frozen=True):
    """Messages of earlier terms."""

    shelf: ShelfId
    start: Natural
    end: Natural
    """The messages are all that there are from start up to here."""
    messages: tuple[Message, ...]


class Lead(Sendable, frozen=True):
    """You are closer and have everything: begin a term of your own."""

    shelf: ShelfId
    term: Natural


class Check(Sendable, frozen=True):
    """Do you need my copy of this shelf?"""

    shelf: ShelfId
    confirmed: Natural
    """Newest term it agreed on."""
    since: Natural
    """It holds everything from this time on, as of that term."""
    unsure: bool
    """Whether it waits for a term to begin."""
    primary: Text
    """Who leads in the newest term it agreed on; empty when it has begun another since."""


class Dismissed(Sendable, frozen=True):
    """Others have all of it: delete your copy."""

    shelf: ShelfId
    term: Natural
