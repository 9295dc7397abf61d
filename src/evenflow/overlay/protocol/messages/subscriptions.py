"""Messages between a subscriber and the broker that keeps its subscription.

`evenflow.overlay.shelf.subscribers` says how these make a stream in which nothing is missing.
"""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import Message, ShelfId
from evenflow.overlay.space.delegation import DelegateList
from evenflow.overlay.values import Natural, Sendable


class Subscribe(Sendable, frozen=True):
    """Push to me what comes after this time, from now on; or: I am still here."""

    shelf: ShelfId
    subscriber: Natural
    """A random number of the subscriber's own."""
    after: Natural
    """It has all up to this time; what was pushed beyond it is lost, or on its way."""


class Subscribed(Sendable, frozen=True):
    """The subscription is on as many disks as the topic's level asks."""

    subscriber: Natural


class Pushed(Sendable, frozen=True):
    """What came, in order of time; without messages: do you have all up to here?"""

    subscriber: Natural
    after: Natural
    """Time of the message before the first; who lacks it subscribes again from where it is."""
    messages: tuple[Message, ...]
    cursor: Natural
    """Nothing is missing from ``after`` up to this time."""


class Taken(Sendable, frozen=True):
    """The application has taken all up to this time."""

    shelf: ShelfId
    subscriber: Natural
    upto: Natural


class Resubscribe(Sendable, frozen=True):
    """Your subscription is kept here now: subscribe again from where you are."""

    subscriber: Natural
    delegates: DelegateList


class FetchInstead(Sendable, frozen=True):
    """Nothing is pushed to you: too much is not taken, or there are too many subscribers."""

    subscriber: Natural
    pause_ms: Natural
    """Fetch at least for this long, and until you have all; then subscribe again."""


class Unsubscribe(Sendable, frozen=True):
    """The subscriber wants no more."""

    shelf: ShelfId
    subscriber: Natural
