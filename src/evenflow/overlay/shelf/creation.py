"""Creation: shelves that a broker does not have are made when they are new, and only then.

A message for a shelf that is not here may mean three things. Another broker begins a term with us:
then we take a copy, empty at first, unless a broker around knows a newer term than the sender, who
then returned from the dead and does not know what happened meanwhile. A client joins a topic, or
home adopts us as a delegate: then the shelf is new, unless it lies around here and we, who came
lately, do not know. In all three cases we ask the brokers around. When none has a new shelf we make
it, and when one has it we wait for that one to come to us. All other messages are for a shelf that
was here once: their senders will ask again elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Adopt,
    Check,
    Inquire,
    Join,
    Label,
    Lead,
    Pull,
    Pulled,
    Refused,
    Replicate,
    ShelfId,
    Sync,
    TermStart,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.inquiry import AROUND, Round
from evenflow.overlay.replica.record import Record
from evenflow.overlay.shelf.shelf import Shelf
from evenflow.overlay.space.delegation import DelegateList

if TYPE_CHECKING:
    from evenflow.overlay.ports import ShelfHost
    from evenflow.overlay.protocol.messages import Envelope, Known

SETTLE_S = 0.5
"""After a broker joined, new shelves wait this long, so that old ones can find it."""
MOST_PENDING = 10_000
MOST_WAITING = 256
"""Messages that wait for one new shelf."""


@dataclass(slots=True)
class PendingShelf:
    """A shelf that may be new: who is being asked, and what waits for it."""

    label: Label
    sync: tuple[Envelope, Sync] | None = None
    """The term that another begins with us."""
    asked: Round | None = None
    waiting: list[tuple[Envelope, Any]] = field(default_factory=list)


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
        self._changed = host.now

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self._host.now >= self._changed + SETTLE_S

    def on_members_changed(self) -> None:
        """A broker came or went: ask again."""
        self._changed = self._host.now
        for pending in self._pending.values():
            pending.asked = None

    def handle(self, envelope: Envelope, body: Any) -> None:
        """Take a message for a shelf that is not here."""
        host = self._host
        if isinstance(body, Sync):
            if body.shelf in self._pending or len(self._pending) < MOST_PENDING:
                pending = self._pending.setdefault(body.shelf, PendingShelf(body.label))
                pending.sync = (envelope, body)
                self._ask(body.shelf, pending)
        elif isinstance(body, Check | Replicate | Lead):
            host.mail.send(envelope.origin, Refused(body.shelf, 0, 0))
        elif isinstance(body, Pull):
            host.mail.send(envelope.origin, Pulled(body.shelf, body.start, body.end, ()))
        elif isinstance(body, Adopt) or (isinstance(body, Join) and body.level):
            closest = host.members.closest(body.shelf.coordinate, 1)
            if closest == (host.members.me.name,):
                self._expect(envelope, body)

    def _expect(self, envelope: Envelope, body: Join | Adopt) -> None:
        """Keep a message until its shelf is made."""
        shelf, pending = body.shelf, self._pending.get(body.shelf)
        if pending is None:
            if len(self._pending) >= MOST_PENDING or (isinstance(body, Join) and not shelf.at_home):
                return
            pending = self._pending[shelf] = PendingShelf(self._label(body))
        if len(pending.waiting) < MOST_WAITING:
            pending.waiting.append((envelope, body))
        self._ask(shelf, pending)

    @staticmethod
    def _label(body: Join | Adopt) -> Label:
        if isinstance(body, Adopt):
            return replace(body.label, revision=0, ticket=0, ticket_term=0, floor=0, version=0)
        return Label(0, body.level, 0, DelegateList.at_home(body.shelf.home))

    def review(self) -> None:
        """Ask again where it is due; give up what nobody wants any more."""
        for shelf, pending in list(self._pending.items()):
            self._ask(shelf, pending)

    def _ask(self, shelf: ShelfId, pending: PendingShelf) -> None:
        host, asked = self._host, pending.asked
        if asked is not None and host.now < asked.asked + RETRY_S:
            return
        me = host.members.me.name
        around = host.members.closest(shelf.coordinate, AROUND + 1)
        if pending.sync is None:
            if not self.steady:
                return
            if around[0] != me or shelf in self._shelves:
                del self._pending[shelf]
                return
        sender = pending.sync[0].origin if pending.sync is not None else ""
        pending.asked = Round(set(around) - {me, sender}, host.now)
        for name in sorted(pending.asked.waiting):
            host.mail.send(name, Inquire(shelf))
        self._decide(shelf, pending)

    def on_known(self, sender: str, known: Known) -> None:
        """A broker answers whether it has a shelf."""
        pending = self._pending.get(known.shelf)
        if pending is None or pending.asked is None:
            return
        if pending.sync is not None:
            envelope, sync = pending.sync
            if known.confirmed > sync.base:
                del self._pending[known.shelf]
                self._host.mail.send(envelope.origin, Refused(known.shelf, 0, known.confirmed))
                return
        elif known.confirmed:
            del self._pending[known.shelf]  # it will come to us
            return
        pending.asked.waiting.discard(sender)
        self._decide(known.shelf, pending)

    def _decide(self, shelf_id: ShelfId, pending: PendingShelf) -> None:
        """Make the shelf when all have answered."""
        if pending.asked is None or pending.asked.waiting:
            return
        if self._pending.pop(shelf_id, None) is None:
            return
        if pending.sync is not None:
            shelf = self._make(shelf_id, pending.label, start=0)
            shelf.handle(*pending.sync)
        else:
            shelf = self._make(shelf_id, pending.label, start=self._host.wall)
            # A delegate that home gave up meanwhile asks, and hears that it is not needed.
            shelf.replica.copy.verified = shelf_id.at_home
            shelf.replica.begin()
        for envelope, body in pending.waiting:
            shelf.handle(envelope, body)

    def _make(self, shelf_id: ShelfId, label: Label, *, start: int) -> Shelf:
        """Put a shelf here, empty; it speaks from a time on."""
        record = Record(shelf_id, 0, 0, "", "", "", start, (TermStart(0, start),), label)
        self._host.store.save(record)
        shelf = self._shelves[shelf_id] = Shelf(self._host, record, 0)
        shelf.replica.copy.verified = True
        return shelf
