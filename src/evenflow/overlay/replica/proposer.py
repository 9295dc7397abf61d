"""Proposer: has the voters of a shelf decide which configuration follows (`votes` has their side).

An attempt has a ballot and two stages: ask the voters for a promise, then to accept. When a voter
had accepted something before, that is proposed instead of our own wish: it may be decided already.
What was heard from a voter counts for the disk that it has (mail from another does not get here).
Answers that do not come are asked for again; who is outbid waits a moment, each broker a different
one, and tries with a higher ballot.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import (
    Agreed,
    Ballot,
    Decided,
    Outbid,
    Prepare,
    Promise,
    Propose,
)
from evenflow.overlay.replica.copy import RETRY_S, pause
from evenflow.overlay.replica.votes import LEAP

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.ports import AgreementHost
    from evenflow.overlay.protocol.messages import Accepted, Config, ShelfId

Answer = Promise | Agreed | Outbid | Decided


@dataclass(slots=True)
class Attempt:
    """One ballot."""

    ballot: Ballot
    base: Config
    config: Config
    """What we propose: our wish, or what a voter had accepted."""
    asked: float
    asks: int = 1
    """How often the voters were asked in this stage."""
    adopted: Accepted | None = None
    """The newest that a voter had accepted before."""
    promised: dict[str, int] = field(default_factory=dict)
    """Who has promised, and from which disk."""
    agreed: dict[str, int] = field(default_factory=dict)
    proposing: bool = False
    """Whether enough have promised."""


class Proposer:
    """One broker's attempts for one shelf.

    Args:
        host: The broker.
        shelf: The shelf.
        on_decided: Called with the configuration when it is decided.
    """

    def __init__(
        self, host: AgreementHost, shelf: ShelfId, on_decided: Callable[[Config], object]
    ) -> None:
        self._host = host
        self._shelf = shelf
        self._on_decided = on_decided
        self._attempt: Attempt | None = None
        self._highest = 0
        self._not_before = 0.0

    @property
    def busy(self) -> bool:
        """Whether an attempt is under way."""
        return self._attempt is not None

    @property
    def due(self) -> float:
        """When there is something to do again, unless an answer comes first."""
        if self._attempt is None:
            return self._not_before
        return self._attempt.asked + pause(self._attempt.asks)

    def stop(self) -> None:
        """Give up; what was accepted may be decided all the same."""
        self._attempt = None

    def propose(self, base: Config, wish: Config) -> None:
        """Try to have a configuration decided as the one after ``base``; call it again and again.

        An attempt that is under way goes on; what it proposes does not change any more.
        """
        attempt = self._attempt
        if attempt is not None and attempt.base == base:
            self._repeat(attempt)
            return
        if self._host.now < self._not_before:
            return
        me = self._host.members.me.name
        number = max(self._highest, self._host.votes.promised(self._shelf).number) + 1
        self._attempt = Attempt(Ballot(number, me), base, wish, self._host.now)
        self._highest = number
        self._ask(self._attempt, {})

    def _repeat(self, attempt: Attempt) -> None:
        if self._host.now < attempt.asked + pause(attempt.asks):
            return
        attempt.asked, attempt.asks = self._host.now, attempt.asks + 1
        self._ask(attempt, attempt.agreed if attempt.proposing else attempt.promised)

    def _ask(self, attempt: Attempt, answered: dict[str, int]) -> None:
        """Ask the voters that have not answered, ourselves last: then it may be over."""
        me, votes = self._host.members.me.name, self._host.votes
        question: Prepare | Propose = Prepare(self._shelf, attempt.ballot, attempt.base)
        if attempt.proposing:
            question = Propose(self._shelf, attempt.ballot, attempt.base, attempt.config)
        for name in attempt.base.voters:
            if name != me and name not in answered:
                self._host.mail.send(name, question)
        if me in attempt.base.voters and me not in answered:
            own: Answer | None = (
                votes.on_propose(question)
                if isinstance(question, Propose)
                else votes.on_prepare(question)
            )
            if own is not None:
                self.handle(me, own)

    def handle(self, sender: str, answer: Answer) -> None:
        """Take the answer of a voter; one to another attempt is ignored."""
        attempt = self._attempt
        if isinstance(answer, Decided) or attempt is None or sender not in attempt.base.voters:
            return
        if answer.base.age != attempt.base.age:
            return
        if isinstance(answer, Outbid):
            if attempt.ballot < answer.ballot and answer.ballot.number <= self._highest + LEAP:
                self._give_way(answer.ballot)
        elif answer.ballot != attempt.ballot:
            return
        elif isinstance(answer, Promise):
            self._on_promise(attempt, sender, answer)
        else:
            self._on_agreed(attempt, sender)

    def _give_way(self, ballot: Ballot) -> None:
        self._attempt = None
        self._highest = max(self._highest, ballot.number)
        spread = zlib.crc32(f"{self._host.members.me.name}{self._highest}".encode()) % 16
        self._not_before = self._host.now + RETRY_S * (1 + spread / 8)

    def _on_promise(self, attempt: Attempt, sender: str, promise: Promise) -> None:
        attempt.promised[sender] = self._host.members.disk(sender)
        for accepted in promise.accepted:
            sound = accepted.config.age == (attempt.base.birth, attempt.base.term + 1)
            newest = attempt.adopted is None or accepted.ballot > attempt.adopted.ballot
            if sound and newest and not attempt.proposing:
                attempt.adopted, attempt.config = accepted, accepted.config
        if attempt.base.enough(attempt.promised) and not attempt.proposing:
            attempt.proposing, attempt.asked, attempt.asks = True, self._host.now, 1
            self._ask(attempt, {})

    def _on_agreed(self, attempt: Attempt, sender: str) -> None:
        attempt.agreed[sender] = self._host.members.disk(sender)
        if not attempt.base.enough(attempt.agreed) or self._attempt is not attempt:
            return
        self._attempt = None
        base, config, me = attempt.base, attempt.config, self._host.members.me.name
        self._host.votes.learn(self._shelf, config)
        concerned = {*base.voters, *base.members, *config.voters, *config.members} - {me}
        for name in sorted(concerned):
            self._host.mail.send(name, Decided(self._shelf, config))
        self._on_decided(config)
