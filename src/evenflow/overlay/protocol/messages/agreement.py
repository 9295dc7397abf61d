"""Messages about which copies of a shelf count: one decision after the other, by a few voters.

`evenflow.overlay.replica.votes` and `evenflow.overlay.replica.proposer` say how these decide.
"""

from __future__ import annotations

from evenflow.overlay.protocol.messages.vocabulary import Ballot, Config, ShelfId
from evenflow.overlay.values import Sendable, Value


class Accepted(Value, frozen=True):
    """A configuration that a voter has accepted, and under which ballot."""

    ballot: Ballot
    config: Config


class Prepare(Sendable, frozen=True):
    """What follows this configuration? Promise to accept nothing under a lower ballot."""

    shelf: ShelfId
    ballot: Ballot
    base: Config
    """The newest configuration that the sender knows to be decided."""


class Promise(Sendable, frozen=True):
    """The promise, with what was accepted before."""

    shelf: ShelfId
    ballot: Ballot
    base: Config
    accepted: tuple[Accepted, ...]
    """One, or none."""


class Outbid(Sendable, frozen=True):
    """Another has a higher ballot."""

    shelf: ShelfId
    ballot: Ballot
    """The higher one."""
    base: Config


class Propose(Sendable, frozen=True):
    """Accept this configuration as the one that follows."""

    shelf: ShelfId
    ballot: Ballot
    base: Config
    config: Config


class Agreed(Sendable, frozen=True):
    """It is accepted, and on disk."""

    shelf: ShelfId
    ballot: Ballot
    base: Config


class AskConfig(Sendable, frozen=True):
    """Do you know of a newer configuration than this one?"""

    shelf: ShelfId
    config: Config


class Decided(Sendable, frozen=True):
    """This configuration is decided."""

    shelf: ShelfId
    config: Config
