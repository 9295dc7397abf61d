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
4. *History follows.* Who lacks the messages of earlier terms pulls them from whoever has them. A
   primary that lacks some, and knows who has them, answers no question about those times.

At level 2 the brokers that replace a dead one get what is new; at level 3 also the history: the
third copy (section IV-B). A broker that joins or returns gets all at any level. So a returning
broker catches up with what it missed; the paper lets the secondary become a delegate for that time
instead, which avoids the copy and leaves the delegate lists in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import (
    Check,
    Dismissed,
    Inquire,
    Known,
    Lead,
    Refused,
    Sync,
    Synced,
)
from evenflow.overlay.replica.catch_up import Fetching, History
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.record import Record, divergence
from evenflow.overlay.replica.states import State, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.replica.copy import Office

CHECK_S = 2.0
"""How often a follower makes sure that it is needed; sooner when it seems not to be."""
STRANGER_S = 10.0
"""How long a returning broker waits to hear of those it shared a shelf with."""
AROUND = 6
"""Brokers that are asked by one that is unsure: the closest so many."""


@dataclass(slots=True)
class Inquiry:
    """A round of asking who has a shelf."""

    waiting: set[str]
    asked: float
    newest: int = 0
    """Newest confirmed term that was named."""
    primary: str = ""
    """Who leads in it."""
    same: str = ""
    """Who leads in our own newest term, as another says."""


class Replica(History):
    """One broker's copy of a shelf, which leads or follows.

    Args:
        office: The broker.
        record: What is on disk.
        committed: Time up to which all is on both disks, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, office: Office, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        super().__init__(office, record, committed, on_progress)
        self._inquiry: Inquiry | None = None
        self._copy = True
        """As primary: whether the secondary is to have the history."""
        self._asked = -1.0
        self._doubted = office.now

    def turn(self, turn: Turn) -> None:
        """Change the state as the table says; what was asked while unsure is void."""
        if turn is not Turn.AGREE:
            self._inquiry = None
        super().turn(turn)

    def doubt(self) -> None:
        """Become unsure."""
        self._fetching = None
        self._sent = -1.0
        self._doubted = self.office.now
        self.turn(Turn.DOUBT)

    def review(self) -> None:
        """Do what is due; call it after every change of the members, and now and then."""
        if self.state is State.UNSURE:
            self._inquire()
        elif self.state is State.FOLLOWING:
            self._review_following()
        else:
            self._review_leading()
        self._pull()

    def _review_following(self) -> None:
        if not self.office.members.alive(self.record.primary):
            self.begin()
        elif self.office.now >= self._next_check:
            unneeded = self.me not in self.wanted()
            self._next_check = self.office.now + (RETRY_S if unneeded else CHECK_S)
            self._check(self.record.primary)

    def _check(self, node: str) -> None:
        record = self.record
        unsure = self.state is State.UNSURE
        self.office.tell(
            node, Check(self.shelf, record.confirmed, record.since, unsure, record.agreed_primary)
        )

    def _review_leading(self) -> None:
        partner = self._desired()
        if partner is None and self.label.level > 1:
            if self.state is not State.PREPARING or self.record.secondary:
                self.begin()
        elif self.record.secondary != (partner or ""):
            self.begin()
        elif self.state is State.YIELDING and self.wanted()[0] == self.me:
            self.begin()  # the other is no longer closer
        elif self.state is State.PREPARING or self.state is State.YIELDING:
            if self.office.now >= self._asked + RETRY_S:
                self._ask_partner()
        else:
            if self.settled and self.wanted()[0] != self.me and self.committed == self.last:
                self.turn(Turn.YIELD)
                self._ask_partner()
            elif not self._partner_whole and self.office.now >= self._asked + RETRY_S:
                self._ask_partner()  # has it fetched the history by now?
            self.replicate()

    def _desired(self) -> str | None:
        """Return who should be our secondary, None when nobody."""
        wanted = self.wanted()
        if wanted == (self.me,):
            return None
        return next(name for name in wanted if name != self.me)

    def begin(self) -> None:
        """Begin a term as primary."""
        old, members = self.record, self.office.members
        other = old.secondary if old.primary == self.me else old.primary
        partner = self._desired() or ""
        term = max(old.term + 1, self.office.wall // 1_000_000)
        start = max(self.committed + 1, old.epochs[-1].start)
        former = other if members.alive(other) or not old.former else old.former
        self.record = replace(
            old,
            term=term,
            primary=self.me,
            secondary=partner,
            former=former if former != self.me else "",
            epochs=old.with_epoch(term, start),
            label=replace(old.label, revision=old.label.revision + 1),
        )
        self._copy = self.label.level != 2 or not other or members.alive(other) or other == partner
        self._restart_history()
        self._restart_stream(start)
        self.turn(Turn.BEGIN)
        if partner:
            self._ask_partner()
        elif self.label.level == 1:
            self._agree(whole=True)
        self.office.store.save(self.record)

    def _ask_partner(self) -> None:
        self._asked = self.office.now
        record = self.record
        if self.state is State.YIELDING:
            self.office.tell(record.secondary, Lead(self.shelf, record.term))
        elif record.secondary:
            start = record.epochs[-1].start
            sync = Sync(
                self.shelf, record.term, record.confirmed, self._copy, record.since, record.former,
                record.epochs, record.label, self._positions_before(start),
            )  # fmt: skip
            self.office.tell(record.secondary, sync)

    def on_sync(self, sender: str, sync: Sync) -> None:
        """Another begins a term with us as secondary."""
        old = self.record
        if sync.term == old.term == old.confirmed and sender == old.primary != self.me:
            self._say_synced()  # our answer was lost
            return
        if sync.term <= old.term or sync.base < old.confirmed:
            self.office.tell(sender, Refused(self.shelf, old.term, old.confirmed))
            return
        since, start = old.since, sync.epochs[-1].start
        self._fetching = None
        if not old.term or sync.base > old.confirmed:
            since = self._catch_up(sender, sync)
        self._goal = sync.since if sync.copy else since
        self.record = Record(
            self.shelf, sync.term, sync.term, sender, self.me, sync.former, since, sync.epochs,
            sync.label,
        )  # fmt: skip
        self.office.store.save(self.record)
        self._live = start - 1
        self.committed = max(self.committed, start - 1)
        self.last = max(self.last, self.committed)
        self._next_check = self.office.now + CHECK_S
        self.verified = True
        self.turn(Turn.FOLLOW)
        self._want_goal()
        self._say_synced()
        self._pull()

    def _catch_up(self, sender: str, sync: Sync) -> int:
        """Drop what terms without us made wrong; return from when on we hold everything."""
        old, store, start = self.record, self.office.store, sync.epochs[-1].start
        wrong = divergence(sync.epochs, old.confirmed) if old.term else 0
        # Two others have all that was acknowledged in those terms.
        store.remove(self.shelf, wrong, None)
        self.positions = {position.publisher: position for position in sync.positions}
        store.put_positions(self.shelf, sync.positions, anew=True)
        self.last = store.last(self.shelf)
        if old.since >= wrong:
            return start
        if wrong < start:
            self._fetching = Fetching(sender, wrong, start, old.since)
            return start
        return old.since

    def on_synced(self, sender: str, synced: Synced) -> None:
        """The secondary agrees, or has more of the history."""
        if synced.term != self.record.term or sender != self.record.secondary:
            return
        if self.state is State.PREPARING:
            self._agree(whole=synced.whole)
        elif self.leading:
            self._partner_whole = self._partner_whole or synced.whole
        self._partner_since = synced.since
        self._compare_history()
        self.review()

    def _agree(self, *, whole: bool) -> None:
        self.record = replace(self.record, confirmed=self.record.term)
        self.office.store.save(self.record)
        self._partner_whole = whole
        self.turn(Turn.AGREE)
        self.replicate()
        self._advance()

    def on_refused(self, sender: str, refused: Refused) -> None:
        """The one we asked knows a newer term, or has no copy."""
        record = self.record
        if self.state is State.FOLLOWING:
            if sender == record.primary and not refused.confirmed:
                self.begin()  # our primary lost its disk: we are all there is
        elif self.state is not State.UNSURE and sender == record.secondary:
            if refused.confirmed > record.confirmed:
                self.doubt()
            elif self.state is not State.PREPARING and not refused.confirmed:
                self.begin()  # our secondary lost its disk
            elif self.state is State.PREPARING and refused.term >= record.term:
                self.record = replace(record, term=refused.term)
                self.begin()

    def on_lead(self, sender: str, lead: Lead) -> None:
        """Our primary wants us to lead."""
        current = self.state is State.FOLLOWING and lead.term == self.record.term
        if current and sender == self.record.primary and self._fetching is None:
            self.begin()
        elif self.settled and lead.term < self.record.term and sender != self.record.secondary:
            self.office.tell(sender, Dismissed(self.shelf, self.record.confirmed))

    def on_check(self, sender: str, check: Check) -> str:
        """A holder asks whether it is needed; return to whom the question goes instead."""
        if check.primary == self.me:
            self._note_agreed(check.confirmed)
        record = self.record
        ours = record.primary == self.me and sender == record.secondary
        if ours and check.unsure and self.state is State.YIELDING:
            self.begin()  # it cannot lead: it waits for us
            return ""
        if not self.leading:
            newer = record.confirmed > check.confirmed and record.primary != self.me
            return record.primary if newer and record.primary != sender else ""
        if sender == record.secondary:
            if check.unsure:
                self.begin()  # it returned: let it follow a new term
            return ""
        if check.confirmed >= record.confirmed:
            return ""
        end = min(record.since, divergence(record.epochs, check.confirmed))
        if check.since < end and self._fetching is None and record.since > self.label.floor:
            self._fetch_from(sender, check.since, end)
        elif self.settled:
            self.office.tell(sender, Dismissed(self.shelf, record.confirmed))
        return ""

    def dismissed_by(self, sender: str, dismissed: Dismissed) -> bool:
        """Say whether we may delete our copy."""
        if self.state not in (State.UNSURE, State.FOLLOWING, State.YIELDING):
            return False
        ours = sender == self.record.primary and self.state is State.FOLLOWING
        return dismissed.term > self.record.confirmed or (
            ours and dismissed.term == self.record.confirmed
        )

    def _inquire(self) -> None:
        """Ask around, and decide when all have answered."""
        members, inquiry = self.office.members, self._inquiry
        others = {self.record.primary, self.record.secondary, self.record.former} - {"", self.me}
        stranger = any(members.get(name) is None for name in others)
        if not self.office.steady or (stranger and self.office.now < self._doubted + STRANGER_S):
            return  # we have just started, and do not know yet who else is there
        if inquiry is None or self.office.now >= inquiry.asked + RETRY_S:
            around = others | set(members.closest(self.shelf.coordinate, AROUND))
            around = {name for name in around if name != self.me and members.alive(name)}
            self._inquiry = Inquiry(around, self.office.now)
            for name in sorted(around):
                self.office.tell(name, Inquire(self.shelf))
            if not around and self.label.level == 1:
                self.begin()

    def on_known(self, sender: str, known: Known) -> None:
        """Another says how new its copy is."""
        inquiry = self._inquiry
        if self.leading and sender == self.record.former and self.lacks_history:
            self._ask_former(sender, known)
        if self.state is not State.UNSURE or inquiry is None or sender not in inquiry.waiting:
            return
        inquiry.waiting.discard(sender)
        own = known.primary == self.me and self._note_agreed(known.confirmed)
        if not own and known.confirmed > max(inquiry.newest, self.record.confirmed):
            inquiry.newest, inquiry.primary = known.confirmed, known.primary
        elif known.confirmed == self.record.confirmed and known.primary:
            inquiry.same = known.primary
        if not inquiry.waiting:
            self._decide(inquiry, sender)

    def _note_agreed(self, term: int) -> bool:
        """Another agreed to a term that we began, and perhaps we never heard of it."""
        news = self.record.confirmed < term <= self.record.term and not self.leading
        if news:
            self.record = replace(self.record, confirmed=term)
        return news

    def _decide(self, inquiry: Inquiry, answering: str) -> None:
        """All have answered: wait for a newer primary, or for our own, or lead."""
        alive = self.office.members.alive
        if inquiry.newest > self.record.confirmed:
            self._check(inquiry.primary if alive(inquiry.primary) else answering)
        elif inquiry.same not in ("", self.me) and alive(inquiry.same):
            self._check(inquiry.same)
        else:
            self.begin()
