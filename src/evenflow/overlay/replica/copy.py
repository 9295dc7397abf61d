"""What one broker has of a shelf: its record, its messages, and how far publishers are stored.

Everything a copy is and knows stands here; what it does with it stands in the classes built on it:
`stream` (messages within a term), `history` (messages from before it), `replica` (the terms).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from evenflow.overlay.protocol.messages import Label, Message, Position, Shelf
from evenflow.overlay.replica.states import TRANSITIONS, State, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenflow.overlay.members.table import Membership
    from evenflow.overlay.replica.record import Record, Store

RETRY_S = 0.4
"""A question without answer is asked again after this."""
MOST_PUBLISHERS = 10_000
"""Publishers that a shelf remembers; with more, those that were silent longest are forgotten."""
BATCH = 512
"""Messages in one letter."""


class Office(Protocol):
    """What a copy needs of its broker."""

    members: Membership
    store: Store
    now: float
    """Monotonic seconds."""
    wall: int
    """Time of day in nanoseconds."""

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        ...

    def tell(self, node: str, body: Any) -> None:
        """Send a letter to a broker."""
        ...


class Holding:
    """One broker's copy of a shelf.

    Args:
        office: The broker.
        record: What is on disk.
        committed: Time up to which all is on both disks, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, office: Office, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        self.office = office
        self.record = record
        self.state = State.UNSURE
        self.committed = max(committed, record.epochs[-1].start - 1)
        self.last = max(office.store.last(record.shelf), self.committed)
        self.positions = office.store.positions(record.shelf)
        self.verified = record.shelf.at_home
        """Whether the delegate list on the label was in force lately, as home says."""
        self._on_progress = on_progress

    @property
    def shelf(self) -> Shelf:
        """Which shelf."""
        return self.record.shelf

    @property
    def me(self) -> str:
        """This broker."""
        return self.office.members.me.name

    @property
    def label(self) -> Label:
        """The shelf's label."""
        return self.record.label

    @property
    def leading(self) -> bool:
        """Whether this is the primary of a term that is agreed on."""
        return self.state is State.LEADING

    def wanted(self) -> tuple[str, ...]:
        """Return the brokers that should have the shelf, closest first."""
        count = 1 if self.label.level == 1 else 2
        return self.office.members.closest(self.shelf.coordinate, count)

    def turn(self, turn: Turn) -> None:
        """Change the state as the table says."""
        self.state = TRANSITIONS[self.state][turn]
        self._on_progress()

    def save(self, record: Record) -> None:
        """Change the record, here and on disk."""
        self.record = record
        self.office.store.save(record)

    def _all(self, start: int, end: int) -> list[Message]:
        return self.office.store.read(self.shelf, start, end, 1 << 30, 1 << 60)

    def _positions_before(self, start: int) -> tuple[Position, ...]:
        """Return how far publishers were stored before a time; the stream brings the rest."""
        found = dict(self.positions)
        for message in reversed(self._all(start, self.last + 1)):
            found[message.publisher] = Position(
                message.publisher, message.sequence - 1, max(0, start - 1)
            )
        return tuple(found.values())

    def _write(self, messages: list[Message] | tuple[Message, ...]) -> None:
        moved = {}
        for message in messages:
            known = self.positions.get(message.publisher)
            if known is None or known.sequence < message.sequence:
                position = Position(message.publisher, message.sequence, message.time)
                self.positions[message.publisher] = moved[message.publisher] = position
        self.office.store.append(self.shelf, messages, self.committed)
        self.office.store.put_positions(self.shelf, moved.values())
        if len(self.positions) > MOST_PUBLISHERS:
            by_age = sorted(self.positions.values(), key=lambda position: position.time)
            self._forget(by_age[: MOST_PUBLISHERS // 10])

    def _forget(self, silent: Sequence[Position]) -> None:
        """Forget publishers; what they repeat later would be stored again."""
        for position in silent:
            del self.positions[position.publisher]
        if silent:
            self.office.store.put_positions(self.shelf, self.positions.values(), anew=True)

    def _take_positions(self, positions: Iterable[Position]) -> None:
        """Note how far publishers are stored, where that is farther than we knew."""
        farther = []
        for position in positions:
            known = self.positions.get(position.publisher)
            if known is None or known.sequence < position.sequence:
                self.positions[position.publisher] = position
                farther.append(position)
        self.office.store.put_positions(self.shelf, farther)

    def _sweep(self, floor: int) -> None:
        """Delete messages, and publishers that have been silent since."""
        self.office.store.remove(self.shelf, 0, floor)
        self._forget([p for p in self.positions.values() if p.time < floor])
