"""One copy of a shelf: who leads, who follows, and what may be acknowledged (section III-C).

A shelf lies on the two living brokers closest to its coordinate (one at level 1). They agree on a
*term*: one is primary, the other secondary. The primary stamps messages with rising times, writes
them, sends them on, and acknowledges what is on both disks. A new term begins when the brokers that
should have the shelf are no longer those that do. What must always hold:

1. *One voice a term.* A copy follows a term only when it is newer than every one it followed, and
   only when its primary had agreed on the newest term this copy knows (``base``). So an old primary
   that was stopped and continues can have nothing acknowledged.
2. *Acknowledged is kept.* A term speaks from the time after the last that its primary knows to be
   on both disks. All from there on is sent to the new secondary. Nobody deletes what is not
   replaced in the same write, unless two others have it.
3. *Unsure is silent.* A broker that returns, or was taken for dead, asks around before it leads or
   follows again; a copy that is older than another's waits for that one's primary.
4. *Copies catch up.* A copy that lacks messages of earlier terms pulls them from one that has them.
   A primary that lacks some, and knows who has them, answers no reader about those times.

At level 2 the brokers that replace a dead one get what is new; at level 3 also what is old: the
third copy (section IV-B). A broker that joins or returns gets all at any level. So a returning
broker catches up with what it missed; the paper lets the secondary become a delegate for that time
instead, which avoids the copy and leaves the delegate lists in pieces.

A `Replica` decides on terms. Its parts share one `Copy`: `Replication` carries the messages of a
term, `CatchUp` those from before, and `Inquiry` finds out who else has the shelf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Check,
    Dismissed,
    Known,
    Lead,
    Refused,
    Sync,
    Synced,
)
from evenflow.overlay.replica.catch_up import CatchUp
from evenflow.overlay.replica.copy import RETRY_S, Copy
from evenflow.overlay.replica.inquiry import Inquiry
from evenflow.overlay.replica.record import Record, divergence
from evenflow.overlay.replica.replication import Replication
from evenflow.overlay.replica.states import State, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.ports import ReplicaHost

CHECK_S = 2.0
"""How often a follower makes sure that it is needed; sooner when it seems not to be."""


class Replica:
    """One broker's copy of a shelf, which leads or follows.

    Args:
        host: The broker.
        record: What is on disk.
        committed: Time up to which all is on both disks, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, host: ReplicaHost, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        self.host = host
        self.copy = Copy(host, record, committed, on_progress)
        self.replication = Replication(self.copy)
        self.catch_up = CatchUp(self.copy)
        self.inquiry = Inquiry(self.copy)
        self._share_past = True
        """As primary: whether the secondary is to have the messages of earlier terms."""
        self._asked = -1.0

    @property
    def settled(self) -> bool:
        """Whether this copy leads and every copy that the level asks for is made."""
        return self.copy.leading and self.catch_up.complete

    def change_state(self, trigger: Trigger) -> None:
        """Change the state as the table says; what was asked while unsure is void."""
        if trigger is not Trigger.AGREE:
            self.inquiry.cancel()
        self.copy.change_state(trigger)

    def doubt(self) -> None:
        """Become unsure: others may have gone on without us."""
        self.catch_up.stop()
        self.replication.stop()
        self.inquiry.restart()
        self.change_state(Trigger.DOUBT)

    # -- what is due ----------------------------------------------------------------------------

    def review(self) -> None:
        """Do what is due; call it after every change of the members, and now and then."""
        state = self.copy.state
        if state is State.UNSURE:
            if self.inquiry.ask() and self.copy.label.level == 1:
                self.begin()
        elif state is State.FOLLOWING:
            self._review_following()
        else:
            self._review_leading()
        self.catch_up.pull()

    def _review_following(self) -> None:
        copy = self.copy
        if not self.host.members.alive(copy.record.primary):
            self.begin()
        elif self.host.now >= copy.next_check:
            unneeded = copy.me not in copy.wanted()
            copy.next_check = self.host.now + (RETRY_S if unneeded else CHECK_S)
            self._check(copy.record.primary)

    def _check(self, node: str) -> None:
        """Ask a broker whether our copy is needed."""
        record, unsure = self.copy.record, self.copy.state is State.UNSURE
        self.host.mail.send(
            node,
            Check(record.shelf, record.confirmed, record.since, unsure, record.agreed_primary),
        )

    def _review_leading(self) -> None:
        copy, partner = self.copy, self._desired_partner()
        closest = copy.wanted()[0] == copy.me
        due = self.host.now >= self._asked + RETRY_S
        if partner is None and copy.label.level > 1:
            if copy.state is not State.PREPARING or copy.record.secondary:
                self.begin()
        elif copy.record.secondary != (partner or ""):
            self.begin()
        elif copy.state is State.YIELDING and closest:
            self.begin()  # the other is no longer closer
        elif copy.state is State.PREPARING or copy.state is State.YIELDING:
            if due:
                self._ask_partner()
        else:
            if self.settled and not closest and copy.committed == copy.last:
                self.change_state(Trigger.YIELD)
                self._ask_partner()
            elif not self.catch_up.partner_whole and due:
                self._ask_partner()  # has it caught up by now?
            self.replication.replicate()

    def _desired_partner(self) -> str | None:
        """Return who should be our secondary, None when nobody."""
        wanted, me = self.copy.wanted(), self.copy.me
        if wanted == (me,):
            return None
        return next(name for name in wanted if name != me)

    # -- terms ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a term as primary."""
        copy, old, alive = self.copy, self.copy.record, self.host.members.alive
        other = old.secondary if old.primary == copy.me else old.primary
        partner = self._desired_partner() or ""
        term = max(old.term + 1, self.host.wall // 1_000_000)
        start = max(copy.committed + 1, old.terms[-1].start)
        former = other if alive(other) or not old.former else old.former
        copy.record = replace(
            old,
            term=term,
            primary=copy.me,
            secondary=partner,
            former=former if former != copy.me else "",
            terms=old.with_term(term, start),
            label=replace(old.label, revision=old.label.revision + 1),
        )
        self._share_past = copy.label.level != 2 or not other or alive(other) or other == partner
        self.catch_up.lead()
        self.replication.lead_from(start)
        self.change_state(Trigger.BEGIN)
        if partner:
            self._ask_partner()
        elif copy.label.level == 1:
            self._agree(whole=True)
        self.host.store.save(copy.record)

    def _ask_partner(self) -> None:
        """Ask the secondary to follow our term, or to begin one of its own."""
        self._asked = self.host.now
        copy, record = self.copy, self.copy.record
        if copy.state is State.YIELDING:
            self.host.mail.send(record.secondary, Lead(copy.shelf, record.term))
        elif record.secondary:
            start = record.terms[-1].start
            sync = Sync(
                copy.shelf, record.term, record.confirmed, self._share_past, record.since,
                record.former, record.terms, record.label, copy.publishers_before(start),
            )  # fmt: skip
            self.host.mail.send(record.secondary, sync)

    def on_sync(self, sender: str, sync: Sync) -> None:
        """Another begins a term with us as secondary."""
        copy, old = self.copy, self.copy.record
        if sync.term == old.term == old.confirmed and sender == old.primary != copy.me:
            self.catch_up.report()  # our answer was lost
            return
        if sync.term <= old.term or sync.base < old.confirmed:
            self.host.mail.send(sender, Refused(copy.shelf, old.term, old.confirmed))
            return
        since, start = old.since, sync.terms[-1].start
        self.catch_up.stop()
        if not old.term or sync.base > old.confirmed:
            # We missed terms. Two others have all that was acknowledged in them.
            wrong = divergence(sync.terms, old.confirmed) if old.term else 0
            copy.truncate(wrong, sync.publishers)
            since = self.catch_up.rejoin(sender, wrong, start)
        copy.record = Record(
            copy.shelf, sync.term, sync.term, sender, copy.me, sync.former, since, sync.terms,
            sync.label,
        )  # fmt: skip
        self.host.store.save(copy.record)
        self.replication.follow_from(start)
        copy.committed = max(copy.committed, start - 1)
        copy.last = max(copy.last, copy.committed)
        copy.next_check = self.host.now + CHECK_S
        copy.verified = True
        self.change_state(Trigger.FOLLOW)
        self.catch_up.follow(sync.since if sync.catch_up else since)

    def on_synced(self, sender: str, synced: Synced) -> None:
        """The secondary agrees, or has caught up further."""
        record = self.copy.record
        if synced.term != record.term or sender != record.secondary:
            return
        if self.copy.state is State.PREPARING:
            self._agree(whole=synced.whole)
        elif self.copy.leading:
            self.catch_up.partner_whole = self.catch_up.partner_whole or synced.whole
        self.catch_up.on_partner_since(synced.since)
        self.review()

    def _agree(self, *, whole: bool) -> None:
        """Both copies agree on our term."""
        self.copy.update(confirmed=self.copy.record.term)
        self.catch_up.partner_whole = whole
        self.change_state(Trigger.AGREE)
        self.replication.replicate()
        self.replication.advance()

    def on_refused(self, sender: str, refused: Refused) -> None:
        """The one we asked knows a newer term, or has no copy."""
        state, record = self.copy.state, self.copy.record
        if state is State.FOLLOWING:
            if sender == record.primary and not refused.confirmed:
                self.begin()  # our primary lost its disk: we are all there is
        elif state is not State.UNSURE and sender == record.secondary:
            if refused.confirmed > record.confirmed:
                self.doubt()
            elif state is not State.PREPARING and not refused.confirmed:
                self.begin()  # our secondary lost its disk
            elif state is State.PREPARING and refused.term >= record.term:
                self.copy.record = replace(record, term=refused.term)
                self.begin()

    def on_lead(self, sender: str, lead: Lead) -> None:
        """Our primary wants us to lead."""
        copy, record = self.copy, self.copy.record
        current = copy.state is State.FOLLOWING and lead.term == record.term
        if current and sender == record.primary and self.catch_up.fetching is None:
            self.begin()
        elif self.settled and lead.term < record.term and sender != record.secondary:
            self.host.mail.send(sender, Dismissed(copy.shelf, record.confirmed))

    # -- who else has the shelf -----------------------------------------------------------------

    def on_known(self, sender: str, known: Known) -> None:
        """Another says how new its copy is."""
        copy = self.copy
        if copy.leading and sender == copy.record.former and self.catch_up.lacking:
            self.catch_up.on_former_known(sender, known)
        if copy.state is State.UNSURE and self.inquiry.on_known(sender, known):
            leader = self.inquiry.leader(sender)
            if leader:
                self._check(leader)
            else:
                self.begin()

    def on_check(self, sender: str, check: Check) -> str:
        """A holder asks whether it is needed; return to whom the question goes instead."""
        copy = self.copy
        if check.primary == copy.me:
            copy.note_agreed(check.confirmed)
        record = copy.record
        ours = record.primary == copy.me and sender == record.secondary
        if ours and check.unsure and copy.state is State.YIELDING:
            self.begin()  # it cannot lead: it waits for us
            return ""
        if not copy.leading:
            newer = record.confirmed > check.confirmed and record.primary != copy.me
            return record.primary if newer and record.primary != sender else ""
        if sender == record.secondary:
            if check.unsure:
                self.begin()  # it returned: let it follow a new term
            return ""
        if check.confirmed < record.confirmed:
            self._on_old_copy(sender, check)
        return ""

    def _on_old_copy(self, holder: str, check: Check) -> None:
        """Another broker has an old copy: pull what we lack from it, or let it be deleted."""
        record = self.copy.record
        end = min(record.since, divergence(record.terms, check.confirmed))
        lacking = check.since < end and record.since > record.label.floor
        if lacking and self.catch_up.fetching is None:
            self.catch_up.fetch_from(holder, check.since, end)
        elif self.settled:
            self.host.mail.send(holder, Dismissed(record.shelf, record.confirmed))

    def may_delete(self, sender: str, dismissed: Dismissed) -> bool:
        """Say whether we may delete our copy, as another broker says."""
        state, record = self.copy.state, self.copy.record
        if state not in (State.UNSURE, State.FOLLOWING, State.YIELDING):
            return False
        ours = sender == record.primary and state is State.FOLLOWING
        return dismissed.term > record.confirmed or (ours and dismissed.term == record.confirmed)
