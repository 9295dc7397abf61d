"""Requests of messengers: each is carried out once, and those of a source in their order.

A messenger numbers its requests and repeats each until it is answered. A request names the one
before it that was unanswered when it was written; it is taken only if that one was. So however
requests are lost and repeated, they are taken in order, and a repeated one is told from a new one
by its number: it is not above the highest that was taken.

What was kept is written down with its request, so a mailbox that was killed between the two answers
as before. A refusal leaves no trace on disk: who has not heard of it repeats the request, and it
is looked at anew. (What was written to a mailbox that is killed does not reach its next life: the
channel keeps nothing for late readers. So who has heard of a refusal can rely on it.)
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from evenflow.mobile.mailbox.settings import MOST_SOURCES, REMEMBERED

if TYPE_CHECKING:
    from evenflow.model.messages import SendRequest


class Verdict(Enum):
    """What a request is."""

    NEW = auto()
    REPEATED = auto()
    """It was taken before: answer it again, if the answer is known yet."""
    EARLY = auto()
    """One before it is missing: it will be repeated."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request."""

    ok: bool
    reason: str
    recipients: int


TOO_OLD = Answer(ok=False, reason="it was refused, or answered long ago", recipients=0)


@dataclass(slots=True)
class _Source:
    highest: int = 0
    answers: OrderedDict[int, Answer] = field(default_factory=OrderedDict)
    open: set[int] = field(default_factory=set)
    """Taken, and not yet answered: on their way to the disk."""


class Sources:
    """The messengers that a mailbox has heard, the newest ones."""

    def __init__(self) -> None:
        self._sources: OrderedDict[int, _Source] = OrderedDict()

    def judge(self, request: SendRequest) -> Verdict:
        """Say what a request is; a new one is taken by this."""
        source = self._of(request.source)
        if request.number <= source.highest:
            return Verdict.REPEATED
        if request.previous > source.highest:
            return Verdict.EARLY
        source.highest = request.number
        source.open.add(request.number)
        return Verdict.NEW

    def answer_to(self, source_id: int, number: int) -> Answer | None:
        """The answer to a request that was taken; None: it is not known yet."""
        source = self._of(source_id)
        return None if number in source.open else source.answers.get(number, TOO_OLD)

    def answered(self, source_id: int, number: int, answer: Answer) -> None:
        """Note the answer to a request."""
        source = self._of(source_id)
        source.highest = max(source.highest, number)
        source.open.discard(number)
        source.answers[number] = answer
        if len(source.answers) > REMEMBERED:
            source.answers.popitem(last=False)

    def _of(self, source_id: int) -> _Source:
        source = self._sources.get(source_id)
        if source is None:
            source = self._sources[source_id] = _Source()
            if len(self._sources) > MOST_SOURCES:
                self._sources.popitem(last=False)
        self._sources.move_to_end(source_id)
        return source
