"""Creation: shelves that a broker does not have are made when they are new, and only then.

A message for a shelf that is not here may mean three things. The primary of a configuration wants
us as a member: then we take a copy, empty at first. Home adopts us as a delegate: then the shelf is
new, for home names one broker to make it, under a ticket that makes it newer than any that lay
there before. Or a client joins a topic at its home. That a topic is new is a decision like the
others (`replica.votes`), and nearly all brokers that are known must agree, dead ones included: all
but two, and more than half. So whoever has it says so, and while too many are away nobody makes it
a second time. Who only reads makes nothing: he is told that there is no such topic, by the broker
that would have it, when every broker that is known lives, none has come or gone lately, and all
have said that they know nothing of it (one that leads it may not have told us yet); at all other
times he waits. Whoever waits for brokers that are away is told for which.

All other messages are for a shelf that was here once. We pass them on if we know who leads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Adopt,
    Check,
    Config,
    Decided,
    Dismissed,
    Failed,
    Fetch,
    Join,
    Label,
    Lead,
    Prepare,
    Promise,
    Publish,
    Refused,
    Replicate,
    ShelfId,
    Subscribe,
    Sync,
    TermStart,
    Waiting,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.proposer import Proposer
from evenflow.overlay.replica.record import Record
from evenflow.overlay.replica.votes import LOWEST
from evenflow.overlay.shelf.shelf import Shelf
from evenflow.overlay.shelf.waiting import WaitingRequests
from evenflow.overlay.space.delegation import DelegateList

if TYPE_CHECKING:
    from evenflow.overlay.ports import ShelfHost
    from evenflow.overlay.protocol.messages import Envelope
    from evenflow.overlay.replica.proposer import Answer

SETTLE_S = 0.5
"""After a broker joined, new shelves wait this long, so that old ones can find it."""
MOST_PENDING = 10_000
MOST_WAITING = 256
"""Messages that wait for one new shelf."""
QUESTION_S = 10.0
"""A question whether somebody knows a topic is given up after this."""
LONGEST_REASON = 2_000
"""Characters of what a client is told, however many brokers are away."""


@dataclass(slots=True)
class PendingShelf:
    """A topic that may be new: the attempt to decide that it is, and who waits for it."""

    level: int
    proposer: Proposer
    waiting: WaitingRequests[tuple[Envelope, Any]] = field(
        default_factory=lambda: WaitingRequests(MOST_WAITING)
    )


@dataclass(slots=True)
class Question:
    """A topic that there may not be: who has not said so yet, and who waits for that."""

    silent: set[str]
    until: float
    """When it is given up; whoever still waits asks again."""
    asked: float = float("-inf")
    waiting: WaitingRequests[tuple[Envelope, Any]] = field(
        default_factory=lambda: WaitingRequests(MOST_WAITING)
    )


class ShelfCreation:
    """The shelves that may have to be made.

    Args:
        host: The broker.
        shelves: Its shelves, to which new ones are added.
    """

    def __init__(self, host: ShelfHost, shelves: dict[ShelfId, Shelf]) -> None:
        self._host = host
        self._shelves = shelves
        self._pending: dict[ShelfId, PendingShelf] = {}
        self._questions: dict[ShelfId, Question] = {}
        self._changed = host.now

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self._host.now >= self._changed + SETTLE_S

    def on_members_changed(self) -> None:
        """A broker came or went."""
        self._changed = self._host.now
        self._questions.clear()

    def handle(self, envelope: Envelope, body: Any) -> None:
        """Take a message for a shelf that is not here."""
        if isinstance(body, Sync):
            self._on_sync(envelope, body)
        elif isinstance(body, Check | Replicate | Lead):
            self._on_asked(envelope.origin, body)
        elif isinstance(body, Adopt):
            self._on_adopt(envelope, body)
        elif isinstance(body, Join) and body.level and body.shelf.at_home:
            if self._unmade(body.shelf) and not self._host.clock.ahead:
                self._make_home(body.shelf, body.level).handle(envelope, body)
            elif not self._pass_on(envelope, body):
                self._expect(envelope, body)
        elif not self._pass_on(envelope, body) and isinstance(body, Join) and body.shelf.at_home:
            self._deny(envelope, body)

    def _on_sync(self, envelope: Envelope, sync: Sync) -> None:
        """Take a copy, as a member that is not in sync, or was before its disk was lost."""
        host, config, known = self._host, sync.config, self._host.votes.known(sync.shelf)
        me = host.members.me
        if known is not None and known.age > config.age:
            host.mail.send(envelope.origin, Decided(sync.shelf, known))
        elif config.synced(me.name, me.disk):
            host.mail.send(envelope.origin, Refused(sync.shelf))
        elif me.name in config.members and envelope.origin == config.primary:
            host.votes.learn(sync.shelf, config)
            self._make(sync.shelf, config.birth, sync.label, start=0).handle(envelope, sync)

    def _on_asked(self, sender: str, body: Check | Replicate | Lead) -> None:
        """Say that we have no copy; if the shelf is deleted, or lies elsewhere now, say that."""
        shelf, mail = body.shelf, self._host.mail
        known = self._host.votes.known(shelf)
        if known is not None and known.ended:
            mail.send(sender, Dismissed(shelf, known))
        elif known is not None and isinstance(body, Check) and known.age > body.config.age:
            mail.send(sender, Decided(shelf, known))
        else:
            mail.send(sender, Refused(shelf))

    def _pass_on(self, envelope: Envelope, body: Any) -> bool:
        """Bring a message to the primary if we know it; return whether there is one."""
        host, known = self._host, self._host.votes.known(body.shelf)
        if known is None or known.ended:
            return False
        me = host.members.me.name
        if known.primary != me and host.members.alive(known.primary):
            host.mail.forward(envelope, known.primary)
        elif envelope.client and isinstance(body, Join | Publish | Fetch | Subscribe):
            names = ", ".join(known.in_sync)
            reason = f"{body.shelf.topic!r} waits for a copy that is in sync ({names})"
            host.mail.reply(envelope, Waiting(reason))
        return True

    # -- a delegate's shelf ---------------------------------------------------------------------

    def _on_adopt(self, envelope: Envelope, adopt: Adopt) -> None:
        """Home names us to make a shelf: we decide alone, for nobody else may."""
        host, known = self._host, self._host.votes.known(adopt.shelf)
        me = host.members.me
        named = (envelope.node, adopt.disk) == (me.name, me.disk)
        there = adopt.label.delegates.birth(adopt.shelf.coordinate) is not None
        if there or not named or adopt.shelf.at_home:
            self._pass_on(envelope, adopt)
        elif (known is None or known.birth < adopt.ticket) and not host.clock.ahead:
            label = replace(adopt.label, revision=0, ticket=0, ticket_term=0, floor=0, version=0)
            shelf = self._begin(adopt.shelf, adopt.ticket, label)
            # A delegate that home gave up meanwhile asks, and hears that it is not needed.
            shelf.replica.copy.verified = False
            shelf.handle(envelope, adopt)

    def _begin(self, shelf_id: ShelfId, birth: int, label: Label) -> Shelf:
        host = self._host
        host.votes.learn(shelf_id, self._alone(birth))
        shelf = self._make(shelf_id, birth, label, start=host.wall)
        shelf.replica.resume()
        return shelf

    def _alone(self, birth: int) -> Config:
        """Return the first configuration of a shelf that we make."""
        me = self._host.members.me
        return Config(birth, 1, me.name, (me.name,), (me.name,), (me.name,), (me.disk,))

    # -- a topic's home -------------------------------------------------------------------------

    def _expect(self, envelope: Envelope, join: Join) -> None:
        """Keep a request until its topic is made, or found."""
        host, shelf, pending = self._host, join.shelf, self._pending.get(join.shelf)
        if pending is None:
            closest = host.members.closest(shelf.coordinate, 1) == (host.members.me.name,)
            if not closest or len(self._pending) >= MOST_PENDING:
                return
            proposer = Proposer(host, shelf, lambda config: self.on_decided(shelf, config))
            pending = self._pending[shelf] = PendingShelf(join.level, proposer)
        pending.waiting.add(envelope, join, (envelope, join))
        if len(host.members.living) < self._nothing().quorum:
            self._name_absent(envelope, shelf)
        if host.clock.ahead:
            reason = f"the clock of {host.members.me.name} is far ahead of the other brokers'"
            host.mail.reply(envelope, Waiting(f"{reason}: set it right"))
        self._propose(shelf, pending)

    def _deny(self, envelope: Envelope, join: Join) -> None:
        """Tell a reader that there is no such topic, if we can know it."""
        host, shelf, members = self._host, join.shelf, self._host.members
        everyone = all(members.alive(member.name) for member in members.everyone())
        ours = members.closest(shelf.coordinate, 1) == (members.me.name,)
        if everyone and ours and self.steady and host.joined and shelf not in self._pending:
            self._ask_everybody(envelope, join)
        elif ours and not everyone:
            self._name_absent(envelope, shelf)

    def _ask_everybody(self, envelope: Envelope, join: Join) -> None:
        """Ask all others whether they know the topic: its primary may not have reached us yet.

        Nobody promises anything by the answer: no ballot is lower than the one of this question.
        """
        host, shelf = self._host, join.shelf
        question = self._questions.get(shelf)
        if question is None:
            if len(self._questions) >= MOST_PENDING:
                return
            others = set(host.members.living) - {host.members.me.name}
            question = self._questions[shelf] = Question(others, host.now + QUESTION_S)
        question.waiting.add(envelope, join, (envelope, join))
        if host.now >= question.asked + RETRY_S:
            question.asked = host.now
            for name in sorted(question.silent):
                host.mail.send(name, Prepare(shelf, LOWEST, self._nothing()))
        self._conclude(shelf, question)

    def _conclude(self, shelf: ShelfId, question: Question) -> None:
        """Tell readers that there is no such topic, when nobody knows one."""
        if not question.silent and shelf not in self._pending:
            del self._questions[shelf]
            for envelope, _ in question.waiting.take_all():
                self._host.mail.reply(envelope, Failed(f"there is no topic {shelf.topic!r}"))

    def _name_absent(self, envelope: Envelope, shelf: ShelfId) -> None:
        """Tell a client which brokers must return before it is known whether there is a topic."""
        members = self._host.members
        absent = ", ".join(
            f"{member.name} at {member.address} ({'has left' if member.left else 'not heard'})"
            for member in members.everyone()
            if not member.alive
        )
        asked = ", ".join(members.living)
        reason = (
            f"{asked} know no topic {shelf.topic!r}, and it may lie on brokers that are away:"
            f" {absent}; start them again"
        )
        self._host.mail.reply(envelope, Waiting(reason[:LONGEST_REASON]))

    def _unmade(self, shelf: ShelfId) -> bool:
        """Say whether it was decided that we make a topic, and we died before we did.

        We were alone in that configuration, and nothing was ever acknowledged in it. When our disk
        was lost meanwhile we cannot know that.
        """
        known, me = self._host.votes.known(shelf), self._host.members.me
        return known is not None and known.age == (0, 1) and known.synced(me.name, me.disk)

    def _make_home(self, shelf_id: ShelfId, level: int) -> Shelf:
        label = Label(0, level, 0, DelegateList.at_home(shelf_id.home))
        shelf = self._make(shelf_id, 0, label, start=self._host.wall)
        shelf.replica.resume()
        return shelf

    def review(self) -> None:
        """Ask again where it is due; give up what is for another broker now."""
        now = self._host.now
        self._questions = {shelf: one for shelf, one in self._questions.items() if now < one.until}
        for shelf, pending in list(self._pending.items()):
            if self._host.now >= pending.proposer.due:
                self._propose(shelf, pending)

    def _propose(self, shelf: ShelfId, pending: PendingShelf) -> None:
        host, me = self._host, self._host.members.me.name
        if not self.steady or not host.joined or host.clock.ahead:
            return
        if host.members.closest(shelf.coordinate, 1) != (me,) or shelf in self._shelves:
            self._pending.pop(shelf, None)
            return
        pending.proposer.propose(self._nothing(), self._alone(0))

    def _nothing(self) -> Config:
        """Return what comes before the first configuration of a topic: all that are known vote."""
        everyone = sorted(self._host.members.everyone(), key=lambda member: member.name)
        names = tuple(member.name for member in everyone)
        return Config(0, 0, "", (), (), names, tuple(member.disk for member in everyone))

    def on_answer(self, sender: str, shelf: ShelfId, answer: Answer) -> None:
        """A broker answers whether a topic may be new."""
        pending = self._pending.get(shelf)
        if pending is not None:
            pending.proposer.handle(sender, answer)
        question = self._questions.get(shelf)
        unknown = isinstance(answer, Promise) and answer.ballot == LOWEST and not answer.accepted
        if question is not None and unknown:
            question.silent.discard(sender)
            self._conclude(shelf, question)

    def on_decided(self, shelf_id: ShelfId, config: Config) -> None:
        """A configuration of a shelf that is not here is decided: it is new and ours, or known."""
        host, me = self._host, self._host.members.me.name
        pending = self._pending.pop(shelf_id, None)
        question = self._questions.pop(shelf_id, None)
        concerned = shelf_id.at_home or me in (*config.members, *config.voters)
        if pending is None and not concerned and host.votes.known(shelf_id) is None:
            return
        host.votes.learn(shelf_id, config)
        if pending is not None and self._unmade(shelf_id) and not host.clock.ahead:
            self._make_home(shelf_id, pending.level)
        for envelope, body in (
            *(pending.waiting.take_all() if pending is not None else ()),
            *(question.waiting.take_all() if question is not None else ()),
        ):
            if shelf_id in self._shelves:
                self._shelves[shelf_id].handle(envelope, body)
            else:
                self._pass_on(envelope, body)

    def _make(self, shelf_id: ShelfId, birth: int, label: Label, *, start: int) -> Shelf:
        """Put a shelf here, empty; it speaks from a time on."""
        record = Record(shelf_id, birth, 0, start, (TermStart(0, start),), label)
        self._host.store.save(record)
        shelf = self._shelves[shelf_id] = Shelf(self._host, record, 0)
        shelf.replica.copy.verified = True
        return shelf
