"""Messages between clients and brokers: join, publish, read, move a topic, ask for status."""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import Message, ShelfId
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList
from evenflow.overlay.values import Level, Natural, Sendable, Text


class Join(Sendable, frozen=True):
    """A client wants to publish to or read a topic."""

    shelf: ShelfId
    """Where the envelope goes: first home, then the delegate."""
    level: Level
    """Resilience level, when the topic is new; 0: do not make it."""


class Joined(Sendable, frozen=True):
    """The topic is here."""

    level: Level
    delegates: DelegateList
    now: Natural
    """All that was acknowledged when the answer was made has an earlier time."""


class Publish(Sendable, frozen=True):
    """Store these, in this order."""

    shelf: ShelfId
    publisher: Natural
    first: Natural
    """Sequence of the first; all before it are acknowledged."""
    payloads: tuple[bytes, ...]


class Published(Sendable, frozen=True):
    """All up to this sequence are stored as the level asks."""

    publisher: Natural
    sequence: Natural
    time: Natural
    """When the last was stored."""


class Fetch(Sendable, frozen=True):
    """What came after this time?"""

    shelf: ShelfId
    after: Natural
    until: Natural
    """Only before this time; 0: without end."""
    limit: Natural
    """Messages in one answer, at most."""
    wait_ms: Natural
    """How long to wait for the next message when there is none yet."""


class Fetched(Sendable, frozen=True):
    """What came, in order of time."""

    messages: tuple[Message, ...]
    cursor: Natural
    """Nothing is missing up to this time."""


class Redirect(Sendable, frozen=True):
    """Another coordinate is responsible."""

    delegates: DelegateList


class MoveTopic(Sendable, frozen=True):
    """Make another coordinate responsible for what comes; to home: the delegate retires."""

    shelf: ShelfId
    """The home shelf."""
    to: Coordinate


class MoveDone(Sendable, frozen=True):
    """The move is in force."""

    delegates: DelegateList


class Failed(Sendable, frozen=True):
    """What was asked cannot be done."""

    reason: Text


class Waiting(Sendable, frozen=True):
    """The topic waits, and the request with it: ask again."""

    reason: Text


class Trim(Sendable, frozen=True):
    """Nobody needs what was stored before this time; there is no answer, and it may be repeated."""

    shelf: ShelfId
    before: Natural


class AskStatus(Sendable, frozen=True):
    """What do you hold and know?"""


class BrokerStatus(Sendable, frozen=True):
    """What a broker holds and knows."""

    name: Text
    members: Natural
    """Brokers it takes for alive."""
    links: Natural
    shelves: Natural
    leading: Natural
    """Shelves it leads and serves."""
    settled: Natural
    """Of these, shelves with all the copies that their level asks for."""
    unsettled: Natural
    """Shelves that are neither led and settled nor rightly followed."""
    waiting: Natural
    """Shelves that take nothing for now: no copy that is in sync can be reached, or too few."""
    stored_bytes: Natural
    """Payload it keeps."""
    load: Natural
    """Bytes it must have room for, its worst failure included (equation 4); 0: not balancing."""
    damaged: Natural
    """Messages that could not be read, since it started."""
    lost: Natural
    """Envelopes without a route."""
    refused: Natural
    """Requests that are damaged, or that clients may not send."""
    skewed: Natural
    """Times that were too far ahead of this broker's clock to be followed."""
    subscriptions: Natural = 0
    """Subscriptions to the topics that it leads."""
    searches: Natural = 0
    """Times that it looked for a better place for a topic."""
    told: Natural = 0
    """Messages that told it loads, each counted on every link that it crossed."""
    asked: Natural = 0
    """Queries for places and answers that came to it, counted the same way."""
