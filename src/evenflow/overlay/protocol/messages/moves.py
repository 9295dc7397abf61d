"""Messages about delegation: a topic goes from one delegate to another, under its home."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import (
    Label,
    PublisherState,
    ShelfId,
    Subscription,
)
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
