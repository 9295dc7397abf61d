"""Whether a consumer counts: its states, and the only ways from one to the next.

The table is the whole of it; the diagram in ``docs/protocol.md`` is drawn from it.
:mod:`~evenflow.slices.consumer.registry.consumers` says when each thing happens.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(Enum):
    """What a consumer is for this process."""

    UNKNOWN = "unknown"
    """Never heard of, or forgotten since."""
    CANDIDATE = "candidate"
    """It spoke, or somebody named it; the ledger has not named it yet."""
    LISTED = "listed"
    """The ledger names it."""
    LEAVING = "leaving"
    """It has ended; the ledger still names it."""
    ENDED = "ended"
    """It has ended, or was named by nobody for long, and never was in the ledger: who speaks under
    this name begins anew."""
    RELEASED = "released"
    """The ledger named it once and names it no more. It may not know yet, and speak: the ledger
    alone registers it again."""

    @property
    def counts(self) -> bool:
        """Whether it is registered: what it has not committed is kept."""
        return self in (State.CANDIDATE, State.LISTED)

    @property
    def is_past(self) -> bool:
        """Whether it may be forgotten, name and all, when too many are."""
        return self in (State.ENDED, State.RELEASED)


class Trigger(Enum):
    """What can happen to a consumer."""

    SPEAK = "speak"
    """A newer commit of it is heard, or a copy of one."""
    END = "end"
    """That commit is its last: it was forgotten by an operator, or has expired."""
    NAME = "name"
    """A node names it, or an old commit of it comes again."""
    DECLARE = "declare"
    """It need not have run (the balancer's file says so)."""
    LIST = "list"
    """The ledger comes and names it."""
    OMIT = "omit"
    """The ledger comes without it."""
    LAPSE = "lapse"
    """The ledger comes without it, and nobody has named it since the one before the last."""


def _table() -> Mapping[tuple[State, Trigger], State]:
    unknown, candidate, listed, leaving, ended, released = State
    rows = {
        # before     SPEAK      END       NAME       DECLARE    LIST     OMIT       LAPSE
        unknown:    (candidate, ended,    candidate, candidate, listed,  unknown,   unknown),
        candidate:  (candidate, ended,    candidate, candidate, listed,  candidate, ended),
        listed:     (listed,    leaving,  listed,    listed,    listed,  released,  released),
        leaving:    (listed,    leaving,  leaving,   listed,    leaving, released,  released),
        ended:      (candidate, ended,    ended,     candidate, listed,  ended,     ended),
        released:   (released,  released, released,  candidate, listed,  released,  released),
    }  # fmt: skip
    return {
        (before, trigger): after
        for before, row in rows.items()
        for trigger, after in zip(Trigger, row, strict=True)
    }


TRANSITIONS: Final = _table()
