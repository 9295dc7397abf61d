"""Who is registered to read a served topic, as the balancer has written it down.

A name counts as registered when it is on disk; only then is it named in the ledger, and only then
does the consumer read. Positions are saved too, at most once every :data:`SAVE_EVERY` seconds: an
older position than the true one is harmless. What lies between has not been forgotten, or was
committed by this consumer like by all others.

For a consumer whose process is gone the balancer publishes a copy of its newest commit, as serving
nodes do: it is there also when all of them were replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position
from evenflow.slices.consumer.registry import Consumers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.messages import CommitCopy, ConsumerCommit

SAVE_EVERY: Final = 1.0
KEPT_RELEASED: Final = 100
"""Released consumers of which it is remembered when that was."""
BALANCER: Final = "balancer"
"""Who keeps the copy, in a ``CommitCopy``."""


class Registrations:
    """The consumers of one topic.

    Args:
        saved: The newest commits that are on disk.
        expected: Names that are registered from the start.
    """

    def __init__(self, saved: Iterable[ConsumerCommit] = (), expected: Iterable[str] = ()) -> None:
        self.consumers = Consumers()
        self.changed = False
        """Whether the ledger should be told anew."""
        self._numbers: dict[str, int] = {}
        """The registered consumers, with the number that is on disk."""
        self._unsaved = False
        self._urgent = False
        self._next_save = 0.0
        self._saving: dict[str, int] = {}
        for one in saved:
            self.consumers.commit(one)
            self.consumers.on_process_gone(one.consumer)
            if not one.ended:
                self._numbers[one.consumer] = one.number
        for name in expected:
            self.consumers.declare(name)
            self._numbers.setdefault(name, 0)

    def on_commit(self, commit: ConsumerCommit) -> CommitCopy | None:
        """A consumer spoke; return what to tell when it was away."""
        returned = self.consumers.is_away(commit.consumer)
        before = self.consumers.newest(commit.consumer)
        if not self.consumers.commit(commit):
            return None
        new_life = returned or before is None
        self._unsaved = True
        self._urgent = (
            self._urgent or new_life or commit.ended or commit.consumer not in self._numbers
        )
        return self.consumers.copy(commit.consumer, BALANCER) if returned else None

    def on_copy(self, copy: CommitCopy) -> None:
        """A node remembers more of a consumer that is away."""
        if self.consumers.recall(copy):
            self._unsaved = True

    def adopt(self, before: Registrations) -> None:
        """Know of every consumer at least what was known before."""
        for name in before.consumers.everybody():
            newest = before.consumers.newest(name)
            if newest is not None and self.consumers.commit(newest):
                self._unsaved = self._urgent = True

    def on_gone(self, name: str) -> CommitCopy | None:
        """A consumer's process is gone; return what to keep of it for its next one."""
        self.consumers.on_process_gone(name)
        return self.consumers.copy(name, BALANCER)

    def copies(self) -> list[CommitCopy]:
        """What is kept of consumers that are away."""
        found = (
            self.consumers.copy(name, BALANCER)
            for name in self.consumers.names()
            if self.consumers.is_away(name)
        )
        return [copy for copy in found if copy is not None]

    def registered(self) -> dict[str, int]:
        """Who is registered, with the number of the commit that is on disk; 0: it never ran."""
        return self._numbers

    def may_have_planned(self) -> set[str]:
        """Who is registered and may have planned something.

        One of which nothing is on disk has not been named to itself: it plans nothing before.
        """
        return {name for name, number in self._numbers.items() if number}

    def position(self, name: str) -> Position:
        """How far a consumer is."""
        newest = self.consumers.newest(name)
        return Position() if newest is None else Position.of(newest.writers, newest.epochs)

    def reached(self, name: str) -> Position:
        """How far a consumer is, or has said to be going."""
        newest = self.consumers.newest(name)
        if newest is None:
            return Position()
        planned = Position.of(newest.planned_writers, newest.planned_epochs)
        return self.position(name).merged(planned)

    def have_all(self, writer: int, epoch: int) -> bool:
        """Whether every registered consumer has committed an epoch of a writer."""
        return all(self.position(name)[writer] >= epoch for name in self._numbers)

    # -- the disk ---------------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether something should be saved now."""
        return self._unsaved and (self._urgent or now >= self._next_save)

    def to_save(self) -> list[ConsumerCommit]:
        """What to write; :meth:`on_saved` says when it is on disk."""
        newest = [self.consumers.newest(name) for name in self.consumers.everybody()]
        found = [one for one in newest if one is not None]
        released = sorted((one for one in found if one.ended), key=lambda one: one.number)
        old = {one.consumer for one in released[:-KEPT_RELEASED]}
        kept = [one for one in found if one.consumer not in old]
        self._saving = {one.consumer: one.number for one in kept if not one.ended}
        return kept

    def on_saved(self, now: float) -> None:
        """What :meth:`to_save` gave is on disk."""
        expected = {name: 0 for name, number in self._numbers.items() if not number}
        numbers = {**expected, **self._saving}
        for name in [n for n in expected if self._is_released(n)]:
            numbers.pop(name, None)
        self.changed = self.changed or numbers != self._numbers
        self._numbers = numbers
        self._unsaved = self._urgent = False
        self._next_save = now + SAVE_EVERY

    def _is_released(self, name: str) -> bool:
        newest = self.consumers.newest(name)
        return newest is not None and newest.ended
