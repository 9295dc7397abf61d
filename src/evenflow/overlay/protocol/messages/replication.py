"""Messages about the copies of a shelf: who leads, who follows, and what each of them has."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import (
    Config,
    Label,
    Message,
    PublisherState,
    ShelfId,
    TermStart,
)
from evenflow.overlay.values import Natural, Sendable


class Sync(Sendable, frozen=True):
    """A term begins: the sender is primary, the receiver a member."""

    shelf: ShelfId
    config: Config
    catch_up: bool
    """Whether the receiver is to fetch the messages of earlier terms too."""
    since: Natural
    """The sender holds everything from this time on."""
    start: Natural
    """The messages from this time on will be sent; who is in sync has all before it."""
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
    last: Natural
    """It has written what was sent up to this time."""


class Refused(Sendable, frozen=True):
    """The sender has no copy of this shelf."""

    shelf: ShelfId


class Replicate(Sendable, frozen=True):
    """New messages, or a new label, for a member."""

    shelf: ShelfId
    term: Natural
    previous: Natural
    """Time of the message before the first; a member that lacks it waits for the repetition."""
    messages: tuple[Message, ...]
    committed: Natural
    """All up to this time is acknowledged or may be."""
    label: tuple[Label, ...]
    """The label, when it changed."""
    publishers: tuple[PublisherState, ...]
    """How far publishers are stored, when the label changed."""
    round: Natural
    """The sender's number for this message; the answer carries the same."""


class Replicated(Sendable, frozen=True):
    """All up to this time, and this label, is on the member's disk."""

    shelf: ShelfId
    term: Natural
    last: Natural
    revision: Natural
    round: Natural


class Pull(Sendable, frozen=True):
    """Send me what you have of these times."""

    shelf: ShelfId
    term: Natural
    start: Natural
    end: Natural


class Pulled(Sendable, frozen=True):
    """Messages of earlier terms."""

    shelf: ShelfId
    term: Natural
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
    config: Config
    """Newest configuration that the holder knows."""
    unsure: bool
    """Whether it waits for a term to begin."""


class Dismissed(Sendable, frozen=True):
    """All members have what is to be had: delete your copy."""

    shelf: ShelfId
    config: Config
    """The configuration that says so."""
