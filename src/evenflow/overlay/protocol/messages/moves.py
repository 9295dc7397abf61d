"""Messages about delegation: a topic goes from one delegate to another, under its home."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import (
    Label,
    Message,
    PublisherState,
    ShelfId,
    Subscription,
)
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList
from evenflow.overlay.values import Natural, Sendable


class Freeze(Sendable, frozen=True):
    """Take no more messages of this topic, and tell what you took."""

    shelf: ShelfId
    ticket: Natural
    term: Natural
    """Term of the home shelf."""


class Frozen(Sendable, frozen=True):
    """Nothing newer than this time will be taken here under the old list."""

    shelf: ShelfId
    ticket: Natural
    last: Natural
    publishers: tuple[PublisherState, ...]
    load: Natural
    """Bytes of the topic, here and at earlier delegates."""
    subscriptions: tuple[Subscription, ...] = ()


class Adopt(Sendable, frozen=True):
    """Be ready to take the topic over."""

    shelf: ShelfId
    ticket: Natural
    term: Natural
    label: Label
    publishers: tuple[PublisherState, ...]
    load: Natural
    """Bytes of the topic so far."""
    subscriptions: tuple[Subscription, ...] = ()
    disk: Natural = 0
    """The disk of the broker that is to make the shelf; on another it may have made it before."""


class Adopted(Sendable, frozen=True):
    """Ready, on as many disks as the level asks."""

    shelf: ShelfId
    ticket: Natural
    birth: Natural
    """Which move made the shelf that is ready: this one, or an earlier one."""


class AskList(Sendable, frozen=True):
    """Which delegate list is in force, and what became of a ticket?"""

    shelf: ShelfId
    """The shelf that asks."""
    ticket: Natural


class ListIs(Sendable, frozen=True):
    """The list in force."""

    shelf: ShelfId
    """The shelf that asked."""
    ticket: Natural
    pending: bool
    """Whether the move with that ticket is still under way."""
    term: Natural
    """Term of the home shelf."""
    version: Natural
    delegates: DelegateList


class Emptied(Sendable, frozen=True):
    """This past delegate has no data before a time any more."""

    shelf: ShelfId
    floor: Natural


class HandOn(Sendable, frozen=True):
    """Take the newest messages that a past delegate has: you are responsible for what follows."""

    shelf: ShelfId
    """The shelf that is to have them."""
    source: Coordinate
    """Where they lie."""
    start: Natural
    end: Natural
    """The messages are all that there are from start up to here."""
    messages: tuple[Message, ...]


class HandedOn(Sendable, frozen=True):
    """The answer to `HandOn`."""

    shelf: ShelfId
    """The shelf that they were on."""
    start: Natural
    end: Natural
    accepted: bool
    """Yes: all copies have them. No: not now, or our lists differ."""
    birth: Natural
    """Which move made the shelf that has them; see `Config.birth`."""


class Keep(Sendable, frozen=True):
    """Older messages for a member, from a past delegate."""

    shelf: ShelfId
    term: Natural
    start: Natural
    end: Natural
    messages: tuple[Message, ...]


class Kept(Sendable, frozen=True):
    """They are on the member's disk."""

    shelf: ShelfId
    term: Natural
    start: Natural
    end: Natural


class Shifted(Sendable, frozen=True):
    """What a past delegate had of these times lies at the delegate after it now."""

    shelf: ShelfId
    """The past delegate's."""
    start: Natural
    end: Natural
    to: Coordinate
    birth: Natural
    """Of the shelf that has it."""
