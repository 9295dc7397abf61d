"""A past delegate hands its data on, a little at a time, before they expire (section III-A).

The delegate before the current one gives its newest messages to the current one, about
``Settings.shift_bytes`` a second; so the boundary between the two goes back in time, until nothing
is left and the past delegate is off the list. Then it is the turn of the one before it::

    hand on   the current delegate writes them, and all its members          HandOn, Keep, Kept
    say so    home writes down the new boundary, on both home brokers        HandedOn, Shifted
    let go    the past delegate hears the list, and deletes them             ListIs

Home's commit decides, as in a move: before it the past delegate is responsible, after it the
current one, and every time has one that has its messages. What must hold:

1. The current delegate says that it has them when *all members* have them on disk, and takes them
   only when all members are in sync. A copy that comes back later has missed the term, whose start
   goes back with the messages (`Record.with_older`): it fetches them with the rest.
2. The past delegate deletes what the list in force gives to another, and only that.
3. The boundary is moved only if the delegate that has the messages is still the next one, by the
   move that made its shelf: one that was deleted and made again has nothing.

Home itself does not hand on: a topic's list begins there. A delegate whose shelf would become
larger than it may be (``Settings.shelf_bytes``) takes nothing; then the data expire where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    AskList,
    HandedOn,
    HandOn,
    Keep,
    Kept,
    ShelfId,
    Shifted,
)
from evenflow.overlay.replica.copy import BATCH, RETRY_S
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.ports import ShelfHost
    from evenflow.overlay.protocol.messages import Envelope, Message
    from evenflow.overlay.replica.replica import Replica

CHUNK_BYTES = 1 << 20
CHECK_S = 2.0
"""How often delegates ask home for the list, while there are past ones."""
REFUSED_S = 2.0
"""A past delegate that was refused tries again after this."""


@dataclass(slots=True)
class Chunk:
    """Messages that are being handed on."""

    start: int
    end: int
    began: float
    asked: float = -1.0
    birth: int | None = None
    """Of the shelf that has them; None: it has not said so."""


class Shifting:
    """The past delegate's side."""

    def __init__(self, replica: Replica, host: ShelfHost) -> None:
        self._copy = replica.copy
        self._replication = replica.replication
        self._host = host
        self._chunk: Chunk | None = None
        self._next = 0.0

    def progress(self) -> None:
        """Hand the next messages on, or say again what was not answered."""
        copy, rate = self._copy, self._host.settings.shift_bytes
        if not self._able() or not self._replication.label_kept:
            self._chunk = None
            return
        tenures = copy.label.delegates.tenures()
        copy.prune()
        end = tenures[-1].start
        if self._chunk is not None and self._chunk.end != end:
            self._next = self._chunk.began + min(rate, CHUNK_BYTES) / rate
            self._chunk = None  # home has written down that it is elsewhere
        if self._chunk is None and self._host.now >= self._next and copy.committed >= copy.last:
            self._chunk = Chunk(end, end, self._host.now)
        chunk = self._chunk
        if chunk is not None and self._host.now >= chunk.asked + RETRY_S:
            chunk.asked = self._host.now
            self._ask(chunk, tenures[-2].start, ShelfId(copy.shelf.topic, tenures[-1].coordinate))

    def _able(self) -> bool:
        """Say whether it is our turn to hand on."""
        copy = self._copy
        if not self._host.settings.shift_bytes or not copy.leading or copy.shelf.at_home:
            return False
        tenures = copy.label.delegates.tenures()
        past = len(tenures) > 1 and tenures[-2].coordinate == copy.shelf.coordinate
        return past and copy.verified and not copy.label.ticket

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        if not self._able():
            return float("inf")
        return self._next if self._chunk is None else self._chunk.asked + RETRY_S

    def _ask(self, chunk: Chunk, begin: int, to: ShelfId) -> None:
        copy, mail = self._copy, self._host.mail
        if chunk.birth is not None:
            shifted = Shifted(copy.shelf, chunk.start, chunk.end, to.coordinate, chunk.birth)
            mail.send_to(copy.shelf.home, shifted)
            return
        store, size = self._host.store, min(self._host.settings.shift_bytes, CHUNK_BYTES)
        messages = store.newest(copy.shelf, begin, chunk.end, BATCH, size)
        more = messages and store.read(copy.shelf, begin, messages[0].time, 1)
        chunk.start = messages[0].time if more else begin
        hand_on = HandOn(to, copy.shelf.coordinate, chunk.start, chunk.end, tuple(messages))
        mail.send_to(to.coordinate, hand_on)

    def on_handed_on(self, handed: HandedOn) -> None:
        """The current delegate has them, or does not want them."""
        chunk = self._chunk
        if chunk is None or (chunk.start, chunk.end) != (handed.start, handed.end):
            return
        if handed.accepted:
            chunk.birth, chunk.asked = handed.birth, -1.0
            self.progress()
        else:
            self._chunk, self._next = None, self._host.now + REFUSED_S
            self._host.mail.send_to(self._copy.shelf.home, AskList(self._copy.shelf, 0))


@dataclass(slots=True)
class Offered:
    """Messages that a past delegate hands to us."""

    envelope: Envelope
    hand_on: HandOn
    term: int
    waiting: set[str]
    """Members that have not written them."""
    asked: float = -1.0


class Inheriting:
    """The current delegate's side, and that of its members."""

    def __init__(self, replica: Replica, host: ShelfHost) -> None:
        self._replica = replica
        self._copy = replica.copy
        self._host = host
        self._offered: Offered | None = None
        self._checked = host.now

    def on_hand_on(self, envelope: Envelope, hand_on: HandOn) -> None:
        """A past delegate hands messages on."""
        copy, offered = self._copy, self._offered
        if offered is not None and offered.hand_on == hand_on and offered.term == copy.record.term:
            offered.envelope = envelope
        elif self._fits(hand_on) and _sound(hand_on.start, hand_on.end, hand_on.messages):
            copy.insert(hand_on.start, hand_on.messages)
            self._replica.replication.replicate()
            self._replica.replication.advance()
            others = {name for name in copy.config.members if name != copy.me}
            self._offered = Offered(envelope, hand_on, copy.record.term, others)
        else:
            copy.doubted = not copy.shelf.at_home
            self._answer(envelope, hand_on, accepted=False)
        self.progress()

    def _fits(self, hand_on: HandOn) -> bool:
        """Say whether we may take it: it comes before what is ours, and all members can have it."""
        copy, settings = self._copy, self._host.settings
        if not copy.verified or not copy.delegated_here or copy.label.ticket:
            return False
        if set(copy.config.members) != set(copy.config.in_sync) or not self._replica.settled:
            return False
        before = next(
            (old for old, new in pairwise(copy.label.delegates.tenures()) if new.end is None), None
        )
        if before is None or (before.coordinate, before.end) != (hand_on.source, hand_on.end):
            return False
        size = sum(len(message.payload) for message in hand_on.messages)
        full = self._host.store.size(copy.shelf) + size > settings.shelf_bytes
        return before.start <= hand_on.start and not (settings.shelf_bytes and full)

    def progress(self) -> None:
        """Send it to members that lack it; say so when all have it."""
        offered, copy = self._offered, self._copy
        self._verify()
        if offered is None:
            return
        if not copy.leading or copy.record.term != offered.term:
            self._offered = None  # it is handed on again
        elif not offered.waiting:
            self._offered = None
            size = sum(len(message.payload) for message in offered.hand_on.messages)
            elsewhere = max(0, copy.label.inherited - size)
            if elsewhere != copy.label.inherited:
                self._replica.replication.relabel(replace(copy.label, inherited=elsewhere))
            self._answer(offered.envelope, offered.hand_on, accepted=True)
        elif self._host.now >= offered.asked + RETRY_S:
            offered.asked, hand_on = self._host.now, offered.hand_on
            keep = Keep(copy.shelf, offered.term, hand_on.start, hand_on.end, hand_on.messages)
            for name in sorted(offered.waiting):
                self._host.mail.send(name, keep)

    def _concerned(self) -> bool:
        """Say whether messages are handed on between delegates of this topic."""
        copy = self._copy
        if not self._host.settings.shift_bytes or copy.shelf.at_home:
            return False
        return len(copy.label.delegates.entries) > 2 or not copy.delegated_here

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        due = self._checked + CHECK_S if self._concerned() else float("inf")
        return due if self._offered is None else min(due, self._offered.asked + RETRY_S)

    def _verify(self) -> None:
        """Ask home now and then whose turn it is, while there are past delegates."""
        if self._host.now >= self._checked + CHECK_S and self._concerned():
            self._checked, self._copy.doubted = self._host.now, True

    def _answer(self, envelope: Envelope, hand_on: HandOn, *, accepted: bool) -> None:
        source = ShelfId(hand_on.shelf.topic, hand_on.source)
        birth = self._copy.record.birth
        answer = HandedOn(source, hand_on.start, hand_on.end, accepted, birth)
        self._host.mail.reply(envelope, answer)

    def on_keep(self, sender: str, keep: Keep) -> None:
        """As member: write what the primary was handed."""
        copy = self._copy
        current = copy.state is State.FOLLOWING and keep.term == copy.record.term
        if (
            current
            and sender == copy.config.primary
            and _sound(keep.start, keep.end, keep.messages)
        ):
            copy.insert(keep.start, keep.messages)
            self._host.mail.send(sender, Kept(copy.shelf, keep.term, keep.start, keep.end))

    def on_kept(self, sender: str, kept: Kept) -> None:
        """A member has it."""
        offered = self._offered
        if offered is None or offered.term != kept.term:
            return
        if (offered.hand_on.start, offered.hand_on.end) == (kept.start, kept.end):
            offered.waiting.discard(sender)
            self.progress()


def _sound(start: int, end: int, messages: Sequence[Message]) -> bool:
    """Say whether times rise and lie in the range."""
    times = [start, *(message.time for message in messages), end]
    return start < end and times == sorted(times) and len(set(times[1:])) == len(times) - 1
