"""One copy of a shelf: who leads, who follows, and what may be acknowledged (section III-C).

A shelf has a *configuration*: a primary, the members that are sent every message, and which of them
are in sync, under a term. The primary stamps messages with rising times, writes them, sends them
on, and acknowledges what every copy in sync has on disk, and as many copies as the level asks. A
new configuration is decided when the brokers that should have the shelf are no longer those that
do. What must always hold:

1. *One after the other.* Which configuration follows is decided once, by the voters of the one
   before (`votes`), and written down by them and by all members.
2. *Only who has everything leads.* A copy proposes what follows only if it is in sync, and then
   leads itself. What was acknowledged is on its disk, for nothing is acknowledged without it.
3. *In sync is earned.* A copy joins those in sync when it has all that was acknowledged, and from
   then on nothing is acknowledged without it; it leaves by a decision. That is so on one disk: a
   broker that lost it begins anew, under whatever name it was in sync.
4. *Nothing is deleted early.* A copy in sync deletes what is not acknowledged only together with
   the write that replaces it. A copy that is no member is deleted when all members have what they
   should have.

When no copy in sync is there, or too few voters, the shelf waits, and says so.

At level 2 the broker that stands in for a dead one gets what is new; at level 3 also what is old:
the third copy (section IV-B). A broker that belongs here, joins or returns gets all at any level.

A `Replica` decides on configurations. Its parts share one `Copy`: `Replication` carries the
messages of a term, `CatchUp` those from before, the `Proposer` asks the voters, and by `Checking`
a copy hears of what was decided without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Check,
    Decided,
    Dismissed,
    Lead,
    Sync,
    Synced,
)
from evenflow.overlay.replica.catch_up import CatchUp
from evenflow.overlay.replica.checking import CHECK_S, Checking
from evenflow.overlay.replica.copy import RETRY_S, Copy, pause
from evenflow.overlay.replica.plan import next_config, same
from evenflow.overlay.replica.proposer import Proposer
from evenflow.overlay.replica.record import Record, divergence
from evenflow.overlay.replica.replication import Replication
from evenflow.overlay.replica.states import State, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.ports import ReplicaHost
    from evenflow.overlay.protocol.messages import Config, Label


class Replica:
    """One broker's copy of a shelf, which leads or follows.

    Args:
        host: The broker.
        record: What is on disk.
        committed: Time up to which all may be acknowledged, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, host: ReplicaHost, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        self.host = host
        self.copy = Copy(host, record, committed, on_progress)
        self.replication = Replication(self.copy)
        self.catch_up = CatchUp(self.copy)
        self.checking = Checking(self.copy)
        self.proposer = Proposer(host, record.shelf, self.on_config)
        self._told_to_lead = -1.0
        self._open = True
        """As primary: whether another configuration is wanted, or another primary."""

    @property
    def settled(self) -> bool:
        """Whether this copy leads and every copy that the level asks for is made."""
        copy = self.copy
        return (
            copy.leading
            and self.replication.enough
            and not self.proposer.busy
            and copy.wanted()[0] == copy.me
            and same(copy.config, self._next())
            and all(self._done(name) for name in copy.config.members)
        )

    @property
    def waiting(self) -> str:
        """Why nothing can be acknowledged for now; empty: it can."""
        copy, alive = self.copy, self.host.members.alive
        topic, config = copy.shelf.topic, copy.config
        if copy.leading:
            if self.replication.enough and all(map(alive, config.in_sync)):
                return ""
            return f"{topic!r} waits for a second copy: not enough brokers follow {copy.me}"
        if copy.state is State.FOLLOWING and alive(config.primary):
            return ""
        names = ", ".join(config.in_sync)
        return f"{topic!r} waits for a copy that is in sync ({names}) and enough of its voters"

    def _done(self, name: str) -> bool:
        """Say whether a member has as much as it is to have."""
        copy, at = self.copy, self.replication.members.get(name)
        if at is None:
            return name == copy.me
        return at.synced and at.idle and (copy.holds(name) or copy.stand_in(name))

    # -- what is due ----------------------------------------------------------------------------

    def due(self) -> float:
        """Return when to review it again, if nothing happens before; right after a review."""
        copy, at_once = self.copy, self.host.now
        if not copy.leading:
            busy = self.proposer.busy or self.catch_up.fetching is not None
            return copy.next_check if copy.primary_lives and not busy else at_once
        if self.proposer.busy or self._open:
            return at_once
        unready = [at for at in self.replication.members.values() if not (at.synced and at.idle)]
        asking = (at.asked + pause(at.asks) for at in unready)
        return min(self.replication.due(), copy.next_check, *asking)

    def review(self) -> None:
        """Do what is due; call it after every change of the members, and now and then."""
        copy = self.copy
        if copy.leading:
            self._review_leading()
            return
        if not copy.primary_lives:
            if self.host.steady or copy.state is State.FOLLOWING:
                self._take_over()
        elif self.proposer.busy:
            self._take_over()  # it was begun when the primary was gone, or asked us to lead
        self.checking.review()
        self.catch_up.pull()

    def _take_over(self) -> None:
        """Try to lead, if we are in sync."""
        copy = self.copy
        if copy.holds(copy.me):
            self.proposer.propose(copy.config, self._next())

    def _next(self) -> Config:
        caught_up = self.replication.caught_up() if self.copy.leading else set()
        return next_config(self.copy, caught_up, self._done)

    def _review_leading(self) -> None:
        copy, now = self.copy, self.host.now
        self.replication.resync_lost()
        wish = self._next()
        self._open = not same(copy.config, wish)
        if self._open:
            self.proposer.propose(copy.config, wish)
        elif self.proposer.busy:
            self.proposer.propose(copy.config, wish)  # what was begun is brought to an end
        if not copy.leading:
            return
        for name, at in list(self.replication.members.items()):
            if not (at.synced and at.idle) and now >= at.asked + pause(at.asks):
                self._sync(name)
        closest = copy.wanted()[0]
        self._open = self._open or closest != copy.me
        ready = not self.proposer.busy and copy.committed == copy.last
        ready = ready and closest in copy.config.in_sync and all(map(self._done, copy.wanted()))
        if closest != copy.me and ready and now >= self._told_to_lead + RETRY_S:
            self._told_to_lead = now
            self.host.mail.send(closest, Lead(copy.shelf, copy.record.term))
        if now >= copy.next_check:
            self.checking.postpone()
            self.replication.confirmed(now)  # a decision that passed us by is heard of in time
        self.replication.replicate()

    # -- configurations -------------------------------------------------------------------------

    def on_config(self, config: Config) -> None:
        """A configuration is decided."""
        copy = self.copy
        if config.age <= copy.config.age:
            return
        self.host.votes.learn(copy.shelf, config)
        copy.config, copy.changed = config, self.host.now
        ours = config.primary == copy.me and copy.holds(copy.me)
        if ours and config.birth == copy.record.birth:
            self._lead()
            return
        self.proposer.stop()
        if copy.state is not State.UNSURE:
            self.doubt()
        copy.next_check = self.host.now

    def resume(self) -> None:
        """Lead the known configuration at once, and have members: the shelf was made just now."""
        self._lead()
        self.review()

    def doubt(self) -> None:
        """Become unsure: another leads, or we do not know."""
        self.catch_up.stop()
        self.replication.stop()
        self.copy.change_state(Trigger.DOUBT)

    def _lead(self) -> None:
        """Begin the term of a configuration in which we are primary."""
        copy, record = self.copy, self.copy.record
        start = max(copy.committed + 1, record.terms[-1].start)
        copy.update(
            term=copy.config.term,
            terms=record.with_term(copy.config.term, start),
            label=_revised(record),
        )
        self.catch_up.stop()
        self.replication.lead_from(start)
        copy.change_state(Trigger.LEAD)
        for name in self.replication.members:
            self._sync(name)
        self.replication.advance()

    def _sync(self, name: str) -> None:
        """Ask a member to follow, or how far it is."""
        copy, record = self.copy, self.copy.record
        at = self.replication.members[name]
        at.asked, at.asks = self.host.now, at.asks + 1
        sync = Sync(
            copy.shelf, copy.config, not copy.stand_in(name), record.since, at.last + 1,
            record.terms, record.label, copy.publishers_before(at.last + 1),
        )  # fmt: skip
        self.host.mail.send(name, sync)

    def on_sync(self, sender: str, sync: Sync) -> None:
        """The primary of a configuration begins a term with us, or asks how far we are."""
        copy, old = self.copy, self.copy.record
        if sync.config.age < copy.config.age:
            self.host.mail.send(sender, Decided(copy.shelf, copy.config))
            return
        if sender != sync.config.primary or copy.me not in sync.config.members:
            return
        self.on_config(sync.config)
        if copy.state is State.FOLLOWING and old.term == sync.config.term:
            self.catch_up.report()  # our answer was lost
            return
        self._follow(sync)

    def _follow(self, sync: Sync) -> None:
        copy, old = self.copy, self.copy.record
        since, start = old.since, max(1, sync.start)
        self.catch_up.stop()
        if not copy.holds(copy.me):
            new = old.birth != sync.config.birth or not old.term
            missed = sync.config.term > old.term
            changed = divergence(sync.terms, old.term) if missed else start
            wrong = 0 if new else min(changed, copy.stored_until + 1, start)
            if new or missed:  # in the same term, what we said that we have must stay true
                copy.truncate(wrong, sync.publishers)
            since = self.catch_up.rejoin(wrong, start)
        label = sync.label
        if (old.birth, old.term) == sync.config.age and old.label.revision > label.revision:
            label = old.label  # it was sent before we returned, and came late
        if label.floor > old.label.floor:
            self.host.store.remove(copy.shelf, 0, label.floor)  # it has expired while we were away
        copy.record = Record(
            copy.shelf, sync.config.birth, sync.config.term, since, sync.terms, label
        )
        self.host.store.save(copy.record)
        self.replication.stop()
        self.replication.follow_from(start, sync.publishers)
        copy.committed = max(copy.committed, start - 1)
        copy.last = max(copy.last, copy.committed)
        copy.next_check = self.host.now + CHECK_S
        copy.verified = True
        copy.change_state(Trigger.FOLLOW)
        self.catch_up.follow(sync.since if sync.catch_up else since)

    def on_synced(self, sender: str, synced: Synced) -> None:
        """A member follows, or has caught up further."""
        at = self.replication.members.get(sender)
        if not self.copy.leading or synced.term != self.copy.record.term or at is None:
            return
        at.last = synced.last  # less than we thought, when it began anew
        at.synced, at.since, at.idle, at.asks = True, synced.since, synced.whole, 0
        self.replication.replicate()
        self.replication.advance()
        self.review()

    def on_refused(self, sender: str) -> None:
        """Our primary has no copy: its disk was lost."""
        copy = self.copy
        if not copy.leading and sender == copy.config.primary:
            if copy.state is State.FOLLOWING:
                self.doubt()
            self._take_over()

    def on_lead(self, sender: str, lead: Lead) -> None:
        """Our primary wants us to lead."""
        copy = self.copy
        current = copy.state is State.FOLLOWING and lead.term == copy.record.term
        if current and sender == copy.config.primary:
            self._take_over()
        elif lead.term < copy.config.term:
            self.host.mail.send(sender, Decided(copy.shelf, copy.config))

    # -- other copies ---------------------------------------------------------------------------

    def on_check(self, sender: str, check: Check) -> None:
        """A holder asks whether it is needed."""
        copy = self.copy
        self.on_config(check.config)
        if check.config.age < copy.config.age:
            self.host.mail.send(sender, Decided(copy.shelf, copy.config))
        if not copy.leading:
            return
        if sender not in copy.config.members:
            if self.settled:
                self.host.mail.send(sender, Dismissed(copy.shelf, copy.config))
        elif check.unsure:
            self.replication.resync(sender)
            self._sync(sender)

    def may_delete(self, sender: str, dismissed: Dismissed) -> bool:
        """Say whether we may delete our copy, as another broker says."""
        copy, config = self.copy, dismissed.config
        if config.ended:
            return config.age >= copy.config.age
        if sender != config.primary or copy.me in config.members:
            return False
        self.on_config(config)
        return config.age == copy.config.age


def _revised(record: Record) -> Label:
    """Return the label under a higher number, so that every member gets it in the new term."""
    return replace(record.label, revision=record.label.revision + 1)
