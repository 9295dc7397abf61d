"""What a balancer keeps books of, for one topic: ended writers, and registered consumers.

Both are on disk. The shell asks :meth:`Bookkeeping.due` after every turn, writes what
:meth:`Bookkeeping.files` gives, synced, and says :meth:`Bookkeeping.on_saved`; nothing is told to
anybody before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutAnswer,
    RoomWanted,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.slices.actions import ConsumerGone, Send
from evenflow.slices.ending.cutting import Cutting
from evenflow.slices.ending.records import State, encode_consumers, encode_ended
from evenflow.slices.ending.registrations import Registrations

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from evenflow.config.spans import Keep
    from evenflow.model.messages import NodeReport
    from evenflow.slices.ending.preparation import Owned
    from evenflow.slices.terms import Terms

WRITERS: Final = "writers"
CONSUMERS: Final = "consumers"


class Books(NamedTuple):
    """What a balancer begins with."""

    state: State | None = None
    """What is on disk."""
    served: bool = False
    """Whether consumers read the topic."""
    expected: tuple[str, ...] = ()
    """Consumers that are registered from the start."""
    keep: Keep | None = None
    """What is kept beyond what is committed."""
    expires: float | None = None
    """Seconds after which a consumer that is not heard is released."""


class StableOwners(Protocol):
    """Who owns the slices."""

    def stable(self, nodes: Container[str]) -> Mapping[int, Owned] | None:
        """The owner of each slice, when all of them are there."""
        ...


class Bookkeeping:
    """The books of one topic.

    Args:
        topic: The topic.
        terms: Where terms come from.
        books: What it begins with.
        offset: What the time of day is ahead of the clock.
    """

    def __init__(self, topic: str, terms: Terms, books: Books, offset: float = 0.0) -> None:
        state = books.state or State()
        self.registrations = (
            Registrations(state.consumers, books.expected, books.expires) if books.served else None
        )
        self.cutting = Cutting(topic, terms, self.registrations, state.ended, books.keep)
        self._topic, self._offset = topic, offset
        self._copies = self.registrations.copies() if self.registrations is not None else []
        """What consumers that are away have committed, to be told when somebody listens."""

    def adopt(self, before: Bookkeeping) -> None:
        """Remember the consumers of which more was heard than is on disk."""
        if self.registrations is not None and before.registrations is not None:
            self.registrations.adopt(before.registrations)
            self._copies = self.registrations.copies()

    def handle(self, event: object, now: float, *, leads: bool) -> list[Send]:
        """Hear of a writer or a consumer; return what to keep for consumers that are away.

        A standby remembers consumers alone, and says nothing.
        """
        if not leads:
            if isinstance(event, ConsumerCommit | CommitCopy | ConsumerGone):
                self._on_consumer(event, now)
            return []
        match event:
            case WriterSilence():
                self.cutting.on_silence(event)
            case CutAnswer():
                self.cutting.on_answer(event)
            case WriterCut():
                self.cutting.on_copy(event)
            case WriterRequest():
                self.cutting.on_request(event)
            case RoomWanted():
                self.cutting.kept.on_room_wanted(self.cutting.ended)
            case ConsumerCommit() | CommitCopy() | ConsumerGone():
                copy = self._on_consumer(event, now)
                return [] if copy is None else [Send(copy)]
            case _:
                raise TypeError(f"a balancer cannot handle {type(event).__name__}")
        return []

    def _on_consumer(
        self, event: ConsumerCommit | CommitCopy | ConsumerGone, now: float
    ) -> CommitCopy | None:
        registrations = self.registrations
        if registrations is None:
            return None
        match event:
            case ConsumerCommit():
                return registrations.on_commit(event, now)
            case ConsumerGone():
                return registrations.on_gone(event.consumer)
        registrations.on_copy(event)
        return None

    def poll(
        self,
        now: float,
        nodes: Mapping[str, NodeReport],
        owners: StableOwners,
        *,
        changing: bool,
    ) -> list[Send]:
        """What to tell now.

        Args:
            now: The time.
            nodes: The members, by their newest reports.
            owners: Who owns the slices.
            changing: Whether some are changing hands.
        """
        copies, self._copies = self._copies, []
        if self.registrations is not None:
            copies += self.registrations.expire(now, now + self._offset)
        stable = (lambda: None) if changing else (lambda: owners.stable(nodes))
        return [*map(Send, copies), *self.cutting.poll(now, nodes, stable)]

    # -- the disk ---------------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether something should be saved now."""
        waiting = self.registrations is not None and self.registrations.due(now)
        return waiting or self.cutting.unsaved

    def files(self, now: float) -> dict[str, bytes]:
        """The files that have changed, by their names."""
        found = {}
        if self.cutting.unsaved:
            found[WRITERS] = encode_ended(self._topic, self.cutting.to_save())
        if self.registrations is not None and self.registrations.due(now):
            found[CONSUMERS] = encode_consumers(self._topic, self.registrations.to_save())
        return found

    def on_saved(self, names: Iterable[str], now: float) -> None:
        """Files that :meth:`files` gave are on disk."""
        for name in names:
            if name == WRITERS:
                self.cutting.on_saved()
            elif self.registrations is not None:
                self.registrations.on_saved(now)
