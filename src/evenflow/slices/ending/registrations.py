"""Who is registered to read a served topic, as the balancer has written it down.

A name counts as registered when it is on disk; only then is it named in the ledger, and only then
does the consumer read. Positions are saved too, at most once every :data:`SAVE_EVERY` seconds: an
older position than the true one is harmless. What lies between has not been forgotten, or was
committed by this consumer like by all others.

For a consumer whose process is gone the balancer publishes a copy of its newest commit, as serving
nodes do: it is there also when all of them were replaced.

**Expiry.** A consumer of which no word was heard for ``consumer.expires`` is released, unless the
configuration declares it. What counts is the clock of this process, since it leads: another one
counts anew, so nobody expires early. A word is any commit, also one that is repeated, which a
consumer does every second while it lives. What is written down says that it has expired, and where
it was. When that is on disk its name is refused, and it is told so, until an operator forgets it.
An expiry that is not on disk has not happened: nobody hears of it, and who leads next does not
know it. One that is on disk is undone by nothing that the consumer said before or says since.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.consumer.registry.copies import BALANCER, NOBODY, is_expired

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.messages import CommitCopy, ConsumerCommit

SAVE_EVERY: Final = 1.0
UNSAVED: Final = 1
"""The number of one that is not on this disk and was there before: it must not plan yet."""
KEPT_RELEASED: Final = 100
"""Released consumers of which it is remembered when that was."""

_LOG = logging.getLogger(__name__)


class Registrations:
    """The consumers of one topic.

    Args:
        saved: The newest commits that are on disk.
        expected: Names that are registered from the start; they do not expire.
        expires: Seconds after which a consumer that is not heard is released; None: never.
    """

    def __init__(
        self,
        saved: Iterable[ConsumerCommit] = (),
        expected: Iterable[str] = (),
        expires: float | None = None,
    ) -> None:
        self.consumers = Consumers()
        self.changed = False
        """Whether the ledger should be told anew."""
        self._numbers: dict[str, int] = {}
        """The registered consumers, with the number that is on disk."""
        self._unsaved = False
        self._urgent = False
        self._next_save = 0.0
        self._saving: dict[str, int] = {}
        self._expected, self._expires = frozenset(expected), expires
        self._heard: dict[str, float] = {}
        """When each consumer was heard, or this began to listen."""
        self._expiring: list[str] = []
        """Those that expire as soon as that is on disk."""
        self._expired: list[str] = []
        """Those of which it is, and that nobody was told."""
        for one in saved:
            self.consumers.commit(one)
            self.consumers.on_process_gone(one.consumer)
            if not one.ended:
                self._numbers[one.consumer] = one.number
        for name in sorted(self._expected):
            self.consumers.declare(name)
            self._numbers.setdefault(name, 0)

    def on_commit(self, commit: ConsumerCommit, now: float) -> CommitCopy | None:
        """A consumer spoke; return what to tell when it was away, or has expired."""
        self._heard[commit.consumer] = now
        if self._has_expired(commit.consumer) and not commit.ended:
            told = commit.consumer not in self._expiring
            return self.consumers.copy(commit.consumer, BALANCER) if told else None
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
        if not self._has_expired(copy.consumer) and self.consumers.recall(copy):
            self._unsaved = True

    def adopt(self, before: Registrations) -> None:
        """Know of every consumer at least what was known before, and who of them is here.

        Who has expired is on a disk, perhaps another one, unless it was this process that let it,
        and it could not be written.
        """
        for name in before.consumers.everybody():
            newest, saved = before.consumers.newest(name), self.consumers.newest(name)
            if newest is None or name in before._expiring or not self._counts(newest):
                continue
            self.consumers.commit(newest)
            if before.consumers.is_away(name):
                self.consumers.on_process_gone(name)
            if newest.ended:
                self._numbers.pop(name, None)
            else:
                # The ledger names it: whom that does not name everybody forgets, and this disk,
                # which may be another one than its predecessor's, may be full.
                self._numbers.setdefault(name, UNSAVED)
            if newest != saved:
                self._unsaved = self._urgent = True

    def _counts(self, said: ConsumerCommit) -> bool:
        """Whether a consumer said this no earlier than what is on disk."""
        known = self.consumers.newest(said.consumer)
        if known is not None and is_expired(known) and not said.ended:
            return False
        return known is None or said.number >= known.number

    def on_gone(self, name: str) -> CommitCopy | None:
        """A consumer's process is gone; return what to keep of it for its next one."""
        self.consumers.on_process_gone(name)
        return None if name in self._expiring else self.consumers.copy(name, BALANCER)

    def expire(self, now: float, wall: float) -> list[CommitCopy]:
        """Release whom nobody has heard for too long; return what to tell of those on disk.

        Args:
            now: The time.
            wall: The time of day in seconds, which is only told.
        """
        for name, number in self._numbers.items() if self._expires is not None else ():
            silent = now - self._heard.setdefault(name, now)
            newest = self.consumers.newest(name)
            if not number or name in self._expected or newest is None or newest.ended:
                continue
            if silent >= (self._expires or 0.0):
                self._release(newest, max(newest.number + 1, int(wall * 1e9)))
                self._expiring.append(name)
                _LOG.warning(
                    "consumer %s of topic %s was not heard for %d s (consumer.expires): it is"
                    " forgotten, and what was kept for it alone", name, newest.topic, silent,
                )  # fmt: skip
        told, self._expired = self._expired, []
        copies = [self.consumers.copy(name, BALANCER) for name in told if self._has_expired(name)]
        return [copy for copy in copies if copy is not None]

    def _release(self, newest: ConsumerCommit, number: int) -> None:
        """Write down that a consumer has expired, and where it was."""
        writers, epochs = (*newest.writers, NOBODY), (*newest.epochs, 1)
        last = replace(newest, number=number, writers=writers, epochs=epochs, ended=True)
        self.consumers.commit(last)
        self.consumers.on_process_gone(newest.consumer)
        self._unsaved = self._urgent = True

    def _has_expired(self, name: str) -> bool:
        newest = self.consumers.newest(name)
        return newest is not None and is_expired(newest)

    def copies(self) -> list[CommitCopy]:
        """What is kept of consumers that are away, or have expired."""
        found = (
            self.consumers.copy(name, BALANCER)
            for name in self.consumers.everybody()
            if self.consumers.is_away(name)
            and (name in self.consumers.names() or self._has_expired(name))
        )
        return [copy for copy in found if copy is not None]

    def registered(self) -> dict[str, int]:
        """Who is registered, with the number of the commit that is on disk; 0: it never ran."""
        return self._numbers

    def away(self, answered: Iterable[str]) -> str:
        """Who has not answered and may have planned something, in words; empty when nobody.

        One of which nothing is on disk has not been named to itself: it plans nothing before.
        """
        asked = {name for name, number in self._numbers.items() if number}
        away = sorted(asked.difference(answered))
        if not away:
            return ""
        who = f"consumers {', '.join(away)} are" if len(away) > 1 else f"consumer {away[0]} is"
        return f"{who} away, and may have planned more"

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
        self._expired += self._expiring
        self._expiring = []
        self._unsaved = self._urgent = False
        self._next_save = now + SAVE_EVERY
        self.consumers.forget_oldest()
        self._heard = {name: at for name, at in self._heard.items() if name in numbers}

    def _is_released(self, name: str) -> bool:
        newest = self.consumers.newest(name)
        return newest is not None and newest.ended
