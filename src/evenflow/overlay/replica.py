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
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.overlay.messages import (
    Check,
    Dismissed,
    Inquire,
    Known,
    Label,
    Lead,
    Message,
    Position,
    Pull,
    Pulled,
    Refused,
    Replicate,
    Replicated,
    Shelf,
    Sync,
    Synced,
)
from evenflow.overlay.record import Record, Store, divergence

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.membership import Membership

RETRY_S = 0.4
"""A question without answer is asked again after this."""
CHECK_S = 2.0
"""How often a follower makes sure that it is needed; sooner when it seems not to be."""
AROUND = 6
"""Brokers that are asked by one that is unsure: the closest so many."""
BATCH = 512
"""Messages in one letter."""


class State(Enum):
    """What a copy is."""

    UNSURE = "unsure"
    """It may be old: asking around."""
    PREPARING = "preparing"
    """Began a term; the secondary has not agreed."""
    LEADING = "leading"
    """Primary of a term that both agreed on."""
    YIELDING = "yielding"
    """Asked the secondary, which is closer, to begin a term."""
    FOLLOWING = "following"
    """Secondary."""


class Turn(Enum):
    """What changes the state of a copy."""

    DOUBT = "doubt"
    """It hears that it was dead, or of a newer term."""
    BEGIN = "begin"
    """It begins a term."""
    AGREE = "agree"
    """The secondary agrees."""
    YIELD = "yield"
    """The secondary is closer and has everything."""
    FOLLOW = "follow"
    """Another begins a term with it."""


TRANSITIONS: dict[State, dict[Turn, State]] = {
    State.UNSURE: {
        Turn.DOUBT: State.UNSURE,
        Turn.BEGIN: State.PREPARING,
        Turn.FOLLOW: State.FOLLOWING,
    },
    State.PREPARING: {
        Turn.DOUBT: State.UNSURE,
        Turn.BEGIN: State.PREPARING,
        Turn.AGREE: State.LEADING,
        Turn.FOLLOW: State.FOLLOWING,
    },
    State.LEADING: {
        Turn.DOUBT: State.UNSURE,
        Turn.BEGIN: State.PREPARING,
        Turn.YIELD: State.YIELDING,
        Turn.FOLLOW: State.FOLLOWING,
    },
    State.YIELDING: {
        Turn.DOUBT: State.UNSURE,
        Turn.BEGIN: State.PREPARING,
        Turn.FOLLOW: State.FOLLOWING,
    },
    State.FOLLOWING: {
        Turn.DOUBT: State.UNSURE,
        Turn.BEGIN: State.PREPARING,
        Turn.FOLLOW: State.FOLLOWING,
    },
}


class Office(Protocol):
    """What a copy needs of its broker."""

    members: Membership
    store: Store
    now: float
    """Monotonic seconds."""
    wall: int
    """Time of day in nanoseconds."""

    def tell(self, node: str, body: Any) -> None:
        """Send a letter to a broker."""
        ...


@dataclass(slots=True)
class Fetching:
    """History that is being pulled."""

    source: str
    next: int
    end: int
    since: int
    """What we shall hold everything from, when it is done."""
    asked: float = -1.0


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


class Replica:
    """One broker's copy of a shelf.

    Args:
        office: The broker.
        record: What is on disk.
        committed: Time up to which all is on both disks, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, office: Office, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        self.office = office
        self.record = record
        self.state = State.UNSURE
        self.committed = max(committed, record.epochs[-1].start - 1)
        self.last = max(office.store.last(record.shelf), self.committed)
        self.positions = office.store.positions(record.shelf)
        self.verified = record.shelf.at_home
        self._on_progress = on_progress
        self._inquiry: Inquiry | None = None
        self._fetching: Fetching | None = None
        self._goal = 0
        """As secondary: the time from which on the primary wants us to hold everything."""
        self._copy = True
        """As primary: whether the secondary is to have the history."""
        self._next_check = 0.0
        self._asked = -1.0
        self._live = 0
        """As secondary: how far the term's stream was written."""
        self._partner_last = 0
        self._partner_revision = 0
        self._partner_whole = False
        self._partner_since = 1 << 62
        self._sent = -1.0
        """As primary: when the letter was sent that is not answered; -1: none."""
        self._sent_last = 0

    # -- what others may know -------------------------------------------------------------------

    @property
    def shelf(self) -> Shelf:
        """Which shelf."""
        return self.record.shelf

    @property
    def me(self) -> str:
        """This broker."""
        return self.office.members.me.name

    @property
    def label(self) -> Label:
        """The shelf's label."""
        return self.record.label

    @property
    def leading(self) -> bool:
        """Whether this is the primary of a term that is agreed on."""
        return self.state is State.LEADING

    @property
    def settled(self) -> bool:
        """Whether every copy that the level asks for is made."""
        return self.leading and self._fetching is None and self._partner_whole

    @property
    def label_kept(self) -> bool:
        """Whether the newest label is on both disks."""
        return not self.record.secondary or self._partner_revision >= self.label.revision

    @property
    def lacks_history(self) -> bool:
        """Whether somebody alive has messages from before `Record.since` that we are to get."""
        return self._fetching is not None or (
            self.record.since > self.label.floor and self.office.members.alive(self.record.former)
        )

    def wanted(self) -> tuple[str, ...]:
        """Return the brokers that should have the shelf, closest first."""
        count = 1 if self.label.level == 1 else 2
        return self.office.members.closest(self.shelf.coordinate, count)

    # -- the life of a term ---------------------------------------------------------------------

    def turn(self, turn: Turn) -> None:
        """Change the state as the table says."""
        self.state = TRANSITIONS[self.state][turn]
        if turn is not Turn.AGREE:
            self._inquiry = None
        self._on_progress()

    def doubt(self) -> None:
        """Become unsure."""
        self._fetching = None
        self._sent = -1.0
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
        self.office.tell(node, Check(self.shelf, record.confirmed, record.since, unsure))

    def _review_leading(self) -> None:
        partner = self._desired()
        if partner is None and self.label.level > 1:
            if self.state is not State.PREPARING or self.record.secondary:
                self.begin()
        elif self.record.secondary != (partner or ""):
            self.begin()
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
        self._fetching = None
        self._partner_last = start - 1
        self._partner_revision, self._partner_whole, self._sent = 0, False, -1.0
        self._partner_since = 1 << 62
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

    def _all(self, start: int, end: int) -> list[Message]:
        return self.office.store.read(self.shelf, start, end, 1 << 30, 1 << 60)

    def _positions_before(self, start: int) -> tuple[Position, ...]:
        """Return how far publishers were stored before a time; the stream brings the rest."""
        found = dict(self.positions)
        for message in reversed(self._all(start, self.last + 1)):
            found[message.publisher] = Position(
                message.publisher, message.sequence - 1, max(0, start - 1)
            )
        return tuple(found.values())

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

    def _want_goal(self) -> None:
        """As secondary: fetch the history that the primary has and we lack."""
        if self._fetching is None and self._goal < self.record.since:
            self._fetching = Fetching(
                self.record.primary, self._goal, self.record.since, self._goal
            )

    def _say_synced(self) -> None:
        whole = self._fetching is None
        record = self.record
        self.office.tell(record.primary, Synced(self.shelf, record.term, record.since, whole))

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

    def _compare_history(self) -> None:
        """As primary: get what the secondary has from before our time, if anything."""
        record = self.record
        if not self.leading or self._fetching is not None or not record.secondary:
            return
        if self._partner_since < record.since:
            self._fetch_from(record.secondary, self._partner_since, record.since)
        elif self._partner_whole and record.former == record.secondary:
            self._forget_former()

    def _forget_former(self) -> None:
        """It has nothing that we lack."""
        self.record = replace(self.record, former="")
        self.office.store.save(self.record)
        self._on_progress()

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

    # -- the stream of a term -------------------------------------------------------------------

    def append(self, messages: list[Message]) -> None:
        """As primary: write messages; they are committed when the secondary has them too."""
        self._write(messages)
        self.last = messages[-1].time
        self.replicate()
        self._advance()

    def _write(self, messages: list[Message] | tuple[Message, ...]) -> None:
        moved = {}
        for message in messages:
            known = self.positions.get(message.publisher)
            if known is None or known.sequence < message.sequence:
                position = Position(message.publisher, message.sequence, message.time)
                self.positions[message.publisher] = moved[message.publisher] = position
        self.office.store.append(self.shelf, messages, self.committed)
        self.office.store.put_positions(self.shelf, moved.values())

    def relabel(self, label: Label, positions: tuple[Position, ...] = ()) -> None:
        """As primary: change the label, and take publishers over."""
        self.record = replace(self.record, label=replace(label, revision=self.label.revision + 1))
        for position in positions:
            known = self.positions.get(position.publisher)
            if known is None or known.sequence < position.sequence:
                self.positions[position.publisher] = position
        self.office.store.put_positions(self.shelf, positions)
        self.office.store.save(self.record)
        self.replicate()
        self._advance()

    def replicate(self) -> None:
        """As primary: send what the secondary lacks, one letter at a time."""
        if not self.leading or not self.record.secondary:
            return
        behind = self._partner_last < self.last or not self.label_kept
        if not behind or (self._sent >= 0 and self.office.now < self._sent + RETRY_S):
            return
        messages = self.office.store.read(self.shelf, self._partner_last + 1, self.last + 1, BATCH)
        label: tuple[Label, ...] = ()
        positions: tuple[Position, ...] = ()
        if not self.label_kept:
            label, positions = (self.label,), self._positions_before(self._partner_last + 1)
        self._sent = self.office.now
        self.office.tell(
            self.record.secondary,
            Replicate(
                self.shelf, self.record.term, self._partner_last, tuple(messages), self.committed,
                label, positions,
            ),
        )  # fmt: skip

    def on_replicate(self, sender: str, letter: Replicate) -> None:
        """As secondary: write what the primary sends."""
        record = self.record
        if letter.term < record.term:
            self.office.tell(sender, Refused(self.shelf, record.term, record.confirmed))
            return
        if self.state is not State.FOLLOWING or letter.term != record.term:
            return
        if letter.previous > self._live:
            return  # something before it was lost, and comes again
        fresh = [message for message in letter.messages if message.time > self._live]
        if letter.label and letter.label[0].revision > self.label.revision:
            self._take_label(letter.label[0], letter.positions)
        if fresh:
            self._replace(self._live + 1, fresh)
            self._live = fresh[-1].time
            self.last = max(self.last, self._live)
        self.committed = max(self.committed, min(letter.committed, self._live))
        self.office.tell(
            sender, Replicated(self.shelf, record.term, self._live, self.label.revision)
        )

    def expire(self, floor: int) -> None:
        """As primary: delete all before a time, here and at the secondary."""
        self._sweep(floor)
        self.relabel(replace(self.label, floor=floor))

    def _sweep(self, floor: int) -> None:
        """Delete messages, and publishers that have been silent since."""
        self.office.store.remove(self.shelf, 0, floor)
        stale = [p.publisher for p in self.positions.values() if p.time < floor]
        for publisher in stale:
            del self.positions[publisher]
        if stale:
            self.office.store.put_positions(self.shelf, self.positions.values(), anew=True)

    def _take_label(self, label: Label, positions: tuple[Position, ...]) -> None:
        if label.floor > self.label.floor:
            self._sweep(label.floor)
        self.record = replace(self.record, label=label)
        for position in positions:
            known = self.positions.get(position.publisher)
            if known is None or known.sequence < position.sequence:
                self.positions[position.publisher] = position
        self.office.store.put_positions(self.shelf, self.positions.values())
        self.office.store.save(self.record)

    def _replace(self, start: int, fresh: list[Message]) -> None:
        """Write messages, and delete what an older term left between them."""
        end, times = fresh[-1].time + 1, {message.time for message in fresh}
        if self.last >= start:
            for left in reversed(self._all(start, end)):
                if left.time in times:
                    continue
                # It was never acknowledged; its publisher will send it again.
                back = Position(left.publisher, left.sequence - 1, left.time)
                self.positions[left.publisher] = back
                self.office.store.put_positions(self.shelf, [back])
                self.office.store.remove(self.shelf, left.time, left.time + 1)
        self._write(fresh)

    def on_replicated(self, sender: str, done: Replicated) -> None:
        """The secondary has written."""
        if not self.leading or done.term != self.record.term or sender != self.record.secondary:
            return
        self._sent = -1.0
        self._partner_last = max(self._partner_last, done.last)
        self._partner_revision = max(self._partner_revision, done.revision)
        self.replicate()
        self._advance()

    def _advance(self) -> None:
        """Note what is on as many disks as the level asks."""
        if not self.leading:
            return
        reached = min(self.last, self._partner_last) if self.record.secondary else self.last
        self.committed = max(self.committed, reached)
        self._on_progress()

    # -- history --------------------------------------------------------------------------------

    def _fetch_from(self, source: str, since: int, end: int) -> None:
        self._fetching = Fetching(source, since, end, since)
        self._pull()

    def _pull(self) -> None:
        """Ask for the next part of the history."""
        fetching, record = self._fetching, self.record
        if fetching is None:
            former = record.former
            if not (self.leading and self.lacks_history) or former == record.secondary:
                return
            if self.office.now >= self._next_check:  # does it have what we lack? It will say.
                self._next_check = self.office.now + RETRY_S
                self.office.tell(former, Inquire(self.shelf))
            return
        if not self.office.members.alive(fetching.source):
            self._fetching = None
        elif self.office.now >= fetching.asked + RETRY_S:
            fetching.asked = self.office.now
            self.office.tell(fetching.source, Pull(self.shelf, fetching.next, fetching.end))

    def on_pull(self, sender: str, pull: Pull) -> None:
        """Give a part of the history."""
        found = self.office.store.read(self.shelf, pull.start, pull.end, BATCH)
        more = self.office.store.read(
            self.shelf, found[-1].time + 1 if found else pull.end, pull.end, 1
        )
        upto = more[0].time if more else pull.end
        self.office.tell(sender, Pulled(self.shelf, pull.start, upto, tuple(found)))

    def on_pulled(self, sender: str, pulled: Pulled) -> None:
        """Write a part of the history."""
        fetching = self._fetching
        if fetching is None or sender != fetching.source or pulled.start != fetching.next:
            return
        kept = [m for m in pulled.messages if m.time >= self.label.floor]
        self.office.store.append(self.shelf, kept, self.committed)
        fetching.next, fetching.asked = pulled.end, -1.0
        if pulled.end >= fetching.end:
            self._fetching = None
            self.record = replace(self.record, since=fetching.since)
            self.office.store.save(self.record)
            if self.state is State.FOLLOWING:
                self._want_goal()
                self._say_synced()
            self._compare_history()
            self._on_progress()
        self._pull()

    # -- holders that may not be needed, and those that are unsure ------------------------------

    def on_check(self, sender: str, check: Check) -> str:
        """A holder asks whether it is needed; return to whom the question goes instead."""
        record = self.record
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
        if inquiry is None or self.office.now >= inquiry.asked + RETRY_S:
            record = self.record
            around = set(members.closest(self.shelf.coordinate, AROUND))
            around |= {record.primary, record.secondary, record.former}
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
        own = known.primary == self.me and known.confirmed <= self.record.term
        if own and known.confirmed > self.record.confirmed:
            # It agreed to a term that we began, and we never heard of it.
            self.record = replace(self.record, confirmed=known.confirmed)
        elif known.confirmed > max(inquiry.newest, self.record.confirmed):
            inquiry.newest, inquiry.primary = known.confirmed, known.primary
        elif known.confirmed == self.record.confirmed and known.primary:
            inquiry.same = known.primary
        if not inquiry.waiting:
            self._decide(inquiry, sender)

    def _decide(self, inquiry: Inquiry, answering: str) -> None:
        """All have answered: wait for a newer primary, or for our own, or lead."""
        alive = self.office.members.alive
        if inquiry.newest > self.record.confirmed:
            self._check(inquiry.primary if alive(inquiry.primary) else answering)
        elif inquiry.same not in ("", self.me) and alive(inquiry.same):
            self._check(inquiry.same)
        else:
            self.begin()

    def _ask_former(self, former: str, known: Known) -> None:
        """The other broker of an earlier term answers whether it still has its copy."""
        if not known.confirmed:
            self._forget_former()
        elif self._fetching is None:
            end = min(self.record.since, divergence(self.record.epochs, known.confirmed))
            self._fetch_from(former, self.label.floor, end)
