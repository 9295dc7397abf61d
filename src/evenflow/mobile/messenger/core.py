"""The messenger's core: to which mailbox a message goes, and until when it is repeated.

A sender goes to one mailbox, chosen by its name from those that are there (rendezvous hashing: the
same sender finds the same one from any process), and stays with it while it lives. Requests are
numbered and written in order, at most `WINDOW` unanswered ones; all that is unanswered is written
again, in order, when an answer is late. Each names the one before it that is unanswered, so the
mailbox takes them in order too (:mod:`evenflow.mobile.mailbox.sources`).

A request that was written to a mailbox may be on its disk whether or not that mailbox is heard. It
is never given to another: it waits for its own until the time is up, and what comes after it waits
too. Then nobody knows whether it was taken, and `SendTimeout` says so. Messages that were never
written go to another mailbox.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.channels import Gone
from evenflow.errors import EvenflowError, NoMailbox, SendRefused, SendTimeout
from evenflow.model.ids import NodeId
from evenflow.model.messages import MailboxReport, SendReply, SendRequest
from evenflow.slices.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW: Final = 32
"""Requests that may be unanswered; mailboxes remember twice as many."""
LOOK_S: Final = 0.3
"""How long to look for further mailboxes when the first one is seen."""
NOBODY_S: Final = 10.0
"""How long to wait for a first mailbox; for one that was there, until the time is up."""
REPEAT_S: Final = 0.5
"""When an answer is late."""
RETRY_S: Final = 0.02
"""How soon to try again when a request could not be written."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to mobile nodes."""

    payload: bytes
    nodes: tuple[str, ...]
    group: str
    lifetime_s: float


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a mailbox has on its disk."""

    mailbox: str
    recipients: int
    """Nodes it is for."""
    remark: str
    """What is worth knowing: nodes that were left out because too much waits for them, or that
    nobody has ever seen. Empty: nothing."""


# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submit:
    """Somebody wants a message sent."""

    ticket: int
    """By which it will be told what came of it."""
    message: Message
    deadline: float


@dataclass(frozen=True, slots=True)
class NotWritten:
    """A request could not be written, so nobody has it by that."""

    number: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


# -- actions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """Write a request; if that fails, say `NotWritten` of it and of those that come with it."""

    request: SendRequest


@dataclass(frozen=True, slots=True)
class Done:
    """This is what came of a message."""

    ticket: int
    result: Sent | EvenflowError


Action = Write | Done


@dataclass(slots=True)
class _Pending:
    number: int
    ticket: int
    message: Message
    deadline: float
    since: float
    mailbox: str = ""
    """Where it was written to; empty: nowhere yet."""
    written: int = 0
    """How many times."""


class MessengerCore:
    """Sends messages through mailboxes.

    Args:
        source: 64 random bits.
        sender: Name of the sender.
    """

    def __init__(self, source: int, sender: str) -> None:
        self.sender = sender
        self.source = source
        self.mailbox = ""
        """The one that messages go to; empty: none is chosen."""
        self._number = 0
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._mailboxes: set[str] = set()
        self._seen_since = inf
        self._next_write = -inf
        self._repeat = Backoff(REPEAT_S)
        self._next_repeat = inf
        self._actions: list[Action] = []
        self._handlers: dict[type[Any], Callable[[Any, float], None]] = {
            Submit: self._on_submit,
            NotWritten: self._on_not_written,
            MailboxReport: self._on_mailbox,
            Gone: self._on_gone,
            SendReply: self._on_reply,
            Tick: self._on_tick,
        }

    def handle(self, event: Any, now: float) -> list[Action]:
        """Take in an event; return what is to be done."""
        self._handlers[type(event)](event, now)
        if type(event) is not NotWritten:
            self._write(now)
        actions, self._actions = self._actions, []
        return actions

    @property
    def unanswered(self) -> int:
        """Messages of which it is not known what came of them."""
        return len(self._pending)

    # -- what happens -----------------------------------------------------------------------------

    def _on_submit(self, event: Submit, now: float) -> None:
        self._number += 1
        self._pending[self._number] = _Pending(
            self._number, event.ticket, event.message, event.deadline, now
        )

    def _on_mailbox(self, report: MailboxReport, now: float) -> None:
        if not self._mailboxes:
            self._seen_since = now
        if report.mailbox not in self._mailboxes:
            self._mailboxes.add(report.mailbox)
            if report.mailbox == self.mailbox and self._next_repeat < inf:
                self._next_repeat = now  # it is back: ask at once

    def _on_gone(self, gone: Gone, now: float) -> None:
        del now
        self._mailboxes.discard(gone.key[0])

    def _on_reply(self, reply: SendReply, now: float) -> None:
        if reply.source != self.source:
            return
        pending = self._pending.get(reply.number)
        if pending is None or pending.mailbox != reply.mailbox:
            return
        del self._pending[reply.number]
        result: Sent | EvenflowError
        if reply.ok:
            result = Sent(reply.mailbox, reply.recipients, reply.reason)
        else:
            result = SendRefused(reply.mailbox, reply.reason)
        self._actions.append(Done(pending.ticket, result))
        self._repeat = Backoff(REPEAT_S)
        self._next_repeat = now + self._repeat.next() if self._is_waiting() else inf

    def _on_not_written(self, event: NotWritten, now: float) -> None:
        self._next_write = now + RETRY_S
        self._next_repeat = min(self._next_repeat, self._next_write)
        pending = self._pending.get(event.number)
        if pending is not None:
            pending.written -= 1
            if not pending.written:
                pending.mailbox = ""

    def _on_tick(self, _: Tick, now: float) -> None:
        for pending in list(self._pending.values()):
            waited = now - pending.since
            if pending.mailbox and now >= pending.deadline:
                self._give_up(pending, SendTimeout(pending.mailbox, waited))
            elif not pending.mailbox and (
                now >= pending.deadline or (waited >= NOBODY_S and self._seen_since == inf)
            ):
                self._give_up(pending, NoMailbox(waited))

    def _give_up(self, pending: _Pending, error: EvenflowError) -> None:
        del self._pending[pending.number]
        self._actions.append(Done(pending.ticket, error))

    # -- writing ----------------------------------------------------------------------------------

    def _write(self, now: float) -> None:
        if not self._pending or now < self._next_write:
            return
        self._choose(now)
        if self.mailbox not in self._mailboxes:
            return
        again = now >= self._next_repeat
        if again or self._next_repeat == inf:
            self._next_repeat = now + self._repeat.next()
        previous = 0
        for pending in islice(self._pending.values(), WINDOW):
            if again or not pending.mailbox:
                pending.mailbox = self.mailbox
                pending.written += 1
                self._actions.append(Write(self._request(pending, previous)))
            previous = pending.number

    def _choose(self, now: float) -> None:
        """Choose a mailbox, if there is none or it is gone and nothing waits for it."""
        looked = now - self._seen_since >= LOOK_S
        if self.mailbox not in self._mailboxes and not self._is_waiting() and looked:
            self._next_repeat = inf
            self._repeat = Backoff(REPEAT_S)
            self.mailbox = max(self._mailboxes, key=self._rank, default="")

    def _rank(self, mailbox: str) -> bytes:
        name = NodeId(mailbox).name
        return blake2b(f"{self.sender}\n{name}".encode(), digest_size=8).digest()

    def _is_waiting(self) -> bool:
        """Whether something was written and is unanswered: the first, if any is."""
        return bool(self._pending) and bool(next(iter(self._pending.values())).mailbox)

    def _request(self, pending: _Pending, previous: int) -> SendRequest:
        message = pending.message
        return SendRequest(
            self.source, pending.number, previous, pending.mailbox, message.nodes, message.group,
            self.sender, message.lifetime_s, message.payload,
        )  # fmt: skip
