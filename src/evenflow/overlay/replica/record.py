"""What a broker must find again after a crash, and what it asks of its disk.

A write counts only after `Store.commit`. The shell of a broker lets the core handle all that has
arrived, commits once, and only then sends what the core wants sent; so whatever a broker says is
true of its disk (group commit).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenflow.overlay.protocol.messages import Epoch, Label, Message, Position, Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_EPOCHS = 64


@dataclass(frozen=True, slots=True)
class Record:
    """One copy of a shelf, apart from its messages."""

    shelf: Shelf
    term: int
    """Newest term that was begun or followed here."""
    confirmed: int
    """Newest term that both copies agreed on."""
    primary: str
    secondary: str
    """Empty when the level asks for one copy."""
    former: str
    """The other broker of the term before; it may have history that we lack."""
    since: int
    """All messages from this time on are here, the expired ones excepted."""
    epochs: tuple[Epoch, ...]
    """Terms, oldest first, and the time from which each speaks."""
    label: Label

    @property
    def agreed_primary(self) -> str:
        """Who leads in the newest term that both copies agreed on.

        Empty when another was begun here since: nobody needs to wait for its primary.
        """
        return self.primary if self.term == self.confirmed else ""

    def with_epoch(self, term: int, start: int) -> tuple[Epoch, ...]:
        """Return the epochs with one more; the oldest two become one when there are many."""
        epochs = (*self.epochs, Epoch(term, start))
        if len(epochs) > MOST_EPOCHS:
            # Whoever is older than the second must fetch all that the first spoke for, too.
            epochs = (Epoch(epochs[1].term, epochs[0].start), *epochs[2:])
        return epochs


def divergence(epochs: tuple[Epoch, ...], confirmed: int) -> int:
    """Return the time from which a copy that agreed on ``confirmed`` last may be wrong."""
    return next((epoch.start for epoch in epochs if epoch.term > confirmed), epochs[-1].start)


class Store(Protocol):
    """A broker's disk."""

    def load(self) -> list[tuple[Record, int]]:
        """Return all copies, each with the time up to which it was committed."""
        ...

    def save(self, record: Record) -> None:
        """Write a record, new or changed."""
        ...

    def drop(self, shelf: Shelf) -> None:
        """Delete a copy with all it has."""
        ...

    def append(self, shelf: Shelf, messages: Iterable[Message], committed: int) -> None:
        """Write messages; those of a time that is there already replace it."""
        ...

    def remove(self, shelf: Shelf, start: int, end: int | None) -> None:
        """Delete the messages from a time up to another, or to the end."""
        ...

    def read(
        self, shelf: Shelf, start: int, end: int, limit: int, octets: int = 1 << 20
    ) -> list[Message]:
        """Return messages from a time up to another, in order; at least one when there is one."""
        ...

    def last(self, shelf: Shelf) -> int:
        """Return the time of the newest message, 0 when there is none."""
        ...

    def octets(self, shelf: Shelf) -> int:
        """Return the payload that a copy has."""
        ...

    def cut(self, shelf: Shelf, octets: int) -> int:
        """Return the time from which the newest messages of so many octets begin."""
        ...

    def positions(self, shelf: Shelf) -> dict[int, Position]:
        """Return how far each publisher is stored."""
        ...

    def put_positions(
        self, shelf: Shelf, positions: Iterable[Position], *, anew: bool = False
    ) -> None:
        """Write publishers' positions; ``anew`` forgets all others."""
        ...

    def commit(self) -> None:
        """Bring all that was written to the disk."""
        ...
