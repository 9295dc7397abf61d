"""Messages within a term: from the primary to the members, and back their acknowledgement.

The primary has one `Replicate` under way to each member; meanwhile messages gather for the next.
Each says which message comes before its first, so the member knows when one is missing, and it
comes again. What an older term left between the messages of this one was never acknowledged: the
member deletes it in the same write.

A message is *committed*, and may be acknowledged, when every copy that is in sync has it on disk,
and as many copies as the level asks. A member that has caught up counts as in sync here before that
is decided, so that it still has everything when it is.

An answer also says that the member had not gone over to another primary when it answered. Whoever
needs to know that this primary is still the one waits for the answers to a question that was sent
later than its own (`confirmed`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Decided,
    Label,
    Message,
    PublisherState,
    Replicate,
    Replicated,
)
from evenflow.overlay.replica.copy import BATCH, pause
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy

NEVER = float("-inf")
MOST_UNDER_WAY = 8
"""Unanswered `Replicate` to one member that are remembered: an answer may come late."""


@dataclass(slots=True)
class Progress:
    """How far a member is, as its primary knows."""

    last: int
    """Time of the newest message that it has written."""
    revision: int = 0
    """The newest label that it has written."""
    synced: bool = False
    """Whether it follows the term."""
    since: int = 1 << 62
    """It has everything from this time on."""
    idle: bool = False
    """Whether it pulls nothing."""
    asked: float = NEVER
    """When it was last asked to follow."""
    asks: int = 0
    """How often, since it last answered."""
    round: int = 0
    """Number of the newest `Replicate` that was sent."""
    under_way: dict[int, float] = field(default_factory=dict)
    """When each `Replicate` was sent that is not answered, oldest first."""
    confirmed: float = NEVER
    """When the newest question was sent that it has answered."""
    disk: int = 0
    """The disk on which it has all this."""


class Replication:
    """How a copy takes and gives the messages of its term."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._start = 0
        self._before: tuple[PublisherState, ...] = ()
        """As member: how far publishers were stored when the primary began to send."""
        self.members: dict[str, Progress] = {}
        """As primary: the other members."""
        self._required: set[str] = set()
        """As primary: members without whose writing nothing is committed."""
        self._rounds = 0
        self._inherited = 0
        """As primary: time up to which an earlier term may have acknowledged messages."""
        self._confirm = NEVER
        """When somebody last needed to know whether we are still primary."""

    def lead_from(self, start: int) -> None:
        """As primary: a term begins that speaks from a time on."""
        copy = self._copy
        others = [name for name in copy.config.members if name != copy.me]
        self.members = {name: self._begin(name, start - 1) for name in others}
        self._required = {name for name in others if copy.holds(name)}
        self._confirm, self._inherited = NEVER, copy.last

    def follow_from(self, start: int, before: tuple[PublisherState, ...]) -> None:
        """As member: the messages from a time on will be sent; so far publishers were stored."""
        self._copy.written, self._start, self._before = start - 1, start, before

    def stop(self) -> None:
        """We are not primary any more."""
        self.members, self._required = {}, set()

    def resync(self, name: str) -> Progress:
        """As primary: a member begins anew; all that is not committed will be sent to it."""
        self.members[name] = self._begin(name, self._copy.committed)
        return self.members[name]

    def _begin(self, name: str, last: int) -> Progress:
        return Progress(last, disk=self._copy.host.members.disk(name))

    def resync_lost(self) -> None:
        """As primary: a member that has lost its disk begins anew, and is not waited for."""
        for name, at in list(self.members.items()):
            if at.disk != self._copy.host.members.disk(name):
                self._required.discard(name)
                self.resync(name)

    # -- the primary's side ---------------------------------------------------------------------

    @property
    def label_kept(self) -> bool:
        """Whether the newest label is on as many disks as a message must be."""
        revision = self._copy.label.revision
        done = {name for name, at in self.members.items() if at.synced and at.revision >= revision}
        return self._required <= done and len(done) + 1 >= self._copy.disks

    @property
    def enough(self) -> bool:
        """Whether the members that a message needs follow."""
        synced = {name for name, at in self.members.items() if at.synced}
        return self._required <= synced and len(synced) + 1 >= self._copy.disks

    def caught_up(self) -> set[str]:
        """Return the members that have all that was acknowledged."""
        copy = self._copy
        past = max(copy.record.since, copy.label.floor)
        for name, at in self.members.items():
            whole = at.synced and at.idle and at.since <= past and at.last >= copy.committed
            if whole and at.revision >= copy.label.revision:
                self._required.add(name)
        return set(self._required)

    def confirmed(self, since: float) -> bool:
        """Say whether we were still primary at a time or later; if that is open, ask."""
        others = [name for name in self._copy.config.in_sync if name != self._copy.me]
        if all(self.members[name].confirmed >= since for name in others):
            return True
        self._confirm = max(self._confirm, since)
        self.replicate()
        return False

    @property
    def whole(self) -> bool:
        """As primary: whether all that was ever acknowledged is committed in this term, too."""
        return self._copy.committed >= self._inherited

    def append(self, messages: list[Message]) -> None:
        """Write messages; they are committed when the members have them too."""
        self._copy.write(messages)
        self._copy.last = messages[-1].time
        self.replicate()
        self.advance()

    def relabel(self, label: Label, publishers: tuple[PublisherState, ...] = ()) -> None:
        """Change the label, and take publishers over."""
        copy = self._copy
        copy.take_publishers(publishers)
        copy.update(label=replace(label, revision=copy.label.revision + 1))
        self.replicate()
        self.advance()

    def expire(self, floor: int) -> None:
        """Delete all before a time, here and at the members."""
        self._copy.expire(floor)
        self.relabel(replace(self._copy.label, floor=floor))

    def replicate(self) -> None:
        """Send each member what it lacks, one `Replicate` at a time."""
        if not self._copy.leading:
            return
        for name, at in self.members.items():
            if at.synced and self._behind(at):
                self._send(name, at)

    def _behind(self, at: Progress) -> bool:
        copy = self._copy
        if at.under_way:
            newest = at.under_way.get(at.round, NEVER)
            if copy.host.now < newest + pause(len(at.under_way)):
                return False
        lacking = at.last < copy.last or at.revision < copy.label.revision
        return lacking or at.confirmed < self._confirm

    def due(self) -> float:
        """As primary: return when something is to be sent again, if nothing happens before."""
        times = (
            at.under_way.get(at.round, NEVER) + pause(len(at.under_way))
            for at in self.members.values()
            if at.synced and (at.under_way or self._behind(at))
        )
        return min(times, default=float("inf"))

    def _send(self, name: str, at: Progress) -> None:
        copy, host = self._copy, self._copy.host
        messages = host.store.read(copy.shelf, at.last + 1, copy.last + 1, BATCH)
        label: tuple[Label, ...] = ()
        publishers: tuple[PublisherState, ...] = ()
        if at.revision < copy.label.revision:
            label, publishers = (copy.label,), copy.publishers_before(at.last + 1)
        self._rounds += 1
        at.round = self._rounds
        at.under_way[at.round] = host.now
        if len(at.under_way) > MOST_UNDER_WAY:
            del at.under_way[next(iter(at.under_way))]
        host.mail.send(
            name,
            Replicate(
                copy.shelf, copy.record.term, at.last, tuple(messages), copy.committed, label,
                publishers, at.round,
            ),
        )  # fmt: skip

    def on_replicated(self, sender: str, done: Replicated) -> None:
        """A member has written."""
        copy, at = self._copy, self.members.get(sender)
        if not copy.leading or done.term != copy.record.term or at is None or not at.synced:
            return
        if done.last > copy.last or done.revision > copy.label.revision:
            return  # we never sent that
        if done.round in at.under_way:
            # One that was repeated meanwhile counts too: else no answer ever would, once answers
            # take longer than the pause before a repeat.
            at.confirmed = max(at.confirmed, at.under_way[done.round])
            at.under_way = {n: sent for n, sent in at.under_way.items() if n > done.round}
            if done.round == at.round:
                at.last = done.last  # less than we thought, when it began anew
        at.last = max(at.last, done.last)
        at.revision = max(at.revision, done.revision)
        self.replicate()
        self.advance()

    def advance(self) -> None:
        """Commit what is on as many disks as it must be."""
        copy = self._copy
        if not copy.leading:
            return
        if self.enough:
            times = sorted((at.last for at in self.members.values() if at.synced), reverse=True)
            others = copy.disks - 1
            reached = [copy.last, *(self.members[name].last for name in self._required)]
            reached += times[others - 1 : others] if others else []
            copy.committed = max(copy.committed, min(reached))
        copy.on_progress()

    # -- the member's side ----------------------------------------------------------------------

    def on_replicate(self, sender: str, sent: Replicate) -> None:
        """Write what the primary sends."""
        copy, record = self._copy, self._copy.record
        if sent.term < copy.config.term:
            copy.host.mail.send(sender, Decided(copy.shelf, copy.config))
            return
        if copy.state is not State.FOLLOWING or sent.term != record.term:
            return
        if sender != copy.config.primary or not self._sound(sent):
            return
        if sent.previous > copy.written:
            self._answer(sent)  # what comes before it is not here: the primary begins there
            return
        fresh = [message for message in sent.messages if message.time > copy.written]
        if sent.label and sent.label[0].revision > copy.label.revision:
            self._take_label(sent.label[0], sent.publishers)
        if fresh:
            self._replace(copy.written + 1, fresh)
            copy.written = fresh[-1].time
            copy.last = max(copy.last, copy.written)
        copy.committed = max(copy.committed, min(sent.committed, copy.written))
        self._answer(sent)

    def _answer(self, sent: Replicate) -> None:
        """Say what is written."""
        copy = self._copy
        done = Replicated(
            copy.shelf, copy.record.term, copy.written, copy.label.revision, sent.round
        )
        copy.host.mail.send(copy.config.primary, done)

    def _sound(self, sent: Replicate) -> bool:
        """Say whether times rise and are not absurd; count it when not."""
        host, times = self._copy.host, [message.time for message in sent.messages]
        rising = all(early < late for early, late in pairwise(times))
        if not rising or (times and times[0] <= sent.previous):
            host.counters.damaged += 1
            return False
        if times and not host.clock.plausible(times[-1], 2):
            host.counters.skewed += 1
            return False
        return True

    def _take_label(self, label: Label, publishers: tuple[PublisherState, ...]) -> None:
        copy = self._copy
        if label.floor > copy.label.floor:
            copy.expire(label.floor)
        copy.take_publishers(publishers)
        copy.update(label=label)
        copy.prune()

    def _replace(self, start: int, fresh: list[Message]) -> None:
        """Write messages; in the same write goes what an older term left in their place.

        That is what lies between them, another message of the same time, and what was taken from a
        publisher under another time than the primary says now.
        """
        copy = self._copy
        end = fresh[-1].time + 1
        told = set(map(_identity, fresh))
        if copy.last >= start:
            newest = {message.publisher: message.sequence for message in fresh}
            doomed = [
                message
                for message in copy.between(start, copy.last + 1)
                if (message.time < end and _identity(message) not in told)
                or (message.time >= end and message.sequence <= newest.get(message.publisher, 0))
            ]
            copy.unwrite(doomed, self._start, self._before)
        copy.write(fresh)


def _identity(message: Message) -> tuple[int, int, int]:
    return message.time, message.publisher, message.sequence
