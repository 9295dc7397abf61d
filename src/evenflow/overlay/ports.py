"""Ports: what the pure parts of a broker need from around them.

`Store` is the broker's disk. A write counts only after `Store.commit`. The shell of a broker lets
the core handle all that has arrived, commits once, and only then sends what the core wants sent; so
whatever a broker says is true of its disk (group commit).

The others are the broker core as each of its parts sees it::

    DelegationHost    home and delegate of a topic: time and mail
    AgreementHost     deciding on a configuration: also members and votes
    ClientsHost       the clients of a shelf: also the clock and counters
    ReplicaHost       a copy of a shelf: also the disk
    ShelfHost         a whole shelf: all of these
    ExchangeHost      balancing: time, mail, members and links, and actions for the shell
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.members.clock import HybridClock
    from evenflow.overlay.members.mail import Mail
    from evenflow.overlay.members.neighbours import Neighbours
    from evenflow.overlay.members.table import MemberTable
    from evenflow.overlay.protocol.events import Action
    from evenflow.overlay.protocol.messages import Member, Message, PublisherState, ShelfId
    from evenflow.overlay.protocol.settings import Counters, Settings
    from evenflow.overlay.replica.record import Record, Vote
    from evenflow.overlay.replica.votes import Votes


class Store(Protocol):
    """A broker's disk."""

    def load(self) -> list[tuple[Record, int]]:
        """Return all copies, each with the time up to which it was committed."""
        ...

    def save(self, record: Record) -> None:
        """Write a record, new or changed."""
        ...

    def drop(self, shelf: ShelfId) -> None:
        """Delete a copy with all it has."""
        ...

    def append(self, shelf: ShelfId, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        ...

    def remove(self, shelf: ShelfId, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        ...

    def read(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int = 1 << 20
    ) -> list[Message]:
        """Return messages from a time up to another, in order; at least one when there is one."""
        ...

    def newest(
        self, shelf: ShelfId, start: int, end: int, limit: int, max_bytes: int
    ) -> list[Message]:
        """Return the newest messages of a time range, in order; at least one if there is one."""
        ...

    def last(self, shelf: ShelfId) -> int:
        """Return the time of the newest message, 0 when there is none."""
        ...

    def size(self, shelf: ShelfId) -> int:
        """Return the bytes of payload that a copy has."""
        ...

    def cut(self, shelf: ShelfId, max_bytes: int) -> int:
        """Return the time from which on the newest messages fit into ``max_bytes``; 0: all fit."""
        ...

    def publishers(self, shelf: ShelfId) -> dict[int, PublisherState]:
        """Return how far each publisher is stored."""
        ...

    def put_publishers(
        self, shelf: ShelfId, publishers: Iterable[PublisherState], *, replace: bool = False
    ) -> None:
        """Write how far publishers are stored; ``replace`` forgets all others."""
        ...

    def votes(self) -> list[Vote]:
        """Return what was written down about configurations, oldest first."""
        ...

    def save_vote(self, vote: Vote) -> None:
        """Write a vote, new or changed."""
        ...

    def drop_vote(self, shelf: ShelfId) -> None:
        """Delete a vote."""
        ...

    def members(self) -> list[Member]:
        """Return the brokers that were known."""
        ...

    def save_member(self, member: Member) -> None:
        """Write what is known of a broker."""
        ...

    def commit(self) -> None:
        """Bring all that was written to the disk."""
        ...


class Clock(Protocol):
    """The time of the event in hand."""

    now: float
    """Monotonic seconds."""

    @property
    def wall(self) -> int:
        """What the broker's hybrid clock shows, in nanoseconds."""
        ...


class DelegationHost(Clock, Protocol):
    """What moving a topic needs of the broker."""

    mail: Mail
    clock: HybridClock


class AgreementHost(DelegationHost, Protocol):
    """What deciding on a configuration needs of the broker."""

    members: MemberTable
    votes: Votes


class ClientsHost(AgreementHost, Protocol):
    """What serving clients needs of the broker."""

    clock: HybridClock
    counters: Counters


class ReplicaHost(AgreementHost, Protocol):
    """What a copy of a shelf needs of its broker."""

    settings: Settings
    store: Store
    clock: HybridClock
    counters: Counters

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        ...


class ShelfHost(ReplicaHost, ClientsHost, Protocol):
    """What a shelf needs of its broker."""

    joined: bool
    """Whether we have met others, or are the first."""

    def delete_later(self, shelf: ShelfId) -> None:
        """Delete a shelf when the event in hand is done with."""
        ...


class ExchangeHost(DelegationHost, Protocol):
    """What balancing needs of its broker."""

    members: MemberTable
    settings: Settings
    neighbours: Neighbours
    counters: Counters

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        ...

    def perform(self, action: Action) -> None:
        """Have the shell do something."""
        ...
