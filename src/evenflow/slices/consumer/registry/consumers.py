"""All consumers of a topic: whether each of them counts, how far it is, and what it said last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position
from evenflow.slices.consumer.registry.copies import commit_of, copy_of
from evenflow.slices.consumer.registry.states import TRANSITIONS, State, Trigger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.messages import CommitCopy, ConsumerCommit

MOST_RELEASED: Final = 1_000
"""Released consumers that a process remembers. Who speaks and was forgotten is let go anew."""

PATIENCE: Final = 2
"""Ledgers that may come without a consumer that nobody names meanwhile. One that is about to
register says so every second, as often as the ledger comes; of any other somebody spoke who did
not know yet that it was released."""


@dataclass(slots=True)
class _Consumer:
    state: State = State.UNKNOWN
    number: int = 0
    """Commits up to this number are old; 0 while the process is gone."""
    position: Position = field(default_factory=Position)
    newest: ConsumerCommit | None = None
    """What it said last; None when nobody has told."""
    unheard: int = PATIENCE
    """Ledgers since it spoke or was named. A copy is no sign of life: it tells what was before."""

    def on(self, trigger: Trigger) -> None:
        """Something happens to it. Who counts again, and had said its last word, begins anew."""
        self.state = TRANSITIONS[self.state, trigger]
        if self.state.counts and self.newest is not None and self.newest.ended:
            self.number, self.position, self.newest = 0, Position(), None

    def note(self, commit: ConsumerCommit, number: int) -> None:
        """This is the newest that it said."""
        self.number, self.newest = number, commit
        self.position = Position.of(commit.writers, commit.epochs)
        self.on(Trigger.END if commit.ended else Trigger.SPEAK)


class Consumers:
    """The consumers of one topic."""

    def __init__(self) -> None:
        self._known: dict[str, _Consumer] = {}

    # -- what is heard ----------------------------------------------------------------------------

    def commit(self, commit: ConsumerCommit) -> bool:
        """Take a commit in; False when a newer one of this consumer is known."""
        one = self._of(commit.consumer)
        one.unheard = 0
        if one.state is not State.UNKNOWN and commit.number <= one.number:
            one.on(Trigger.NAME)
            return False
        one.note(commit, commit.number)
        return True

    def recall(self, copy: CommitCopy) -> bool:
        """Hear what a consumer that is away said last; False when that is no news."""
        if not copy.away or self.number(copy.consumer):
            return False  # it is here and speaks for itself
        newest = self.newest(copy.consumer)
        if newest is not None and newest.number >= copy.number:
            return False
        self._of(copy.consumer).note(commit_of(copy), 0)
        return True

    def learn(self, names: Iterable[str]) -> None:
        """Hear of consumers; those never heard of are registered, with nothing committed."""
        for name in names:
            self._hear(name, Trigger.NAME)

    def declare(self, name: str) -> None:
        """Register a consumer that need not have run; one that was released begins anew."""
        self._of(name).on(Trigger.DECLARE)

    def on_ledger(self, names: Iterable[str]) -> None:
        """The ledger names these, and no others. Call it for each one that comes.

        One that was released and that it names anew is registered from now on, and not before: one
        that is cut off from the balancer alone may not know yet that it was released, and speak.
        """
        listed = dict.fromkeys(names)
        for name in listed:
            self._hear(name, Trigger.LIST)
        for name, one in self._known.items():
            if name not in listed:
                one.on(Trigger.OMIT if one.unheard < PATIENCE else Trigger.LAPSE)
            one.unheard += 1
        self.forget_oldest()

    def on_process_gone(self, name: str) -> None:
        """A consumer's process is gone; the next one may number its commits from anywhere."""
        if name in self._known:
            self._known[name].number = 0

    def _of(self, name: str) -> _Consumer:
        return self._known.setdefault(name, _Consumer())

    def _hear(self, name: str, trigger: Trigger) -> None:
        one = self._of(name)
        one.unheard = 0
        one.on(trigger)

    def forget_oldest(self) -> None:
        """Of those that count no more the newest are remembered, by what they said last.

        A ledger that comes does this. Who makes the ledger, and hears none, calls it by itself.
        """
        past = [name for name, one in self._known.items() if one.state.is_past]
        if len(past) <= MOST_RELEASED:
            return
        past.sort(key=lambda name: said.number if (said := self.newest(name)) else 0)
        for name in past[:-MOST_RELEASED]:
            del self._known[name]

    # -- one of them ------------------------------------------------------------------------------

    def newest(self, name: str) -> ConsumerCommit | None:
        """What a consumer said last, whether its process lives or not; None when nobody told."""
        known = self._known.get(name)
        return None if known is None else known.newest

    def number(self, name: str) -> int:
        """The number of the newest commit that its process sent; 0 when there was none."""
        known = self._known.get(name)
        return 0 if known is None else known.number

    def is_away(self, name: str) -> bool:
        """Whether a consumer has said something and its process is gone."""
        return self.newest(name) is not None and not self.number(name)

    def copy(self, name: str, node: str) -> CommitCopy | None:
        """What a node tells of a consumer's newest commit."""
        found = self.newest(name)
        return None if found is None else copy_of(found, node, away=self.is_away(name))

    # -- all of them ------------------------------------------------------------------------------

    def everybody(self) -> tuple[str, ...]:
        """All consumers that were heard of, released ones included."""
        return tuple(sorted(self._known))

    def names(self) -> tuple[str, ...]:
        """The registered consumers, in order."""
        return tuple(sorted(name for name, one in self._known.items() if one.state.counts))

    def named(self) -> tuple[str, ...]:
        """Those that this process knows of itself: the ledger names them, or they have spoken."""
        known = self._known
        return tuple(
            name
            for name in self.names()
            if known[name].state is State.LISTED or known[name].newest is not None
        )

    def behind(self, writer: int) -> tuple[str, ...]:
        """The registered consumers that are furthest behind with a writer, in order."""
        floor = self.floor(writer)
        return tuple(n for n in self.names() if self._known[n].position[writer] == floor)

    def floor(self, writer: int) -> int:
        """The epoch of a writer up to which all registered consumers have committed."""
        epochs = [one.position[writer] for one in self._known.values() if one.state.counts]
        return min(epochs, default=0)

    def position(self) -> Position:
        """For each writer the epoch that all registered consumers have committed."""
        writers = {writer for one in self._known.values() for writer in one.position}
        return Position({writer: self.floor(writer) for writer in writers})
