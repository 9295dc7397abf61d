"""What messages speak of: brokers, shelves, published messages, and the label of a shelf."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from evenflow.errors import OverlayError
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList
from evenflow.overlay.values import Level, Natural, Text, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

_home = lru_cache(1 << 16)(geographic_hash)

LONGEST_PAYLOAD = 4 << 20
"""Bytes a published message may have."""


class Member(Value, frozen=True):
    """A broker, as others know it."""

    name: Text
    coordinate: Coordinate
    address: Text
    """``host:port`` that brokers and clients connect to."""
    incarnation: Natural
    """Grows with every start of the broker, and when it was taken for dead and is not."""
    alive: bool = True
    left: bool = False
    """Whether it is not alive because it said goodbye."""
    disk: Natural = 0
    """A random number that its disk was given when it was first used: an empty disk is another."""


class ShelfId(Value, frozen=True):
    """Which shelf: a topic at a coordinate."""

    topic: Text
    coordinate: Coordinate

    @property
    def home(self) -> Coordinate:
        """The topic's home coordinate."""
        return _home(self.topic)

    @property
    def at_home(self) -> bool:
        """Whether this is the shelf that keeps the topic's delegate list."""
        return self.coordinate == self.home


class Message(Value, frozen=True):
    """A published message as it is kept."""

    time: Natural
    """When the store took it, in nanoseconds; no two messages of a topic share one."""
    publisher: Natural
    """Who published it."""
    sequence: Natural
    """The publisher's own count, from 1."""
    payload: bytes


class PublisherState(Value, frozen=True):
    """How far a publisher's messages are stored: what makes publishing idempotent."""

    publisher: Natural
    sequence: Natural
    """Its newest stored message."""
    time: Natural
    """When that was stored."""


class Subscription(Value, frozen=True):
    """A client that is pushed what comes, and where it is connected."""

    subscriber: Natural
    """A random number of its own."""
    broker: Text
    """The broker that it is connected to."""
    client: Natural
    """Its number there."""


class TermStart(Value, frozen=True):
    """A term of a shelf, and the first time that it speaks for (a leader epoch and its offset)."""

    term: Natural
    start: Natural


class Config(Value, frozen=True):
    """Which copies of a shelf count: decided once, written down by all that it concerns."""

    birth: Natural
    """Ticket of the move that made the shelf, 0 at home: a shelf that was made anew is newer."""
    term: Natural
    """Counts the configurations of the shelf; 0: none was decided yet."""
    primary: Text
    """Who stamps messages and acknowledges them; empty: the shelf is deleted."""
    members: tuple[Text, ...]
    """Brokers that are sent every message, the primary among them."""
    in_sync: tuple[Text, ...]
    """Members that have all that was acknowledged. Only one of these can propose what follows."""
    voters: tuple[Text, ...]
    """Brokers that decide what follows; those in sync are among them."""
    disks: tuple[Natural, ...] = ()
    """The disk of each voter. Who starts with another has lost what made it in sync, and does not
    know any more how it voted."""

    def __post_init__(self) -> None:
        if self.primary and self.primary not in self.in_sync:
            raise OverlayError(f"the primary {self.primary!r} is not in sync")
        if not set(self.in_sync) <= set(self.members):
            raise OverlayError("who is in sync is a member")
        if self.disks and len(self.disks) != len(self.voters):
            raise OverlayError("every voter has a disk")

    @property
    def ended(self) -> bool:
        """Whether the shelf was deleted."""
        return bool(self.term) and not self.primary

    @property
    def age(self) -> tuple[int, int]:
        """What makes one configuration of a shelf newer than another."""
        return self.birth, self.term

    @property
    def quorum(self) -> int:
        """Voters that must accept what follows.

        To make a shelf, nearly all known brokers must know nothing of it: all but two, and more
        than half. Afterwards half of a few is not enough.
        """
        count = len(self.voters)
        return count // 2 + 1 if self.term else count - min(2, (count - 1) // 2)

    def disk(self, voter: str) -> int:
        """Return the disk that a voter had when it was named; 0 for others."""
        return self._disks().get(voter, 0)

    def _disks(self) -> dict[str, int]:
        return dict(zip(self.voters, self.disks, strict=False))

    def synced(self, name: str, disk: int) -> bool:
        """Say whether the copy of a broker is in sync, on this disk."""
        return name in self.in_sync and self.disk(name) == disk

    def enough(self, answers: Mapping[str, int]) -> bool:
        """Say whether voters decide that have answered, each from a disk.

        Who has another disk than it was named with may have forgotten an answer. Without these
        there must be a quorum; or all answer, and in every quorum is one that has not forgotten.
        """
        disks, count = self._disks(), len(self.voters)
        knowing = sum(disks.get(name, 0) == disk for name, disk in answers.items())
        all_answered = len(answers) == count and knowing > count - self.quorum
        return knowing >= self.quorum or all_answered


class Ballot(Value, frozen=True, order=True):
    """Orders the attempts to decide one thing; no two brokers share one."""

    number: Natural
    broker: Text


class Label(Value, frozen=True):
    """What is written on a shelf besides its messages; both copies have the same."""

    revision: Natural
    """Counts the changes of the label within a term."""
    level: Level
    """Resilience level of the topic."""
    version: Natural
    """Ticket of the newest move in the list, 0 before the first."""
    delegates: DelegateList
    """Who is responsible when, as far as this shelf was told. At home: the truth."""
    ticket: Natural = 0
    """Not 0: a move with this ticket is under way, and nothing new is taken."""
    ticket_term: Natural = 0
    """Term of the home shelf that ordered it."""
    floor: Natural = 0
    """All before this time has expired."""
    inherited: Natural = 0
    """Bytes that the topic had elsewhere when it came to this delegate."""
    subscriptions: tuple[Subscription, ...] = ()
    """Who is pushed what comes; only at the current delegate, or one that is to be it."""

    def __post_init__(self) -> None:
        if self.level not in (1, 2, 3):
            raise OverlayError(f"resilience level {self.level}: choose 1, 2 or 3")
